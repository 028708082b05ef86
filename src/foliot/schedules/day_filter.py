"""Which days a schedule may use: calendars, and the tables that find the next such day.

    calendars of `only`    must hold the day, each of them   ─┐
    calendars of `except`  must not hold it, none of them     ├─▶  DayFilter: is it allowed, which is next
                                                             ─┘

A calendar is a list of dates, which ends, or a cron expression for whole days, which does not. What does not
end repeats by the kind of the year, of which there are fourteen; so the next day is always a lookup.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import MAXYEAR, MINYEAR, date
from functools import lru_cache

from foliot.errors import InvalidScheduleError
from foliot.schedules.cron_syntax import CronFields, parse_cron
from foliot.schedules.dial import DayRule, Direction, matching_days, year_kind
from foliot.schedules.field import HOUR, MINUTE
from foliot.schedules.twin import CYCLE, ROW

MOST_DATES = 5000
LONGEST_NAME = 100
_HINT = 'such as Calendar("own", [date(2026, 12, 24)]) or Calendar("mondays", cron="* * * * MON")'
_YEAR_KINDS = [(weekday, is_leap) for weekday in range(7) for is_leap in (False, True)]


@dataclass(frozen=True, slots=True, init=False)
class Calendar:
    """Days under a name: `dates`, or those that match `cron`, whose minute and hour must be `*`."""

    name: str
    dates: tuple[date, ...] = ()
    cron: str | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __init__(self, name: str, dates: Iterable[date] = (), *, cron: str | None = None) -> None:
        days = tuple(sorted(set(dates)))
        if not _is_name(name):
            raise InvalidScheduleError("name", name, f"must be a text of 1 to {LONGEST_NAME} characters")
        if (cron is None) == (not days):
            raise InvalidScheduleError("calendar", name, "must have dates, or a cron expression", hint=_HINT)
        if not all(type(day) is date for day in days):
            raise InvalidScheduleError("dates", days[0], "must be dates", hint=_HINT)
        if len(days) > MOST_DATES:
            raise InvalidScheduleError("dates", len(days), f"are more than {MOST_DATES:,}")
        if cron is not None:
            _day_rule(cron)
        for field_, value in (("name", name), ("dates", days), ("cron", cron)):
            object.__setattr__(self, field_, value)
        object.__setattr__(self, "_hash", hash((name, days, cron)))

    def __hash__(self) -> int:
        return self._hash

    def __contains__(self, day: date) -> bool:
        if self.cron is None:
            place = bisect_left(self.dates, day)
            return place < len(self.dates) and self.dates[place] == day
        return day.month * 32 + day.day in _codes(_day_rule(self.cron), *year_kind(day.year))


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= LONGEST_NAME


@lru_cache(maxsize=256)
def _day_rule(expression: str) -> DayRule:
    """The days of a calendar that is written as a cron expression."""
    parsed = parse_cron(expression, "standard")
    fields = parsed.fields
    is_whole = fields is not None and fields.hours == HOUR.full and fields.minutes == MINUTE.full
    if fields is None or not is_whole or parsed.timezone is not None:
        hint = "the days of a calendar are whole: write * * for minute and hour, such as * * * * MON"
        raise InvalidScheduleError("cron", expression, "is no rule of days", hint=hint)
    return rule_of(fields)


def rule_of(fields: CronFields) -> DayRule:
    """The part of cron fields that days depend on."""
    return DayRule(fields.days, fields.months, fields.weekdays, fields.either_day)


@lru_cache(maxsize=1024)
def _codes(rule: DayRule, first_weekday: int, is_leap: bool) -> frozenset[int]:  # noqa: FBT001 - see `dial`
    return frozenset(matching_days(rule, first_weekday, is_leap=is_leap))


class DayFilter:
    """The days that are left. `rule`: the days of the rule that is filtered; None: every day.

    It only tells beforehand that no day can ever be left, where the search for one would take long.
    """

    def __init__(
        self, rule: DayRule | None, exclude: tuple[Calendar, ...], only: tuple[Calendar, ...]
    ) -> None:
        self._kinds = {kind: _days_of_kind(exclude, only, *kind) for kind in _YEAR_KINDS}
        self._excluded = frozenset(day for one in exclude for day in one.dates)
        lists = [set(one.dates) for one in only if one.cron is None]
        self._dates = (
            sorted(day for day in set.intersection(*lists) if self._is_usual(day)) if lists else None
        )
        wanted = _EVERY_DAY if rule is None else rule
        has_a_day = any(days & _codes(wanted, *kind) for kind, days in self._kinds.items())
        self._is_empty = self._dates == [] or not has_a_day

    @property
    def row(self) -> range | None:
        """Years that all later ones are like (`twin`); None: the days end before there are any."""
        if self._dates is not None:
            return None
        start = (
            max(self._excluded, default=date.min).year + 2
        )  # a last 31 December ends in the next year of UTC
        return ROW if start <= ROW.start else range(start, min(start + CYCLE, MAXYEAR + 1))

    def allows(self, day: date) -> bool:
        """Whether a day is left."""
        if self._dates is not None:
            place = bisect_left(self._dates, day)
            return place < len(self._dates) and self._dates[place] == day
        return self._is_usual(day)

    def nearest(self, day: date, direction: Direction) -> date | None:
        """The nearest day that is left, from a day on, that day included; None: there is none."""
        if self._is_empty:
            return None
        if self._dates is None:
            return self._nearest_usual(day, direction)
        place = bisect_left(self._dates, day) if direction > 0 else bisect_right(self._dates, day) - 1
        return self._dates[place] if 0 <= place < len(self._dates) else None

    def _is_usual(self, day: date) -> bool:
        return day.month * 32 + day.day in self._kinds[year_kind(day.year)] and day not in self._excluded

    def _nearest_usual(self, day: date, direction: Direction) -> date | None:
        year, code = day.year, day.month * 32 + day.day
        while MINYEAR <= year <= MAXYEAR:
            for found in sorted(self._kinds[year_kind(year)])[::direction]:
                if (found - code) * direction >= 0:
                    candidate = date(year, found >> 5, found & 31)
                    if candidate not in self._excluded:
                        return candidate
            year, code = year + direction, 0 if direction > 0 else 13 * 32
        return None


def _days_of_kind(
    exclude: tuple[Calendar, ...],
    only: tuple[Calendar, ...],
    first_weekday: int,
    is_leap: bool,  # noqa: FBT001 - the kind of a year
) -> frozenset[int]:
    """The day codes that are left in a year of some kind, before dates are looked at."""
    left = set(_codes(_EVERY_DAY, first_weekday, is_leap))
    for one in only:
        if one.cron is not None:
            left &= _codes(_day_rule(one.cron), first_weekday, is_leap)
    for one in exclude:
        if one.cron is not None:
            left -= _codes(_day_rule(one.cron), first_weekday, is_leap)
    return frozenset(left)


_EVERY_DAY = _day_rule("* * * * *")


@lru_cache(maxsize=256)
def day_filter(rule: DayRule | None, exclude: tuple[Calendar, ...], only: tuple[Calendar, ...]) -> DayFilter:
    """The filter of these; equal ones share it."""
    return DayFilter(rule, exclude, only)
