"""What a store says of a job that it cannot read, in the words of the Error Model."""

from __future__ import annotations

import re
from ast import literal_eval

from foliot.doors.declarative.errors import (
    TaskInvalidStructureError,
    TaskInvalidTypeError,
    TaskInvalidValueError,
    TaskMissingFieldError,
    TaskTryDeserializeError,
)

# A store shows damage as a text: the error's name, and its sentence.
_FIELD = re.compile(r"DamagedRecordError: invalid (?P<field>\S+) (?P<value>.*?): (?P<reason>.*)", re.DOTALL)
_INSTANT = re.compile(r"TypeError: (?P<value>.*) is no instant")
_WRONG_TYPE = re.compile(r"must be (?P<expected>an? .*|true or false)")
_WHOLE = ("job", "policy", "action.data")  # what is stored as a text of its own
_NAMES = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    tuple: "array",
    type(None): "null",
}


def error_of(task: str, damage: str) -> TaskTryDeserializeError:
    """The error that fits."""
    if found := _FIELD.fullmatch(damage):
        return _of_field(task, found["field"], found["value"], found["reason"])
    if found := _INSTANT.fullmatch(damage):
        return TaskInvalidTypeError(
            "state", found["value"], "an instant", _type_of(found["value"]), task=task
        )
    kind, _, reason = damage.partition(": ")
    if kind == "TypeError":
        return TaskInvalidTypeError("state", None, "what was written", reason, task=task)
    if kind == "ValueError" and "is missing" in reason:
        return TaskMissingFieldError("state", task=task)
    if kind == "ValueError":
        return TaskInvalidValueError("state", None, reason, task=task)
    return TaskInvalidStructureError(damage, damage, task=task)


def _of_field(task: str, field: str, value: str, reason: str) -> TaskTryDeserializeError:
    if reason == "is missing":
        return TaskMissingFieldError(field, task=task)
    if field in _WHOLE:
        return TaskInvalidStructureError(value, f"{field} {reason}", task=task)
    if found := _WRONG_TYPE.fullmatch(reason):
        actual = _type_of(value)
        return TaskInvalidTypeError(field, value, found["expected"], actual, task=task)
    return TaskInvalidValueError(field, value, reason, task=task)


def _type_of(shown: str) -> str:
    """The JSON type of a value that is known only as it is shown; a text is shown without its quotes."""
    try:
        return _NAMES.get(type(literal_eval(shown)), "string")
    except (ValueError, SyntaxError):
        return "string"
