"""The days of a cron rule, in words.

What is said is what the calendar makes of the fields: a day that none of the rule's months has, and a
month that has none of its days, are not mentioned. So rules that mean the same days get the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foliot.schedules.cron_syntax import CronFields
from foliot.schedules.field import DAY, MONTH, WEEKDAY, values
from foliot.schedules.nth_day import say_counted
from foliot.schedules.phrase import (
    FEW,
    MONTHS,
    SHORTEST_RUN,
    WEEKDAYS,
    is_run,
    listed,
    ordinal,
    runs,
    spelled,
    step_of,
)

MONTH_LENGTHS = dict(zip(values(MONTH.full), (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
_FEBRUARY, _LEAP_DAY = 2, 29
_WEEKDAYS, _WEEKEND = [1, 2, 3, 4, 5], [0, 6]


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """The days of a rule as the calendar has them.

    `dates` (days of the month) and `weekdays` are empty where all are allowed; if both are given, either
    may match, or both must; `counted` ones ("the last day") match beside them. `months` are those that have
    such a day, and `possible` those that could have.
    """

    either: bool
    dates: list[int]
    weekdays: list[int]
    months: list[int]
    possible: list[int]
    counted: list[str]

    @property
    def is_every_day(self) -> bool:
        """Whether no day of its months is left out."""
        return not self.dates and not self.weekdays and not self.counted


def days_of(fields: CronFields) -> Days:
    """What the day fields of a rule come to."""
    days, months, possible = values(fields.days & DAY.full), values(fields.months), values(MONTH.full)
    counted = say_counted(fields.days, fields.weekdays)
    if not fields.either_day and days:
        possible = [month for month in possible if days[0] <= MONTH_LENGTHS[month]]
        months = [month for month in months if month in possible]
    longest = max(MONTH_LENGTHS[month] for month in months)
    dates = [day for day in days if day <= longest]
    weekdays = values(fields.weekdays & WEEKDAY.full) if fields.weekdays != WEEKDAY.full else []
    if len(dates) == longest:
        dates, weekdays, counted = ([], [], []) if fields.either_day else ([], weekdays, counted)
    elif fields.either_day and fields.weekdays == WEEKDAY.full:
        dates, counted = [], []
    return Days(
        either=fields.either_day,
        dates=dates,
        weekdays=weekdays,
        months=months,
        possible=possible,
        counted=counted,
    )


def say_days(days: Days, *, is_all_day: bool = False) -> str:
    """On which days a rule fires; nothing if it is every day and that goes without saying."""
    every_day = "" if is_all_day else "every day"
    if days.is_every_day:
        return f"{every_day} {_in(days)}".strip()
    if days.counted:
        named = [f"the {ordinal(date)}" for date in days.dates] + days.counted
        said = f"on {listed(named)} of {_of(days)}"
        return (
            f"{said}, and also on {_on_each_weekday(days.weekdays)} {_in(days)}".strip()
            if days.weekdays
            else said
        )
    if not days.dates:
        return f"on {_on_weekdays(days.weekdays)} {_in(days)}".strip()
    dates = _on_dates(days)
    if is_run(days.dates):
        dates = f"{every_day} {dates}".strip()
    if not days.weekdays:
        return dates
    if not days.either:
        return f"{dates}, if that is {_a_weekday(days.weekdays)}"
    return f"{dates}, and also on {_on_each_weekday(days.weekdays)} {_in(days)}".strip()


def _in(days: Days) -> str:
    """The months, for what happens in them."""
    if days.months == days.possible:
        return ""
    if is_run(days.months):
        return f"from {_month(days.months[0])} to {_month(days.months[-1])}"
    return f"in {_of(days)}"


def _of(days: Days) -> str:
    """The months, for days that are part of them."""
    if days.months == days.possible:
        is_sometimes_missing = len(days.dates) == 1 and len(days.possible) < len(MONTHS)
        return "every month that has one" if is_sometimes_missing else "every month"
    if is_run(days.months):
        return f"every month from {_month(days.months[0])} to {_month(days.months[-1])}"
    if len(days.months) <= FEW:
        return listed([_month(month) for month in days.months])
    others = [month for month in days.possible if month not in days.months]
    return f"every month except {listed([_month(month) for month in others])}"


def _month(number: int) -> str:
    return MONTHS[number - 1]


def _on_dates(days: Days) -> str:
    """Days of the month: "on 1 January", "on the 1st and 15th of every month"."""
    dates = days.dates
    if len(days.months) == 1:
        month = _month(days.months[0])
        is_leap_day = dates == [_LEAP_DAY] and days.months == [_FEBRUARY]
        return f"{_row(dates, str)} {month}" + (" (leap years only)" if is_leap_day else "")
    return f"{_row(dates, ordinal, 'the ')} of {_of(days)}"


def _row(dates: list[int], say: Callable[[int], str], the: str = "") -> str:
    step = step_of(dates)
    between = f"from {the}{say(dates[0])} to {the}{say(dates[-1])}"
    if is_run(dates):
        return between
    if step and len(dates) > FEW:
        return f"on every {ordinal(step)} day {between}"
    return f"on {the}{spelled({date: say(date) for date in dates})}"


def _on_weekdays(weekdays: list[int]) -> str:
    if weekdays == _WEEKDAYS:
        return "weekdays"
    if weekdays == _WEEKEND:
        return "weekends"
    if run := _weekday_run(weekdays):
        return f"{WEEKDAYS[run[0]]}s to {WEEKDAYS[run[-1]]}s"
    return listed([f"{name}s" for name in _from_monday(weekdays)])


def _on_each_weekday(weekdays: list[int]) -> str:
    if weekdays == _WEEKDAYS:
        return "every weekday"
    if run := _weekday_run(weekdays):
        return f"every day from {WEEKDAYS[run[0]]} to {WEEKDAYS[run[-1]]}"
    return f"every {listed(_from_monday(weekdays))}"


def _a_weekday(weekdays: list[int]) -> str:
    if weekdays == _WEEKDAYS:
        return "a weekday"
    return f"a {listed(_from_monday(weekdays), 'or')}"


def _from_monday(weekdays: list[int]) -> list[str]:
    return [WEEKDAYS[day] for day in sorted(weekdays, key=lambda day: (day - 1) % 7)]


def _weekday_run(weekdays: list[int]) -> list[int] | None:
    """Weekdays in a row, across the end of the week if need be: Friday to Sunday."""
    parts = runs(weekdays)
    if len(parts) > 1 and parts[0][0] == WEEKDAY.low and parts[-1][-1] == WEEKDAY.high:
        parts[0] = parts.pop() + parts[0]
    return parts[0] if len(parts) == 1 and len(parts[0]) >= SHORTEST_RUN else None
