"""What a person should know about a schedule before relying on it.

Nothing here is an error: every rule that can be built is allowed. A *warning* is about what surprises most
people, a *note* about what is as it should be but easily overlooked.

    never-again   warning   it has no occurrence left
    past          warning   its only instant is over
    dst-gap       warning   times that the zone's clocks leave out: it does not run then
    dst-overlap   warning   times that come twice: it runs twice
    either-day    warning   both day fields are restricted, and either may match
    short-month   note      some of its months lack its days
    rare          note      more than a year lies between two runs
    both-days     note      in the dialect vixie a day field that begins with * must match beside the other
    uneven-step   note      a step such as */7 that does not come round evenly
    calendar-ends           a calendar has no day left (warning), or will have none soon (note)

A gap or an overlap is only a note if the rule keeps its rhythm in elapsed time: every 5 minutes stays
every 5 minutes, whatever the clocks show. It is a note, too, if the rule's `dst` settles it; but if a rhythm
pauses for that, as under systemd, it is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import pairwise, product
from typing import Literal

from foliot.errors import InvalidScheduleError
from foliot.schedules.cron import Cron
from foliot.schedules.cron_syntax import CronFields
from foliot.schedules.explain import explain
from foliot.schedules.explain_day import MONTH_LENGTHS, days_of, say_days
from foliot.schedules.field import DAY, FIELDS, HOUR, MINUTE, SECOND, WEEKDAY, Field, values
from foliot.schedules.never import Never
from foliot.schedules.on_days import OnDays
from foliot.schedules.once import Once
from foliot.schedules.phrase import (
    MONTHS,
    counted,
    in_units,
    listed,
    ordinal,
    place,
    say_date,
    say_time,
    step_of,
)
from foliot.schedules.schedule import Schedule, check_aware
from foliot.schedules.shift import Shift, shifts
from foliot.schedules.zone import Change

MOST_LISTED = 50
_FEBRUARY, _LEAP_DAY = 2, 29
_LONGEST_YEAR = 366
_SHORTEST_STEPS = 3
_MOST_YEARS = 100
_SECOND = timedelta(seconds=1)
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_SOON = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth knowing about a schedule.

    `times` holds those it speaks of, or the first of them: naive wall times for `dst-gap` and
    `dst-overlap` (what the clocks leave out is no instant), instants for the others.
    """

    code: str
    severity: Literal["warning", "note"]
    message: str
    times: tuple[datetime, ...] = ()


def lint(schedule: Schedule, after: datetime, *, years: int = 5) -> list[Finding]:
    """What to know about a schedule from an instant on, the most important first.

    `years` is how far to look ahead for changes of the clocks.
    """
    check_aware(after)
    findings = _findings(schedule, after, _checked_years(years))
    return sorted(findings, key=lambda finding: finding.severity != "warning")


def _checked_years(years: object) -> int:
    if isinstance(years, int) and 0 <= years <= _MOST_YEARS:
        return years
    raise InvalidScheduleError("years", years, f"must be a whole number from 0 to {_MOST_YEARS}")


def _findings(schedule: Schedule, after: datetime, years: int) -> Iterator[Finding]:
    if isinstance(schedule, Never):
        return
    coming = schedule.upcoming(after, 2)
    if isinstance(schedule, OnDays):
        yield from _calendar_ends(schedule, after)
        schedule = schedule.rule
    fields = schedule.fields if isinstance(schedule, Cron) else None
    if not coming:
        yield _over(schedule, after)
    if isinstance(schedule, Cron):
        yield from _clock_changes(schedule, after, years)
    if isinstance(schedule, Cron) and fields:
        yield from _wide_steps(schedule)
    if fields:
        yield from _either_day(fields)
        yield from _both_days(schedule)
        yield from _short_month(fields)
    if not isinstance(schedule, Once):
        yield from _rare(after, coming)
    if fields:
        yield from _uneven_steps(fields)


def _calendar_ends(schedule: OnDays, after: datetime) -> Iterator[Finding]:
    """Calendars of dates: a person must add the dates of the next years."""
    for one in (*schedule.exclude, *schedule.only):
        if one.dates and one.dates[-1] < (after + _SOON).date():
            is_over = one.dates[-1] < after.date()
            message = f"the calendar {one.name} has no day after {one.dates[-1]}: add the next ones"
            yield Finding(code="calendar-ends", severity="warning" if is_over else "note", message=message)


def _wide_steps(rule: Cron) -> Iterator[Finding]:
    """A step beyond the end of its field: `*/90` in minutes is not every ninety minutes."""
    words = [word for word in rule.expression.split() if "TZ=" not in word]
    for field, word in zip(FIELDS[-len(words) :], words, strict=False):
        for item in word.split(","):
            _, slash, step = item.partition("/")
            if slash and int(step) > field.high - field.low:
                message = (
                    f"a step of {step} does not fit into its {field.name} field ({field.low}-{field.high}): "
                    f"{item} is only its first value"
                )
                yield Finding(code="wide-step", severity="warning", message=message)


def _over(schedule: Schedule, after: datetime) -> Finding:
    if isinstance(schedule, Once):
        message = f"its only time is past: {explain(schedule).removeprefix('once, ')}"
        return Finding(code="past", severity="warning", message=message, times=(schedule.at,))
    message = f"it never runs again after {say_date(after)}"
    return Finding(code="never-again", severity="warning", message=message)


def _clock_changes(rule: Cron, after: datetime, years: int) -> Iterator[Finding]:
    found = list(shifts(rule, after, years=years, most=MOST_LISTED))
    for kind in product((True, False), (False, True), (False, True)):
        group = [
            shift for shift in found if (shift.change.is_gap, shift.keeps_rhythm, shift.is_settled) == kind
        ]
        if group:
            yield _clock_change(rule, group, years)


def _clock_change(rule: Cron, group: list[Shift], years: int) -> Finding:
    """One finding for all changes that do the same to a rule; it names the first."""
    change, wall, is_settled = group[0].change, group[0].walls[0], group[0].is_settled
    at, on, where = say_time(wall.time()), say_date(wall), place(rule.timezone)
    total = sum(shift.count for shift in group)
    if change.is_gap:
        late = f"it will run at {say_time(change.wall_end.time())} instead, by dst={rule.dst}"
        fact = f"{at} on {on} does not exist in {where}"
        effect = late if is_settled else f"it will not run {_then(rule)}"
    else:
        fact = f"{at} comes twice on {on} in {where}"
        effect = f"it will run the first time only, by dst={rule.dst}" if is_settled else "it will run twice"
    pauses = is_settled and not change.is_gap and group[0].keeps_rhythm
    keeps_rhythm = group[0].keeps_rhythm and not pauses
    effect += f", and pause for {in_units(change.length // _SECOND)}" if pauses else ""
    message = f"{fact} ({_say_change(change, wall)})" + (
        ", but the rhythm in elapsed time stays the same" if keeps_rhythm else f": {effect}"
    )
    if total > 1:
        message += f"; {total} such times in the next {'year' if years == 1 else f'{years} years'}"
    return Finding(
        code="dst-gap" if change.is_gap else "dst-overlap",
        severity="note" if keeps_rhythm or (is_settled and not pauses) else "warning",
        message=message,
        times=tuple(wall for shift in group for wall in shift.walls)[:MOST_LISTED],
    )


def _then(rule: Cron) -> str:
    fields = rule.fields
    is_daily = fields and all(
        mask.bit_count() == 1 for mask in (fields.seconds, fields.minutes, fields.hours)
    )
    return "that day" if is_daily else "then"


def _say_change(change: Change, wall: datetime) -> str:
    """What the clocks do, and when: "the clocks go back at 03:00"."""
    length = abs(change.after - change.before)
    by = "" if length == _HOUR else f" by {in_units(length // _SECOND)}"
    moved = change.wall_start if change.is_gap else change.wall_end
    at = say_time(moved.time())
    if moved.date() == wall.date() + _DAY and moved.time() == time.min:
        at = "24:00"
    elif moved.date() != wall.date():
        at += f" on {say_date(moved)}"
    return f"the clocks go {'forward' if change.is_gap else 'back'}{by} at {at}"


def _either_day(fields: CronFields) -> Iterator[Finding]:
    if not fields.either_day:
        return
    days = days_of(fields)
    message = f"both day fields are restricted, so a day matches if either does: it runs {say_days(days)}"
    if days.dates and days.weekdays:
        message += (
            "; only dialect='celery' asks for both at once: choose it, or write * in one of the two fields"
            " and check the other condition in the job"
        )
    yield Finding(code="either-day", severity="warning", message=message)


def _both_days(rule: Schedule) -> Iterator[Finding]:
    """Days that must match both fields, because one of them begins with `*`."""
    if not isinstance(rule, Cron) or rule.fields is None or rule.dialect != "vixie" or rule.fields.either_day:
        return
    days = days_of(rule.fields)
    if days.dates and days.weekdays:
        message = f"a day field begins with *, so both must match, as in cron: it runs {say_days(days)}"
        yield Finding(code="both-days", severity="note", message=message)


def _short_month(fields: CronFields) -> Iterator[Finding]:
    day, months = values(fields.days)[0], values(fields.months)
    if fields.either_day or day < _LEAP_DAY or day > DAY.high:
        return
    lacking = [month for month in months if MONTH_LENGTHS[month] < day]
    message = None
    if lacking:
        names = listed([MONTHS[month - 1] for month in lacking])
        has, are = ("has", "it is") if len(lacking) == 1 else ("have", "they are")
        left = counted(len(months) - len(lacking), "month")
        message = f"{names} {has} no {ordinal(day)}: {are} skipped, and it runs in {left} of the year only"
    elif day == _LEAP_DAY and _FEBRUARY in months and len(months) > 1:
        message = "February has a 29th in leap years only: it is skipped in all others"
    if message:
        yield Finding(code="short-month", severity="note", message=message)


def _rare(after: datetime, coming: list[datetime]) -> Iterator[Finding]:
    # Two instants of one zone differ by wall time, so a change of the clocks makes no year longer.
    waits = [later - earlier for earlier, later in pairwise([after, *coming])]
    if any(wait.days > _LONGEST_YEAR for wait in waits):
        message = f"it runs rarely: next on {listed([say_date(at) for at in coming])}"
        yield Finding(code="rare", severity="note", message=message, times=tuple(coming))


def _uneven_steps(fields: CronFields) -> Iterator[Finding]:
    """Steps that end short of the hour, say, in a rule that goes on in the next hour."""
    day_field, days = (WEEKDAY, fields.weekdays) if fields.days == DAY.full else (DAY, fields.days)
    dials = (
        (SECOND, fields.seconds, "a minute", _has_neighbours(MINUTE, fields.minutes)),
        (MINUTE, fields.minutes, "an hour", _has_neighbours(HOUR, fields.hours)),
        (HOUR, fields.hours, "a day", fields.either_day or _has_neighbours(day_field, days & day_field.full)),
    )
    for field, mask, cycle, goes_on in dials:
        numbers, size, unit = values(mask), field.high + 1, field.name
        step = step_of(numbers) or 1
        is_step = len(numbers) >= _SHORTEST_STEPS and numbers == list(range(0, size, step))
        if goes_on and is_step and size % step:
            message = (
                f"a step of {step} {unit}s does not divide {cycle}: after {unit} {numbers[-1]}"
                f" it starts again at {unit} 0, {counted(size - numbers[-1], unit)} later"
            )
            yield Finding(code="uneven-step", severity="note", message=message)


def _has_neighbours(field: Field, mask: int) -> bool:
    """Whether any two values follow each other; the first follows the last."""
    return bool(mask & (mask << 1 | mask >> field.high << field.low))
