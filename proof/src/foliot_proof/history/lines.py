"""Facts as lines of JSON, so that processes can append what they see, and a checker read it later."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from foliot.model.attempt import Attempt
from foliot.model.outbox import ChannelAlert
from foliot.model.state import Skip
from foliot_proof.history.facts import (
    Bounds,
    Change,
    Fault,
    Finish,
    Forgotten,
    History,
    Host,
    Identity,
    Told,
    Witness,
)


class Final(NamedTuple):
    """When a run was over and had come to rest."""

    at: datetime


Fact = (
    Attempt | Skip | Change | Witness | Fault | Host | Identity | Finish | Forgotten | Told | ChannelAlert
    | Bounds | Final
)  # fmt: skip

_FIELDS: dict[str, type[Any]] = {
    "hosts": Host,
    "identities": Identity,
    "changes": Change,
    "attempts": Attempt,
    "skips": Skip,
    "witness": Witness,
    "faults": Fault,
    "finishes": Finish,
    "forgotten": Forgotten,
    "told": Told,
    "outbox": ChannelAlert,
}
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Bounds, Final, *_FIELDS.values())}


def to_json(fact: Fact) -> str:
    """A fact as one line."""
    return json.dumps({"fact": type(fact).__name__, **_encode(fact)}, separators=(",", ":"))


def from_json(line: str) -> Fact:
    """The fact of a line."""
    data = json.loads(line)
    fact: Fact = _decode(_KINDS[data.pop("fact")], data)
    return fact


def to_lines(history: History) -> Iterator[str]:
    """A history as lines, one fact each."""
    yield to_json(Final(history.final))
    yield to_json(history.bounds)
    for name in _FIELDS:
        yield from (to_json(fact) for fact in getattr(history, name))


def from_lines(lines: Iterable[str]) -> History:
    """A history from lines in any order, such as those of several files one after another."""
    found: dict[str, list[Any]] = {name: [] for name in _KINDS}
    for line in lines:
        if line.strip():
            fact = from_json(line)
            found[type(fact).__name__].append(fact)
    logs = {name: tuple(found[kind.__name__]) for name, kind in _FIELDS.items()}
    return History(final=found["Final"][-1].at, bounds=(found["Bounds"] or [Bounds()])[-1], **logs)


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if type(value) is tuple:
        return [_encode(item) for item in value]
    if is_dataclass(value):
        return {item.name: _encode(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, tuple):
        found = zip(value._fields, value, strict=True)  # type: ignore[attr-defined]  # a named tuple
        return {name: _encode(item) for name, item in found}
    return value


def _decode(kind: Any, data: Any) -> Any:
    if data is None:
        return None
    if get_origin(kind) is UnionType:
        kind = next(option for option in get_args(kind) if option is not NoneType)
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind), data)
    if isinstance(data, Mapping):
        hints = _hints(kind)
        return kind(**{name: _decode(hints[name], item) for name, item in data.items()})
    return _leaf(kind)(data)


def _tuple(kinds: tuple[Any, ...], data: list[Any]) -> tuple[Any, ...]:
    if kinds[-1] is Ellipsis:
        return tuple(_decode(kinds[0], item) for item in data)
    return tuple(_decode(kind, item) for kind, item in zip(kinds, data, strict=True))


def _leaf(kind: Any) -> Callable[[Any], Any]:
    if kind is datetime:
        return datetime.fromisoformat
    if kind is timedelta:
        return lambda seconds: timedelta(seconds=seconds)
    return kind if issubclass(kind, Enum) else lambda value: value


@lru_cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)
