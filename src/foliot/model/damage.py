"""Damage: why a record is set aside, as facts for programs and a sentence for people."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from foliot.errors import DamagedRecordError


class Flaw(StrEnum):
    """What is wrong with a stored value."""

    MISSING = "missing"  # a field that must be there is not
    TYPE = "type"  # a field is of another type than it must be
    VALUE = "value"  # a field has a value that cannot be right
    STRUCTURE = "structure"  # the whole cannot be read, or not be understood
    UNKNOWN_HERE = "unknown_here"  # this node does not know a time zone, or a field: another node may


class Damage(NamedTuple):
    """What is wrong with a record, with which of its fields, and what was found there.

    `expected` is the type that the field must have, if it has another. Of a record that can be read, but
    not be decided about, there is only the sentence.
    """

    sentence: str
    flaw: Flaw = Flaw.STRUCTURE
    field: str | None = None
    value: Any = None
    reason: str | None = None
    expected: str | None = None

    def __str__(self) -> str:
        return self.sentence


def damage_of(error: Exception) -> Damage:
    """The damage that an error describes."""
    sentence = f"{type(error).__name__}: {error}"
    if not isinstance(error, DamagedRecordError):
        return Damage(sentence)
    facts = error.details
    return Damage(sentence, Flaw(error.flaw), facts["field"], facts["value"], facts["reason"], error.expected)
