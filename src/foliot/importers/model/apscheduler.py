"""A model of APScheduler 3's cron trigger: eight fields that all must match, walked field by field.

Weekdays count from Monday (0). A time that comes twice comes twice. A time that the clocks leave out is the
peculiar case: the walk sets hour and minute on the wall and asks nobody whether that time exists. So it runs
as much later as the clocks went forward, and what follows may be left out. And a step to another day or month
is made in real time: over a change of the clocks it misses midnight by an hour, so a job of 00:00 on the 1st
of April may not run at all. Around changes the walk itself is made; elsewhere the numbers are enough.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from foliot.importers.model.numbers import MONTHS, UnreadableError
from foliot.importers.model.wall import DAY, day_of, days_between, stretches

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_BOUNDS = {
    "month": (1, 12), "day": (1, 31), "day_of_week": (0, 6), "hour": (0, 23), "minute": (0, 59),
    "second": (0, 59),
}  # fmt: skip
# The fields from the greatest to the least, and what the constructor puts behind the last that is given.
_LEAST = {
    "year": "*", "month": "1", "day": "1", "week": "*", "day_of_week": "*", "hour": "0", "minute": "0",
    "second": "0",
}  # fmt: skip
_WORDS = {"month": (MONTHS, 1), "day_of_week": (_WEEKDAYS, 0)}
_ITEM = re.compile(r"(\*|\w+)(?:-(\w+))?(?:/(\d+))?", re.ASCII)
_POSITION = re.compile(r"([1-5])(?:st|nd|rd|th) +([a-z]{3})", re.ASCII)
_SECOND = timedelta(seconds=1)
_ONE_DAY = timedelta(days=1)
_MOST_DAYS = 3000  # from one leap day to the next, over a year without
_WEEK = 7


class CronFields(NamedTuple):
    """The numbers of a trigger. `positions`: pairs such as (1, 0) for the first Monday of a month."""

    months: frozenset[int]
    days: frozenset[int]
    positions: frozenset[tuple[int, int]]
    weekdays: frozenset[int]
    hours: frozenset[int]
    minutes: frozenset[int]
    seconds: frozenset[int]
    zone: str

    def is_on(self, day: date) -> bool:
        """Whether the trigger allows a date."""
        place = ((day.day - 1) // _WEEK + 1, day.weekday())
        is_day = day.day in self.days or place in self.positions
        return is_day and day.month in self.months and day.weekday() in self.weekdays


def read_fields(fields: dict[str, str], zone: str) -> CronFields:
    """The fields as `str(field)` writes them; UnreadableError for what only a calendar could say.

    What is left out is what APScheduler's constructor makes of it.
    """
    if unknown := set(fields) - set(_LEAST):
        raise UnreadableError(f"the field {min(unknown)[:20]!r}")
    fields = _completed(fields)
    for name in ("year", "week"):
        if fields[name] != "*":
            raise UnreadableError(f"the {name} {fields[name][:20]}")
    positions, days = set(), list[str]()
    for item in fields["day"].lower().split(","):
        found = _POSITION.fullmatch(item.strip())
        if found and found[2] in _WEEKDAYS:
            positions.add((int(found[1]), _WEEKDAYS.index(found[2])))
        else:
            days.append(item)
    read = {name: _numbers(name, fields[name]) for name in _BOUNDS if name != "day"}
    return CronFields(
        read["month"], _numbers("day", ",".join(days)) if days else frozenset(), frozenset(positions),
        read["day_of_week"], read["hour"], read["minute"], read["second"], zone,
    )  # fmt: skip


def _completed(fields: dict[str, str]) -> dict[str, str]:
    """All fields: `hour=2` alone is 02:00:00, and no field at all is each second."""
    names = list(_LEAST)
    last = max((names.index(name) for name in fields), default=len(names))
    return {name: fields.get(name, "*" if place < last else _LEAST[name]) for place, name in enumerate(names)}


def _numbers(name: str, text: str) -> frozenset[int]:
    low, high = _BOUNDS[name]
    found: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            raise UnreadableError(f"{item[:20]!r} as a {name}")
        start_text, end_text, step = match[1], match[2], int(match[3] or 1)
        start = low if start_text == "*" else _number(name, start_text)
        end = _number(name, end_text) if end_text else high if start_text == "*" or match[3] else start
        if not low <= start <= end <= high or not step:
            raise UnreadableError(f"{item[:20]!r} as a {name}")
        found |= set(range(start, end + 1, step))
    return frozenset(found)


def _number(name: str, word: str) -> int:
    if word.isdigit():
        return int(word[:6])
    words, first = _WORDS.get(name, ((), 0))
    if word.lower() not in words:
        raise UnreadableError(f"{word[:20]!r} as a {name}")
    return words.index(word.lower()) + first


def fires(rule: CronFields, first: int, last: int) -> Iterator[int]:
    """When it fires in [first, last), as seconds since 1970. Doubles come twice."""
    at = first
    for begin, end in _windows(rule, first, last):
        yield from _evenly(rule, at, min(begin, last))
        yield from (fire for fire in _walk(rule, begin, end) if first <= fire < last)
        at = max(at, end)
    yield from _evenly(rule, at, last)


def _windows(rule: CronFields, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Where the walk counts: from the last day with a fire before a change of the clocks to the next one."""
    zone = ZoneInfo(rule.zone)
    since = _midnight(_on_day(rule, day_of(first) - 2 * _ONE_DAY, -1), zone)
    found: list[tuple[int, int]] = []
    for stretch in stretches(rule.zone, since, last + DAY):
        if stretch.jump:
            before, after = day_of(stretch.start + stretch.before), day_of(stretch.start + stretch.offset)
            begin = _midnight(_on_day(rule, before - _ONE_DAY, -1), zone)
            end = _midnight(_on_day(rule, max(before, after), 1) + _ONE_DAY, zone)
            if found and begin < found[-1][1]:
                begin = found.pop()[0]
            found.append((begin, end))
    return iter(found)


def _on_day(rule: CronFields, day: date, step: int) -> date:
    """The nearest day that the rule allows, this one included, back or on; or the last that is looked at."""
    for _ in range(_MOST_DAYS):
        if rule.is_on(day):
            break
        day += _ONE_DAY * step
    return day


def _midnight(day: date, zone: ZoneInfo) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())


def count(rule: CronFields, first: int, last: int) -> int:
    """How many fires lie in [first, last): where no walk counts, they are not listed."""
    if any(begin < last and first < end for begin, end in _windows(rule, first, last)):
        return sum(1 for _ in fires(rule, first, last))
    times, total = _times(rule), 0
    for stretch in stretches(rule.zone, first, last):
        start, end = stretch.start + stretch.offset, stretch.end + stretch.offset
        for midnight, day in days_between(start, end):
            if rule.is_on(day):
                total += bisect_left(times, end - midnight) - bisect_left(times, start - midnight)
    return total


@lru_cache(maxsize=8)
def _times(rule: CronFields) -> list[int]:
    """The seconds of a day, in order."""
    return [
        hour * 3600 + minute * 60 + second
        for hour in sorted(rule.hours) for minute in sorted(rule.minutes) for second in sorted(rule.seconds)
    ]  # fmt: skip


def _evenly(rule: CronFields, first: int, last: int) -> Iterator[int]:
    """The matching seconds of [first, last), by the wall, where no time is left out."""
    times = _times(rule)
    if first >= last:
        return
    for stretch in stretches(rule.zone, first, last):
        start, end = stretch.start + stretch.offset, stretch.end + stretch.offset
        for midnight, day in days_between(start, end):
            if rule.is_on(day):
                walls = (midnight + time for time in times)
                yield from (wall - stretch.offset for wall in walls if start <= wall < end)


def _walk(rule: CronFields, first: int, last: int) -> Iterator[int]:
    """Fire after fire, as the trigger finds them."""
    zone = ZoneInfo(rule.zone)
    at = datetime.fromtimestamp(first, UTC).astimezone(zone)
    while (found := _next(rule, at, zone, last)) is not None:
        yield int(found.timestamp())
        at = (found.astimezone(UTC) + _SECOND).astimezone(zone)


def _next(rule: CronFields, at: datetime, zone: ZoneInfo, last: int) -> datetime | None:
    """The first time on the wall, from one on, at which all fields match; None: it is not before the last."""
    place = 0
    while place < len(_STEPS):
        if at.timestamp() >= last:
            return None
        name = _STEPS[place]
        if name == "day_of_week":  # it cannot be set: the day is moved on until it matches
            if at.weekday() in rule.weekdays:
                place += 1
            else:
                at, place = _increment(at, place - 1, zone)
            continue
        value = getattr(at, name)
        following = min((number for number in _allowed(rule, name, at) if number >= value), default=None)
        if following is None:
            at, place = _increment(at, place - 1, zone)
        elif following > value:
            at = _wall(at, name, following).replace(tzinfo=zone, fold=at.fold)
            place += 1
        else:
            place += 1
    return at if at.timestamp() < last else None


_STEPS = ("year", "month", "day", "day_of_week", "hour", "minute", "second")
_REAL = tuple(name for name in _STEPS if name != "day_of_week")
_LOWS = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}
_HIGHS = {"year": 9999, "month": 12, "hour": 23, "minute": 59, "second": 59}


def _allowed(rule: CronFields, name: str, at: datetime) -> frozenset[int]:
    if name == "year":
        return frozenset((at.year,))
    if name == "day":
        days = range(1, monthrange(at.year, at.month)[1] + 1)
        place = {day: ((day - 1) // _WEEK + 1, date(at.year, at.month, day).weekday()) for day in days}
        return frozenset(day for day in days if day in rule.days or place[day] in rule.positions)
    values: frozenset[int] = getattr(rule, f"{name}s")
    return values


def _increment(at: datetime, place: int, zone: ZoneInfo) -> tuple[datetime, int]:
    """One more in a field or in one before it, the lowest in all after it; by real time, over any gap."""
    while True:
        name = _STEPS[place]
        high = monthrange(at.year, at.month)[1] if name == "day" else _HIGHS.get(name, 0)
        if name == "day_of_week" or getattr(at, name) == high:
            place -= 1
            continue
        break
    more = _wall(at, name, getattr(at, name) + 1) - at.replace(tzinfo=None)
    return (at.astimezone(UTC) + more).astimezone(zone), place


def _wall(at: datetime, name: str, value: int) -> datetime:
    """A time on the wall with one field set, and the lowest in all after it."""
    place = _REAL.index(name)
    numbers: list[int] = [getattr(at, higher) for higher in _REAL[:place]]
    numbers += [value, *(_LOWS[lower] for lower in _REAL[place + 1 :])]
    year, month, day, hour, minute, second = numbers
    return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - a wall has no zone
