"""What a store says of a task that it cannot read, in the words of the Error Model."""

from __future__ import annotations

from foliot.doors.declarative.errors import (
    TaskInvalidStructureError,
    TaskInvalidTypeError,
    TaskInvalidValueError,
    TaskMissingFieldError,
    TaskTryDeserializeError,
)
from foliot.model.damage import Damage, Flaw

_NAMES = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}


def error_of(task: str, damage: Damage) -> TaskTryDeserializeError:
    """The error that fits."""
    sentence, flaw, field, value, reason, expected = damage
    if field is None or flaw is Flaw.STRUCTURE:
        told = sentence if field is None else f"{field} {reason}"
        return TaskInvalidStructureError(value, told, task=task)
    if flaw is Flaw.MISSING:
        return TaskMissingFieldError(field, task=task)
    if flaw is Flaw.TYPE:
        actual = _NAMES.get(type(value), type(value).__name__)
        return TaskInvalidTypeError(field, value, expected or "something else", actual, task=task)
    return TaskInvalidValueError(field, value, reason or sentence, task=task)
