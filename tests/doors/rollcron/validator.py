"""A small validator of JSON Schema, draft 7: as much as the schema of rollcron.yaml uses, and no more."""

from __future__ import annotations

import re
from typing import Any

TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def is_valid(value: Any, schema: dict[str, Any]) -> bool:
    return all(_holds(value, word, told, schema) for word, told in schema.items())


def _holds(value: Any, word: str, told: Any, schema: dict[str, Any]) -> bool:  # noqa: PLR0911, PLR0912, C901 - a table
    match word:
        case "type":
            return any(_is_a(value, name) for name in ([told] if isinstance(told, str) else told))
        case "const":
            return bool(value == told)
        case "enum":
            return value in told
        case "pattern":
            return not isinstance(value, str) or re.search(told, value, re.ASCII) is not None
        case "maxLength":
            return not isinstance(value, str) or len(value) <= told
        case "minimum":
            return not isinstance(value, int | float) or value >= told
        case "maximum":
            return not isinstance(value, int | float) or value <= told
        case "anyOf":
            return any(is_valid(value, each) for each in told)
        case "not":
            return not is_valid(value, told)
        case "minItems":
            return not isinstance(value, list) or len(value) >= told
        case "items":
            return not isinstance(value, list) or _has_items(value, told, schema.get("additionalItems", {}))
        case "required":
            return not isinstance(value, dict) or set(told) <= set(value)
        case "properties":
            found = set(told) & set(value) if isinstance(value, dict) else set()
            return all(is_valid(value[name], told[name]) for name in found)
        case "additionalProperties":
            others = set(value) - set(schema.get("properties", ())) if isinstance(value, dict) else set()
            return not others if told is False else all(is_valid(value[name], told) for name in others)
        case "propertyNames":
            return not isinstance(value, dict) or all(is_valid(name, told) for name in value)
        case "$schema" | "title" | "additionalItems":
            return True
        case _:
            raise AssertionError(f"the validator does not know {word}")


def _is_a(value: Any, name: str) -> bool:
    is_flag = isinstance(value, bool)
    return isinstance(value, TYPES[name]) and (name == "boolean") == is_flag


def _has_items(value: list[Any], told: Any, more: dict[str, Any]) -> bool:
    schemas = told if isinstance(told, list) else [told] * len(value)
    return all(is_valid(item, schemas[n] if n < len(schemas) else more) for n, item in enumerate(value))
