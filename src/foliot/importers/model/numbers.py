"""A field of a cron line as a set of numbers, read as the old programs read it."""

from __future__ import annotations

from typing import NamedTuple

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class Slot(NamedTuple):
    """What a field may hold: its name, its bounds and its words."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


SLOTS = (
    Slot("minute", 0, 59),
    Slot("hour", 0, 23),
    Slot("day", 1, 31),
    Slot("month", 1, 12, MONTHS),
    Slot("weekday", 0, 7, WEEKDAYS),
)


class UnreadableError(ValueError):
    """A text that the old program does not take; the message says why."""


def number_of(slot: Slot, word: str) -> int:
    """A number, or a name of three letters."""
    if word.isascii() and word.isdigit():
        value = int(word[:6])
    elif word.lower() in slot.words:
        value = slot.words.index(word.lower()) + (slot.name == "month")
    else:
        raise UnreadableError(f"{word[:20]!r} is no {slot.name}")
    if not slot.low <= value <= slot.high:
        raise UnreadableError(f"{word[:20]} is out of range for a {slot.name} ({slot.low}-{slot.high})")
    return value


def step_of(slot: Slot, word: str) -> int:
    """A step, which is a positive number."""
    if not (word.isascii() and word.isdigit()) or int(word[:6]) == 0:
        raise UnreadableError(f"{word[:20]!r} is no step in the {slot.name} field")
    return int(word[:6])


def modulo_week(slot: Slot, numbers: set[int]) -> frozenset[int]:
    """Both Sundays are one."""
    return frozenset(n % 7 for n in numbers) if slot.name == "weekday" else frozenset(numbers)
