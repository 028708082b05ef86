"""Time zones by name, and the moments at which their clocks are moved.

`zoneinfo` tells the offset at an instant but keeps its table of changes to itself, so the changes of
a year are found by asking for the offset every other day and narrowing down where it differs. No zone
in the database ever kept an offset for less than three days (a test watches this), so these steps miss
nothing. Years beyond the records are not asked: those before have no changes, those after have those of
their `twin`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from foliot.clock import host_timezone
from foliot.errors import InvalidTimezoneError
from foliot.schedules.schedule import EPOCH
from foliot.schedules.twin import RECORDED, twin

_DAY = timedelta(days=1)
_STRIDE = timedelta(days=2)
_STRIDES = tuple(_STRIDE * n for n in range(183))  # of a year
_LONGEST_NAME = 100
_OF_THE_HOST = frozenset({"localtime", "posixrules", "Factory"})
UTC_NAMES = frozenset({"UTC", "UCT", "Universal", "Zulu", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu"})


@dataclass(frozen=True, slots=True)
class Change:
    """The clocks of a zone are moved at an instant (UTC), from one offset to another."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def is_gap(self) -> bool:
        """Whether wall times are left out (the clocks go forward) rather than repeated."""
        return self.after > self.before

    @property
    def length(self) -> timedelta:
        """By how much the clocks are moved."""
        return abs(self.after - self.before)

    @property
    def wall_start(self) -> datetime:
        """The first wall time that does not exist, or that exists twice (naive)."""
        return self.at.replace(tzinfo=None) + min(self.before, self.after)

    @property
    def wall_end(self) -> datetime:
        """The first wall time after that span (naive)."""
        return self.at.replace(tzinfo=None) + max(self.before, self.after)


def resolve_timezone(name: object) -> str:
    """A zone's name, checked; "local" becomes the name of the host's zone."""
    if not isinstance(name, str) or not name:
        raise InvalidTimezoneError(name, "must be the name of an IANA time zone", hint=_EXAMPLE)
    if name == "local":
        return host_timezone()
    load_zone(name)
    return name


_EXAMPLE = 'write a name such as "Europe/Berlin", "UTC" or "local"'


def load_zone(name: str) -> ZoneInfo:
    """The zone of that name; the same object each time."""
    if len(name) > _LONGEST_NAME:
        raise InvalidTimezoneError(name, "is too long for the name of a zone", hint=_EXAMPLE)
    if name in _OF_THE_HOST:
        raise InvalidTimezoneError(name, "means something else on every host, or nothing", hint='use "local"')
    if name.startswith("right/"):
        raise InvalidTimezoneError(name, "counts leap seconds", hint=_similar(name[6:]))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidTimezoneError(name, "there is no such IANA time zone", hint=_similar(name)) from error


def _similar(name: str) -> str:
    by_lower = {zone.lower(): zone for zone in _names()}
    if name in by_lower.values():
        return f"use {name}"
    found = get_close_matches(name.lower()[:_LONGEST_NAME], by_lower, n=1)
    return f"did you mean {by_lower[found[0]]}?" if found else _EXAMPLE


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(available_timezones() - _OF_THE_HOST | {"local"})


@lru_cache(maxsize=4096)
def changes(zone: ZoneInfo, year: int) -> tuple[Change, ...]:
    """The changes of a zone's clocks in one year of UTC, in order."""
    if year < RECORDED.start:
        return ()
    if twin(year) != year:
        like = changes(zone, twin(year))
        return tuple(Change(one.at.replace(year=year), one.before, one.after) for one in like)
    # Times of UTC under the label of the zone, which is what `fromutc` takes.
    first = datetime(year, 1, 1, tzinfo=zone)
    # The last days of the calendar have no room for an offset.
    last = datetime(year + 1, 1, 1, tzinfo=zone) if year < MAXYEAR else datetime(year, 12, 30, tzinfo=zone)
    probes = [first + stride for stride in _STRIDES[: (last - first) // _STRIDE]] + [last]
    offsets = [zone.fromutc(probe).utcoffset() for probe in probes]
    return tuple(
        _narrow(zone, earlier.replace(tzinfo=UTC), later.replace(tzinfo=UTC))
        for (earlier, before), (later, after) in pairwise(zip(probes, offsets, strict=True))
        if before != after
    )


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    offset = instant.astimezone(zone).utcoffset()
    assert offset is not None  # noqa: S101 - an aware datetime has one; this tells the type checker
    return offset


def _narrow(zone: ZoneInfo, earlier: datetime, later: datetime) -> Change:
    """Find the second between two instants at which the offset changes."""
    before, after = _offset(zone, earlier), _offset(zone, later)
    low, high = 0, (later - earlier) // timedelta(seconds=1)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, earlier + timedelta(seconds=middle)) == before:
            low = middle
        else:
            high = middle
    return Change(earlier + timedelta(seconds=high), before, after)


def calendar_of(zone: ZoneInfo) -> tuple[timedelta, timedelta]:
    """The first and the last instant that both UTC and a zone can show, by their distance from 1970."""
    none, early, late = (
        timedelta(0),
        datetime(MINYEAR, 1, 3, tzinfo=UTC),
        datetime(MAXYEAR, 12, 30, tzinfo=UTC),
    )
    first = datetime.min.replace(tzinfo=UTC) + max(none, -_offset(zone, early))
    last = datetime.max.replace(tzinfo=UTC) - max(none, _offset(zone, late))
    return first - EPOCH, last - EPOCH


@lru_cache(maxsize=4096)
def irregular_days(zone: ZoneInfo, year: int) -> frozenset[tuple[int, int]]:
    """The (month, day) of a zone's year on which a wall time is missing or comes twice."""
    if twin(year) != year:
        return irregular_days(zone, twin(year))
    found = set()
    for near in range(max(year - 1, MINYEAR), min(year + 1, MAXYEAR) + 1):
        for change in changes(zone, near):
            day, end = change.wall_start.date(), change.wall_end
            while datetime.combine(day, datetime.min.time()) < end:
                if day.year == year:
                    found.add((day.month, day.day))
                day += _DAY
    return frozenset(found)


def is_regular(zone: ZoneInfo, wall: datetime) -> bool:
    """Whether each wall time of that day exists exactly once."""
    return (wall.month, wall.day) not in irregular_days(zone, wall.year)


class Spell(NamedTuple):
    """A stretch of time during which a zone keeps one offset."""

    start: datetime
    end: datetime
    offset: timedelta


def spells(zone: ZoneInfo, instant: datetime, *, direction: int) -> Iterator[Spell]:
    """Spell after spell, from the one around an instant on.

    They run forward for direction 1, backward for -1, to the end of the calendar. A new year starts
    a new one, so that no year is looked at before it is needed.
    """
    instant = instant.astimezone(UTC)
    year = instant.year
    while MINYEAR <= year <= MAXYEAR:
        for spell in _spells_of_year(zone, year)[::direction]:
            if (instant < spell.end) if direction > 0 else (spell.start <= instant):
                yield spell
        year += direction


@lru_cache(maxsize=1024)
def _spells_of_year(zone: ZoneInfo, year: int) -> tuple[Spell, ...]:
    moved = changes(zone, year)
    new_year = datetime(year, 1, 1, tzinfo=UTC)
    end = datetime(year + 1, 1, 1, tzinfo=UTC) if year < MAXYEAR else datetime.max.replace(tzinfo=UTC)
    start_offset = moved[0].before if moved else _offset(zone, datetime(year, 7, 1, tzinfo=UTC))
    starts = [new_year, *(change.at for change in moved)]
    ends = [*(change.at for change in moved), end]
    offsets = [start_offset, *(change.after for change in moved)]
    return tuple(map(Spell, starts, ends, offsets))
