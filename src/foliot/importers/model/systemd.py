"""A model of systemd's calendar events: `OnCalendar=` of a timer.

    [weekdays] [[year-]month-day] [hour:minute[:second]] [zone]

All parts must match, the weekday and the date alike. A time that the clocks leave out is skipped, one that
comes twice counts the first time, so even `*:0/15` pauses for the hour that comes twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple
from zoneinfo import ZoneInfo

from foliot.importers.model.numbers import UnreadableError
from foliot.importers.model.wall import DAY, days_between, stretches

SHORTHANDS = {
    "minutely": "*-*-* *:*:00",
    "hourly": "*-*-* *:00:00",
    "daily": "*-*-* 00:00:00",
    "monthly": "*-*-01 00:00:00",
    "weekly": "Mon *-*-* 00:00:00",
    "yearly": "*-01-01 00:00:00",
    "annually": "*-01-01 00:00:00",
    "quarterly": "*-01,04,07,10-01 00:00:00",
    "semiannually": "*-01,07-01 00:00:00",
}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LONG = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DATE = re.compile(r"(?:([^-~]+)-)?([^-~]+)([-~])([^-~]+)")
_PART = re.compile(r"(\d+)(?:\.\.(\d+))?(?:/(\d+))?")
_CENTURY = 100


class Calendar(NamedTuple):
    """What an event allows. `years` is None for all; weekdays count from Monday, 0."""

    weekdays: frozenset[int]
    years: frozenset[int] | None
    months: frozenset[int]
    days: frozenset[int]
    hours: frozenset[int]
    minutes: frozenset[int]
    seconds: frozenset[int]
    zone: str

    def is_on(self, day: date) -> bool:
        """Whether it allows a date."""
        return (
            day.weekday() in self.weekdays
            and day.month in self.months
            and day.day in self.days
            and (self.years is None or day.year in self.years)
        )

    @property
    def times(self) -> list[int]:
        """The seconds of a day that it allows."""
        return [
            hour * 3600 + minute * 60 + second
            for hour in sorted(self.hours)
            for minute in sorted(self.minutes)
            for second in sorted(self.seconds)
        ]


def read_calendar(text: str, zone: str) -> Calendar:
    """An event; UnreadableError if this model does not read it."""
    words = SHORTHANDS.get(text.strip().lower(), text).split()
    if words and ("/" in words[-1] or words[-1].upper() == "UTC") and words[-1][:1].isalpha():
        zone = _zone(words.pop())
    weekdays = frozenset(range(7))
    if words and words[0][:1].isalpha():
        weekdays = _read_weekdays(words.pop(0))
    dated = next((word for word in words if ":" not in word), "*-*-*")
    timed = next((word for word in words if ":" in word), "00:00:00")
    if [word for word in words if word not in (dated, timed)] or (not words and not text.strip()):
        raise UnreadableError(f"{text[:60]!r} is not understood")
    years, months, days = _read_date(dated)
    hours, minutes, seconds = _read_time(timed)
    return Calendar(weekdays, years, months, days, hours, minutes, seconds, zone)


def _zone(name: str) -> str:
    try:
        return ZoneInfo("UTC" if name.upper() == "UTC" else name).key
    except (KeyError, ValueError, OSError) as error:
        raise UnreadableError(f"{name[:40]} is no time zone") from error


def _read_weekdays(word: str) -> frozenset[int]:
    found: set[int] = set()
    for item in word.rstrip(",").split(","):
        start, dots, end = item.partition("..")
        first = _weekday(start)
        last = _weekday(end) if dots else first
        if first > last:
            raise UnreadableError(f"{item[:20]!r} runs backward")
        found |= set(range(first, last + 1))
    return frozenset(found)


def _weekday(word: str) -> int:
    for names in (_WEEKDAYS, _LONG):
        if word.lower() in names:
            return names.index(word.lower())
    raise UnreadableError(f"{word[:20]!r} is no weekday")


def _read_date(word: str) -> tuple[frozenset[int] | None, frozenset[int], frozenset[int]]:
    match = _DATE.fullmatch(word)
    if match is None:
        raise UnreadableError(f"{word[:40]!r} is no date")
    year, month, mark, day = match.groups()
    if mark == "~":
        raise UnreadableError("days that are counted from the end of the month (~)")
    years = None if year in (None, "*") else _numbers(year, 1970, 2199)
    if years is not None:
        years = frozenset(n + (2000 if n < 70 else 1900 if n < _CENTURY else 0) for n in years)  # noqa: PLR2004 - as systemd reads two digits
    return years, _numbers(month, 1, 12), _numbers(day, 1, 31)


def _read_time(word: str) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    parts = word.split(":")
    if len(parts) not in (2, 3):
        raise UnreadableError(f"{word[:40]!r} is no time")
    hours, minutes, seconds = (*parts, "00")[:3]
    if "." in seconds.replace("..", ""):
        raise UnreadableError("parts of a second")
    return _numbers(hours, 0, 23), _numbers(minutes, 0, 59), _numbers(seconds, 0, 59)


def _numbers(text: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for item in text.split(","):
        if item == "*":
            found |= set(range(low, high + 1))
            continue
        match = _PART.fullmatch(item)
        if match is None:
            raise UnreadableError(f"{item[:20]!r} is no number or range")
        start, end, step = match.groups()
        first = int(start)
        last = int(end) if end else high if step else first
        if not low <= first <= last <= high or step == "0":
            raise UnreadableError(f"{item[:20]!r} is out of range ({low}-{high})")
        found |= set(range(first, last + 1, int(step or 1)))
    return frozenset(found)


def fires(calendar: Calendar, first: int, last: int) -> Iterator[int]:
    """When the event elapses, in [first, last), as seconds since 1970."""
    times = calendar.times
    for stretch in stretches(calendar.zone, first, last):
        begin = stretch.start + stretch.offset + max(0, -stretch.jump)  # what comes again does not count
        end = stretch.end + stretch.offset
        for midnight, day in days_between(begin, end):
            if calendar.is_on(day):
                walls = (midnight + time for time in times)
                yield from (wall - stretch.offset for wall in walls if begin <= wall < end)


def count(calendar: Calendar, first: int, last: int) -> int:
    """How many lie in [first, last)."""
    found = list(stretches(calendar.zone, first, last))
    if len(found) > 1 or (first + found[0].offset) % DAY or last - first != DAY:
        return sum(1 for _ in fires(calendar, first, last))
    day = next(days_between(first + found[0].offset, first + found[0].offset + DAY))[1]
    return len(calendar.hours) * len(calendar.minutes) * len(calendar.seconds) * calendar.is_on(day)


__all__ = ["SHORTHANDS", "Calendar", "count", "fires", "read_calendar"]
