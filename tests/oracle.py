"""A second opinion on cron that shares nothing with `foliot.schedules`: it walks minute by minute.

Slow and simple on purpose. It asks `zoneinfo` what the clock on the wall shows at each step of UTC,
and tests the fields, which it reads with a few splits.
"""

from __future__ import annotations

# The only copy of zoneinfo that shows its table; typeshed does not know it.
import zoneinfo._zoneinfo as pure_zoneinfo  # type: ignore[import-not-found]
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

if TYPE_CHECKING:
    from collections.abc import Iterator

AWKWARD_ZONES = (
    "Africa/Cairo",  # changes at midnight
    "Africa/Casablanca",  # four changes a year, around Ramadan
    "Africa/Monrovia",  # 44 minutes and 30 seconds off until 1972
    "America/Anchorage",
    "America/Caracas",  # half an hour, for good
    "America/Havana",  # changes at midnight
    "America/New_York",
    "America/Nuuk",
    "America/Sao_Paulo",  # changes at midnight
    "America/Scoresbysund",
    "America/St_Johns",  # two hours in 1988, at one minute past midnight
    "Antarctica/Casey",  # three hours
    "Antarctica/Troll",  # two hours
    "Asia/Amman",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Kathmandu",  # a quarter of an hour
    "Asia/Manila",
    "Asia/Pyongyang",
    "Asia/Singapore",  # at new year
    "Asia/Tehran",
    "Atlantic/Azores",
    "Australia/Lord_Howe",  # half an hour
    "Europe/Berlin",
    "Europe/Dublin",  # winter time is the exception
    "Europe/Lisbon",
    "Europe/Moscow",
    "Pacific/Apia",  # left out a day in 2011
    "Pacific/Chatham",
    "Pacific/Kanton",  # left out a day at new year 1995
    "Pacific/Kwajalein",  # had a day twice in 1969 and left one out in 1993
)

NAMES = {
    **{n: i for i, n in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))},
    **{
        n: i
        for i, n in enumerate(
            ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), 1
        )
    },
}


@dataclass(frozen=True)
class Fields:
    """The numbers of a five-field expression, and whether a day matches by either day field."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool

    def match(self, wall: datetime) -> bool:
        if wall.minute not in self.minutes or wall.hour not in self.hours or wall.month not in self.months:
            return False
        on_day, on_weekday = wall.day in self.days, wall.isoweekday() % 7 in self.weekdays
        return (on_day or on_weekday) if self.either else (on_day and on_weekday)


@lru_cache(maxsize=1000)
def read(expression: str) -> Fields:
    minute, hour, day, month, weekday = expression.split()
    days, day_star = expand(day, 1, 31)
    weekdays, weekday_star = expand(weekday, 0, 6)
    return Fields(
        minutes=expand(minute, 0, 59)[0],
        hours=expand(hour, 0, 23)[0],
        days=days,
        months=expand(month, 1, 12)[0],
        weekdays=frozenset(n % 7 for n in weekdays),
        either=not (day_star or weekday_star),
    )


def expand(text: str, low: int, high: int) -> tuple[frozenset[int], bool]:
    found: set[int] = set()
    star = False
    for item in text.split(","):
        body, _, step = item.partition("/")
        if body in ("*", "?"):
            start, end = low, high
            star |= step in ("", "1")
        elif "-" in body:
            start, end = (number(part) for part in body.split("-"))
        else:
            start = number(body)
            end = high if step else start
        found |= set(range(start, end + 1, int(step or 1)))
    return frozenset(found), star


def number(word: str) -> int:
    return NAMES[word.upper()] if word.upper() in NAMES else int(word)


def walk(start: datetime, end: datetime, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    """Every instant in [start, end) at which a minute begins on the zone's clocks, with its wall time."""
    instant = start.astimezone(UTC)
    while instant < end:
        wall = instant.astimezone(zone)
        if wall.second == 0:
            yield instant, wall
        # Where clocks are moved by odd seconds, a minute may begin at any second.
        ahead = (instant + timedelta(minutes=1)).astimezone(zone)
        is_even = ahead.utcoffset() == wall.utcoffset()
        instant += timedelta(seconds=60 - wall.second if is_even else 1)


@lru_cache(maxsize=1)
def zone_names() -> tuple[str, ...]:
    return tuple(sorted(name for name in available_timezones() if _is_plain(name)))


def _is_plain(name: str) -> bool:
    return not name.startswith(("right/", "posix/")) and name not in ("localtime", "posixrules", "Factory")


@lru_cache(maxsize=700)
def recorded_changes(name: str) -> tuple[datetime, ...]:
    """The instants, from the database's own table, at which the offset of a zone really changes."""
    table = pure_zoneinfo.ZoneInfo(name)
    offsets = [table._tti_before.utcoff, *(info.utcoff for info in table._ttinfos)]
    return tuple(
        datetime.fromtimestamp(at, UTC)
        for at, before, after in zip(table._trans_utc, offsets, offsets[1:], strict=False)
        if before != after
    )
