"""Tables that answer "which allowed value comes at or beyond this one?" by looking it up.

A search through a calendar runs in one of two directions, and everything that differs between them
is a table, so that the search itself (`search.py`) is written once. Each table has one entry more than
values; it holds None (for days: NO_DAY), and is what the index one step beyond either end finds, since
Python's index -1 is the last entry too.

Days are numbered within their year by a *day code*, month * 32 + day: two attributes of a datetime
make one, its neighbours are one step away (a code that is no date just leads on), and it comes apart
again with a shift and a mask.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import MAXYEAR, MINYEAR, UTC, date
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from foliot.schedules.field import DAY, HOUR, MINUTE, SECOND, WEEKDAY, Field, values
from foliot.schedules.nth_day import LAST_DAY, is_counted
from foliot.schedules.twin import is_leap, twin
from foliot.schedules.zone import UTC_NAMES, irregular_days

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from foliot.schedules.around import Around
    from foliot.schedules.cron_syntax import CronFields

Direction = Literal[1, -1]
Dial = tuple[int | None, ...]
DayTable = Sequence[int]

NO_DAY = 0
IRREGULAR = -1
_CODES = tuple(range(13 * 32 + 1))
_MOST_YEARS = 32


class DayRule(NamedTuple):
    """The part of a rule that days depend on."""

    days: int
    months: int
    weekdays: int
    either: bool


@lru_cache(maxsize=4096)
def dial(field: Field, mask: int, direction: Direction) -> Dial:
    """For each value of a field, the nearest allowed one from it on, in one direction."""
    nearest: int | None = None
    entries: list[int | None] = [None] * (field.high + 2)
    for value in range(field.high + 1)[::-direction]:
        if mask >> value & 1:
            nearest = value
        entries[value] = nearest
    return tuple(entries)


class Tables:
    """All tables for one direction of the search for a rule in a zone."""

    __slots__ = (
        "ahead", "around", "day_rule", "direction", "edge", "fields", "hours", "minutes", "seconds", "start",
        "turns", "years", "zone", "zone_alias",
    )  # fmt: skip

    def __init__(
        self, fields: CronFields, zone: ZoneInfo, direction: Direction, around: Around | None = None
    ) -> None:
        self.fields = fields
        self.around = around
        self.day_rule = DayRule(fields.days, fields.months, fields.weekdays, fields.either_day)
        self.zone = zone
        # Most people write timezone.utc; it needs no conversion to be taken for ZoneInfo("UTC").
        self.zone_alias = UTC if zone.key in UTC_NAMES else zone
        self.direction = direction
        # Forward the search is for what comes after, backward for what is there or before.
        self.ahead = 1 if direction > 0 else 0
        # Where a table begins, seen in the direction of the search; its last entry is the None.
        self.edge = 0 if direction > 0 else -2
        self.seconds = dial(SECOND, fields.seconds, direction)
        self.minutes = dial(MINUTE, fields.minutes, direction)
        self.hours = dial(HOUR, fields.hours, direction)
        # The first time of a day, seen so too.
        self.start = (
            _first(fields.hours, direction),
            _first(fields.minutes, direction),
            _first(fields.seconds, direction),
        )
        self.years: dict[int, DayTable] = {}
        self.turns: dict[int, tuple[int, int]] = {}

    def days(self, year: int) -> DayTable:
        """The day table of a year, made when first needed and then kept in `years`."""
        if len(self.years) >= _MOST_YEARS:  # a walk through the centuries must not fill the memory
            self.years.clear()
        table = self.years[year] = _day_table(
            self.day_rule,
            *year_kind(year),
            irregular_days(self.zone, twin(year)),
            self.direction,
        )
        return table

    def turn(self, year: int) -> tuple[int, int]:
        """The next year that has a matching day, and that day; kept in `turns`.

        NO_DAY at the end of the calendar: a rule without a date is never built, and every other one comes
        round within eight years (29 February across 2100), or within forty if that day must be a Monday,
        say; so this is not a long search. The clocks may leave that day out: `search` looks at that.
        """
        found, day = year + self.direction, NO_DAY
        while MINYEAR <= found <= MAXYEAR:
            day = (self.years.get(found) or self.days(found))[self.edge]
            if day != NO_DAY:
                break
            found += self.direction
        if len(self.turns) >= _MOST_YEARS:
            self.turns.clear()
        self.turns[year] = found, day
        return found, day


def _first(mask: int, direction: Direction) -> int:
    return values(mask)[0 if direction > 0 else -1]


def year_kind(year: int) -> tuple[int, bool]:
    """The weekday on which a year begins (Monday is 0), and whether it is a leap year."""
    return date(year, 1, 1).weekday(), is_leap(year)


@lru_cache(maxsize=2048)
def _day_table(
    rule: DayRule, first_weekday: int, is_leap: bool,  # noqa: FBT001 - a cache wants positions
    irregular: frozenset[tuple[int, int]], direction: Direction
) -> DayTable:  # fmt: skip
    """For each day code, the nearest matching one from it on, or NO_DAY if the year has none.

    There are only fourteen kinds of year: it is a leap year or not, and begins on some weekday
    (Monday is 0, as Python counts). All rules with the same day fields share the tables, and so do
    zones that move their clocks on the same days.
    """
    matching = matching_days(rule, first_weekday, is_leap=is_leap)
    nearest = NO_DAY
    entries = [NO_DAY] * len(_CODES)
    for code in _CODES[::-direction]:
        if code in matching:
            nearest = code
        entries[code] = nearest
    return array("h", _with_irregular([*entries, NO_DAY], irregular))  # a quarter of a tuple's size


def matching_days(rule: DayRule, first_weekday: int, *, is_leap: bool) -> set[int]:
    """The day codes that match in a year of this kind."""
    matching = set()
    is_counting = rule.days > DAY.full or rule.weekdays > WEEKDAY.full
    weekday = first_weekday + 1  # cron counts from Sunday
    for month, length in enumerate(_lengths(is_leap=is_leap), start=1):
        for day in range(1, length + 1):
            on_day, on_weekday = rule.days >> day & 1, rule.weekdays >> weekday % 7 & 1
            if is_counting:
                is_day, is_weekday = is_counted(rule.days, rule.weekdays, day, weekday % 7, length)
                on_day, on_weekday = on_day | is_day, on_weekday | is_weekday
            matches = on_day | on_weekday if rule.either else on_day & on_weekday
            if matches and rule.months >> month & 1:
                matching.add(month * 32 + day)
            weekday += 1
    return matching


def _lengths(*, is_leap: bool) -> tuple[int, ...]:
    return (31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def has_a_date(fields: CronFields) -> bool:
    """Whether any year has a matching day. A leap year holds every date that there is."""
    return fields.either_day or any(
        fields.months >> month & 1 and fields.days & (LAST_DAY | (1 << length + 1) - 1)
        for month, length in enumerate(_lengths(is_leap=True), start=1)
    )


def _with_irregular(table: list[int], irregular: frozenset[tuple[int, int]]) -> list[int]:
    """Mark the days on which the clocks are moved, and every way that leads to one."""
    codes = {month * 32 + day for month, day in irregular}
    return [IRREGULAR if code in codes or nearest in codes else nearest for code, nearest in enumerate(table)]
