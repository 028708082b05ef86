"""What kinds of values are made of: single values of policies, mappings of fields, mappings of names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from foliot.doors.rollcron.value import NONE, Kind, Value, scalar
from foliot.doors.rollcron.yaml_tree import Mapping, Scalar

OURS = "FOLIOT_"  # how names of variables begin that Foliot itself sets


def then(kind: Kind, make: Callable[[str], Any]) -> Kind:
    """The same words, of which something is made."""

    def read(value: Value) -> Any:
        found = kind.read(value)
        return None if found is None else make(found)

    return Kind(read, kind.schema)


def part(make: Callable[..., Any], name: str, reader: Callable[[Scalar], Any], **schema: Any) -> Kind:
    """A single value of a policy, which says itself if the value cannot be."""

    def read(written: Scalar) -> Any:
        given = reader(written)
        make(**{name: given})
        return given

    return scalar(read, **schema)


def record(  # noqa: PLR0913 - what a mapping may hold
    make: Callable[..., Any],
    parts: dict[str, Kind],
    hint: str,
    *,
    required: str | None = None,
    missing: str = "",
    synonyms: dict[str, str] | None = None,
) -> Kind:
    """A mapping of fields, of which something is made; one of them may be required."""

    def read(value: Value) -> Any:
        given = value.fields(parts, hint, synonyms)
        if isinstance(value.node, Mapping) and required and required not in given:
            value._replace(field=f"{value.field}.{required}").refuse("is missing", hint=missing)
        found = {name: parts[name].read(inner) for name, inner in given.items()}
        is_wrong = None in found.values() or not isinstance(value.node, Mapping)
        if is_wrong or (required and required not in found):
            return None
        return make(**{name: None if part == NONE else part for name, part in found.items()})

    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: kind.schema for name, kind in parts.items()},
        "additionalProperties": False,
    }
    return Kind(read, schema | ({"required": [required]} if required else {}))


def table(kind: Kind, what: str, example: str, *, pattern: str, hint: str) -> Kind:
    """A mapping of names that its author chooses."""
    form = re.compile(pattern, re.ASCII)

    def read(value: Value) -> dict[str, Any] | None:
        found = {}
        for name, (key, inner) in value.entries(f"a mapping of {what}s", example).items():
            if form.fullmatch(name):
                found[name] = kind.read(inner)
            elif name.startswith(OURS):
                value.refuse_key(key, f"names that begin with {OURS} are Foliot's own", hint="rename it")
            else:
                value.refuse_key(key, f"is no name of a {what}", hint=hint)
        return found if isinstance(value.node, Mapping) else None

    schema = {"type": "object", "additionalProperties": kind.schema}
    return Kind(read, {**schema, "propertyNames": {"pattern": f"^(?:{pattern})$"}})
