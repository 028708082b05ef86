"""Values as JSON objects, both ways from one table: a shape names the fields, a kind says what each is.

A shape keeps what it does not know. `read` gives the value and a tree of the unknown fields: those of
the object under their own names, those of an inner object under the name of that field, so that the
tree has the form of the object itself. `write` puts such a tree back. So an older node that rewrites a
newer node's definition loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

from foliot.errors import FoliotError, InvalidDurationError
from foliot.model.attempt import format_instant
from foliot.model.frozen import thaw
from foliot.model.json_text import LARGEST, MisfitError, check_json, clean_text
from foliot.schedules.duration import format_duration, parse_duration
from foliot.schedules.schedule import check_aware

_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z")
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Kind(NamedTuple):
    """One kind of field: from JSON and to JSON. Both raise MisfitError for what does not belong there."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


class Shape:
    """An object with known fields, each of a kind, or of a shape of its own.

    Fields that are absent have the value that `make` gives them; those in `required` may not be. Those in
    `omitted` are not written if they are None.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        fields: Mapping[str, Kind | Shape],
        *,
        required: tuple[str, ...] = (),
        omitted: tuple[str, ...] = (),
    ) -> None:
        self._make = make
        self._required = required
        self._omitted = omitted
        self.fields = dict(fields)

    def read(self, data: object) -> tuple[Any, dict[str, Any]]:
        """The value, and a tree of the unknown fields."""
        values, unknown = self.read_fields(data)
        return self.make(values), unknown

    def read_fields(self, data: object) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values of the fields that are there, and a tree of the unknown ones."""
        if type(data) is not dict:
            raise MisfitError.of_type(data, "an object")
        values: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        if not data.keys() <= self.fields.keys():
            unknown = {name: found for name, found in data.items() if name not in self.fields}
        for name, kind in self.fields.items():
            if name not in data:
                if name in self._required:
                    raise MisfitError.missing(name)
                continue
            try:
                if isinstance(kind, Kind):
                    values[name] = kind.read(data[name])
                else:
                    values[name], rest = kind.read(data[name])
                    if rest:
                        unknown[name] = rest
            except MisfitError as error:
                raise error.within(name) from error.__cause__
        return values, unknown

    def make(self, values: Mapping[str, Any]) -> Any:
        """Build the value; MisfitError if its parts do not go together."""
        try:
            return self._make(**values)
        except FoliotError as error:
            facts = error.details
            field = str(facts.get("field", "")).rpartition(".")[2]
            raise MisfitError(facts.get("value"), facts.get("reason", error.message), field) from error

    def write(self, value: Any, unknown: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
        """The object, with the unknown fields where they were."""
        data = self.check_unknown(unknown) if unknown else {}
        for name, kind in self.fields.items():
            if name in self._omitted and getattr(value, name) is None:
                continue
            try:
                if isinstance(kind, Shape):
                    data[name] = kind.write(getattr(value, name), unknown.get(name, NOTHING))
                else:
                    data[name] = kind.write(getattr(value, name))
            except MisfitError as error:
                raise error.within(name) from error.__cause__
        return data

    def check_unknown(self, unknown: Mapping[str, Any]) -> dict[str, Any]:
        """The unknown fields of the object itself, if nothing in the tree is known after all."""
        for name, rest in unknown.items():
            is_tree = isinstance(self.fields.get(name), Shape) and isinstance(rest, Mapping) and bool(rest)
            if name in self.fields and not is_tree:
                raise MisfitError(rest, "stands among the unknown fields, but this version knows it", name)
        own = {name: rest for name, rest in unknown.items() if name not in self.fields}
        check_json(own)
        return own


# -- kinds -----------------------------------------------------------------------------------------


def _is(wanted: type, words: str) -> Kind:
    def same(value: Any) -> Any:
        if isinstance(value, wanted):
            return value
        raise MisfitError.of_type(value, words)

    return Kind(same, same)


TEXT = _is(str, "a text")
MESSAGE = TEXT._replace(write=lambda value: clean_text(TEXT.write(value)))
FLAG = _is(bool, "true or false")


def _whole(value: Any) -> int:
    # Document databases hand out subclasses of int; a bool is one too, and is no number.
    if isinstance(value, int) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST:
        return int(value)
    raise MisfitError.of_type(value, "a whole number of at most 64 bits")


WHOLE = Kind(_whole, _whole)


def _number(value: Any) -> float:
    if type(value) is float and isfinite(value):
        return value + 0.0  # minus zero is zero: equal values must give equal texts
    if type(value) is int:
        return float(_whole(value))
    raise MisfitError.of_type(value, "a finite number")


NUMBER = Kind(_number, _number)


def _read_instant(value: Any) -> datetime:
    if type(value) is str and _INSTANT.fullmatch(value):
        try:
            return datetime.fromisoformat(value)
        except ValueError as error:
            raise MisfitError(value, str(error)) from error
    raise MisfitError.of_type(value, "an instant in UTC, such as 2026-11-15T07:00:00Z")


def _write_instant(value: Any) -> str:
    try:
        check_aware(value)
        return format_instant(value.astimezone(UTC))
    except (FoliotError, OverflowError) as error:
        raise MisfitError(value, str(error)) from error


INSTANT = Kind(_read_instant, _write_instant)


def _read_duration(value: Any) -> timedelta:
    try:
        return parse_duration(value)
    except InvalidDurationError as error:
        raise MisfitError(value, error.reason) from error


DURATION = Kind(_read_duration, format_duration)


def _read_data(value: Any) -> dict[str, Any]:
    if type(value) is dict:
        return value
    raise MisfitError.of_type(value, "an object")


def _write_data(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = thaw(value)
    check_json(data)
    return data


DATA = Kind(_read_data, _write_data)


def choice(enum: type[StrEnum]) -> Kind:
    """One of the words that an enum knows."""
    members = {member.value: member for member in enum}

    def read(value: Any) -> StrEnum:
        if isinstance(value, str) and value in members:
            return members[value]
        raise MisfitError(value, f"must be {' or '.join(members)}")

    return Kind(read, lambda value: read(value).value)


def optional(kind: Kind) -> Kind:
    """The same, or null."""
    read, write = kind
    return Kind(
        lambda value: None if value is None else read(value),
        lambda value: None if value is None else write(value),
    )


def listed(kind: Kind) -> Kind:
    """A list of such values; in code, a tuple."""

    def read(value: Any) -> tuple[Any, ...]:
        if isinstance(value, list):
            return tuple(map(kind.read, value))
        raise MisfitError.of_type(value, "a list")

    return Kind(read, lambda value: list(map(kind.write, value)))


def part(shape: Shape) -> Kind:
    """An object of a shape. Fields that this version does not know are not kept."""
    return Kind(lambda value: shape.read(value)[0], shape.write)
