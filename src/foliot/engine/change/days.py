"""Surprises around the time of a change: a day with two runs, a day without one, a long gap.

30 1 * * *  →  0 23 * * *   at noon: it has run at 01:30, and runs at 23:00 again
0 23 * * *  →  30 1 * * *   at noon: 01:30 is over, and 23:00 is no more
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import NamedTuple

from foliot.engine.calendar import last_occurrence
from foliot.engine.change.model import Code, PlanEffect, note, warning
from foliot.engine.change.runs import Starts, is_live, occurrences_in
from foliot.engine.change.words import clock_time, moment, span
from foliot.model.splay import offset_of
from foliot.model.state import Record
from foliot.schedules.zone import load_zone

_TICK = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_NAMES = ("today", "tomorrow")
_TWO = 2


class _Day(NamedTuple):
    """A day of a zone, in UTC: from its first instant to its last."""

    name: str
    first: datetime
    last: datetime


def day_effects(
    before: Record, after: Record, starts: Starts, now: datetime, zone: str
) -> Iterator[PlanEffect]:
    """Warnings about the day of the change and the day after, if each rule alone would run on it."""
    if not (is_live(before) and is_live(after)):
        return
    offset, served = offset_of(after.job), _served(before, now)
    for day in _days(now, zone):
        # A job that is declared today has missed nothing of the hours before.
        existed = max(day.first, before.state.created_at)
        by_old, by_new = (
            occurrences_in(before.job, existed, day.last), occurrences_in(after.job, day.first, day.last)
        )  # fmt: skip
        coming = _within(starts.times, day, offset)
        past = [served] if served is not None and day.first <= served <= day.last else []
        if by_old == 1 and by_new == 1:
            ran = past + coming
            if len(ran) == _TWO and ran[0] != ran[1]:
                told = [clock_time(at, zone) + (" (past)" if at <= now else "") for at in ran]
                yield warning(Code.TWICE_A_DAY, f"{day.name} has two runs: {told[0]} and {told[1]}", ran[1])
        if by_old and by_new and not past and not coming:
            lost = last_occurrence(after.job, day.last)
            told_time = f": {clock_time(lost, zone)} is over by then" if lost and lost <= now else ""
            yield warning(Code.DAY_WITHOUT_RUN, f"{day.name} has no run{told_time}", day.first)


def _within(times: list[datetime], day: _Day, offset: timedelta) -> list[datetime]:
    """The first starts of a day, two at most."""
    place = bisect_left(times, day.first + offset)
    return [at - offset for at in times[place : place + _TWO] if at - offset <= day.last]


def _days(now: datetime, zone: str) -> Iterator[_Day]:
    clock = load_zone(zone)
    today = now.astimezone(clock).date()
    for number, name in enumerate(_NAMES):
        first, after = (
            datetime.combine(today + _DAY * n, time.min, clock).astimezone(UTC) for n in (number, number + 1)
        )
        yield _Day(name, first, after - _TICK)


def _served(record: Record, now: datetime) -> datetime | None:
    """The last occurrence that a job has served."""
    until = record.state.served_until
    found = None if until is None else last_occurrence(record.job, min(until, now))
    return found if found is not None and found >= record.state.created_at else None


def gap_effects(
    before: Record, old: Sequence[datetime], new: Sequence[datetime], now: datetime, zone: str
) -> Iterator[PlanEffect]:
    """A warning if the longest time without a run grows. It counts from the last served occurrence."""
    served = _served(before, now)
    past = [] if served is None else [served + offset_of(before.job)]
    was, becomes = _longest([*past, *old]), _longest([*past, *new])
    if becomes is None or was is None or becomes[0] <= was[0]:
        return
    gap, begin, end = becomes
    usual = _longest(new)
    is_once = begin <= now and (usual is None or usual[0] < gap)
    text = (
        f"the longest time without a run grows from {span(was[0])} to {span(gap)}: "
        f"{moment(begin, zone)} to {moment(end, zone)}"
    )
    yield (warning if is_once else note)(Code.LONGEST_GAP, text, begin)


def _longest(times: Sequence[datetime]) -> tuple[timedelta, datetime, datetime] | None:
    gaps = ((later - earlier, earlier, later) for earlier, later in pairwise(times))
    return max(gaps, key=lambda gap: gap[0], default=None)
