"""A second opinion on when a rule occurs, which shares nothing with `foliot.schedules`.

It goes through the days on the wall, and turns each wall time into the instants at which the zone's
clocks show it: none in a gap, two where an hour comes twice. Slow and simple on purpose, quick enough for
months.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MIDNIGHT = time()
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NAMES = {name: str(n) for names, low in ((_MONTHS, 1), (_WEEKDAYS, 0)) for n, name in enumerate(names, low)}
_FIVE = 5
# How far the latest occurrence is looked for: past the eight years between leap days around 2100.
_LOOK_BACK = tuple(timedelta(days=days) for days in (1, 8, 40, 400, 3700))


class Rule(NamedTuple):
    """When: a cron text, `@every 90s`, or `@once 2026-12-24T18:00:00+00:00`."""

    text: str
    timezone: str = "UTC"
    dialect: str = "standard"


class _Calendar(NamedTuple):
    """What a cron text means: the dates it allows, and the times of day."""

    months: frozenset[int]
    days: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    times: tuple[timedelta, ...]
    zone: ZoneInfo

    def has(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        on_day, on_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (on_day or on_weekday) if self.either else (on_day and on_weekday)


def occurrences(rule: Rule, begin: datetime, end: datetime) -> list[datetime]:
    """Every occurrence from begin to end, both included, in UTC and in order."""
    if begin > end:
        return []
    if rule.text.startswith("@once "):
        at = datetime.fromisoformat(rule.text.removeprefix("@once ")).astimezone(UTC)
        return [at] if begin <= at <= end else []
    if step := _step(rule.text):
        beat = -((_EPOCH - begin) // step)
        return [_EPOCH + n * step for n in range(beat, (end - _EPOCH) // step + 1)]
    return list(_walk(_read(rule), begin.astimezone(UTC), end.astimezone(UTC)))


def latest(rule: Rule, instant: datetime) -> datetime | None:
    """The last occurrence at or before an instant."""
    if step := _step(rule.text):
        return _EPOCH + (instant - _EPOCH) // step * step
    for reach in _LOOK_BACK:
        if found := occurrences(rule, instant - reach, instant):
            return found[-1]
    return next(iter(occurrences(rule, _EPOCH, instant)), None) if rule.text.startswith("@once ") else None


def tick(rule: Rule) -> timedelta:
    """How long the present matches an occurrence: its minute, or its second if the rule counts them."""
    counts_seconds = rule.text.startswith(("@every ", "@once ")) or _step(rule.text) is not None
    has_six = not rule.text.startswith("@") and len(_words(rule.text)[1]) > _FIVE
    return timedelta(seconds=1) if counts_seconds or has_six else timedelta(minutes=1)


def _step(text: str) -> timedelta | None:
    _, words = _words(text)
    if words[0] != "@every":
        return None
    parts = re.findall(r"(\d+)([smhd])", words[1])
    return timedelta(seconds=sum(int(count) * _UNITS[unit] for count, unit in parts))


def _words(text: str) -> tuple[str | None, list[str]]:
    """The zone that a text names, and its other words."""
    words = text.split()
    if words[0].startswith(("CRON_TZ=", "TZ=")):
        return words[0].partition("=")[2], words[1:]
    return None, words


@lru_cache(maxsize=1000)
def _read(rule: Rule) -> _Calendar:
    timezone, words = _words(rule.text)
    fields = _MACROS.get(words[0], " ".join(words)).split()
    second = fields.pop(0) if len(fields) > _FIVE else "0"
    minute, hour, day, month, weekday = fields
    times = (
        timedelta(hours=h, minutes=m, seconds=s)
        for h in _numbers(hour, 0, 23)
        for m in _numbers(minute, 0, 59)
        for s in _numbers(second, 0, 59)
    )
    return _Calendar(
        months=frozenset(_numbers(month, 1, 12)),
        days=frozenset(_numbers(day, 1, 31)),
        weekdays=frozenset(n % 7 for n in _numbers(weekday, 0, 6)),
        either=not any(_is_open(field, rule.dialect) for field in (day, weekday)),
        times=tuple(sorted(times)),
        zone=ZoneInfo(timezone or rule.timezone),
    )


def _is_open(field: str, dialect: str) -> bool:
    """Whether a day field restricts nothing, so that the other one decides alone."""
    if dialect == "posix":
        return field == "*"
    return any(item in ("*", "?", "*/1", "?/1") for item in field.split(","))


def _numbers(field: str, low: int, high: int) -> list[int]:
    found: set[int] = set()
    for item in field.upper().split(","):
        body, _, step = item.partition("/")
        start, is_range, end = body.partition("-")
        if start in ("*", "?"):
            first, last = low, high
        else:
            first = int(_NAMES.get(start, start))
            last = int(_NAMES.get(end, end)) if is_range else high if step else first
        found.update(range(first, last + 1, int(step or 1)))
    return sorted(found)


def _walk(calendar: _Calendar, begin: datetime, end: datetime) -> Iterator[datetime]:
    day, last_day = (begin - _DAY).date(), (end + _DAY).date()
    while day <= last_day:
        if calendar.has(day):
            yield from (at for at in _of_day(calendar, day) if begin <= at <= end)
        day += _DAY


def _of_day(calendar: _Calendar, day: date) -> list[datetime]:
    midnight = datetime.combine(day, _MIDNIGHT, UTC)
    offsets = _offsets(calendar.zone, day)
    if len(offsets) == 1:
        start = midnight - offsets[0]
        return [start + since for since in calendar.times]
    found = set()
    for since in calendar.times:
        wall = midnight + since
        for offset in offsets:
            shown = (wall - offset).astimezone(calendar.zone)
            if shown.replace(tzinfo=UTC) == wall:
                found.add(wall - offset)
    return sorted(found)


@lru_cache(maxsize=4000)
def _offsets(zone: ZoneInfo, day: date) -> tuple[timedelta, ...]:
    """The offsets from UTC that a zone has around a day."""
    start = datetime.combine(day, _MIDNIGHT, UTC) - timedelta(hours=27)
    around = (start + timedelta(hours=hours) for hours in range(79))
    return tuple({at.astimezone(zone).utcoffset() or timedelta(0) for at in around})
