"""The busiest minutes of all jobs of a source, before and after.

If a rule has few starts, each start is read. If it has many, they are counted for each hour, and read in the
busiest hours only. Jobs with the same rule count as one: ten thousand jobs of a hundred rules cost as much as
a hundred jobs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from foliot.engine.calendar import next_occurrence
from foliot.engine.change.effort import COUNT, Effort
from foliot.engine.change.model import BusyMinute, Code, HerdChange, PlanEffect, warning
from foliot.engine.change.runs import occurrences_in
from foliot.engine.change.words import moment
from foliot.model.job import Job
from foliot.model.splay import offset_of

_LONGEST = timedelta(days=7)
_HOUR, _MINUTE, _TICK = timedelta(hours=1), timedelta(minutes=1), timedelta(microseconds=1)
_HOURS = 3  # of each side: the busiest hours, whose minutes are read
_TOP = 5
_SPARSE = 200  # a rule with fewer starts is read start by start
_MOST_COUNTED = 20_000  # dense rules times hours
_MOST_IN_HOUR = 3600
_HERD, _GROWTH = 50, 1.5  # at least 50 starts, and 1.5 times as many as before, cause a warning


Minutes = defaultdict[datetime, list[int]]  # how many runs start, before and after


class Rule(NamedTuple):
    """The start times that several jobs share."""

    job: Job  # one of them
    offset: timedelta

    def key(self) -> object:
        """A key that is equal for equal rules."""
        return self.job.schedule, self.job.repeat_until, self.offset


def find_herd(  # noqa: PLR0913, PLR0917 - both sides, the time, and what may be spent
    before: Iterable[Job],
    after: Iterable[Job],
    now: datetime,
    until: datetime,
    slots: int | None,
    effort: Effort | None = None,
) -> HerdChange | None:
    """The busiest minutes before and after, a week ahead at most. None if that costs too much."""
    until, effort = min(until, now + _LONGEST), effort or Effort()
    rules, counts = _rules_of(before, after)
    effort.take(COUNT * len(rules))
    if effort.is_spent:
        return None
    totals = {key: _count(rule, now, until) for key, rule in rules.items()}
    dense = [key for key, total in totals.items() if total > _SPARSE]
    effort.take(sum(min(total, _SPARSE) for total in totals.values()))
    if dense:
        closely = sum(min(_MOST_IN_HOUR, _count(rules[key], now, now + _HOUR)) for key in dense)
        effort.take(closely * 2 * _HOURS)
        counted = min(_MOST_COUNTED, max(0, effort.left) // COUNT)
        until = min(until, now + _HOUR * max(1, counted // len(dense)))
        effort.take(COUNT * len(dense) * ((until - now) // _HOUR))
    if effort.left <= 0:
        return None
    minutes: Minutes = defaultdict(lambda: [0, 0])
    for key, rule in rules.items():
        if 0 < totals[key] <= _SPARSE:
            _add(minutes, _minutes(rule, now, until), counts[0][key], counts[1][key])
    weighted = [(rules[key], counts[0][key], counts[1][key]) for key in dense]
    for first, last in _busy_hours(minutes, weighted, now, until):
        for rule, old, new in weighted:
            _add(minutes, _minutes(rule, first, last), old, new)
    top = sorted(minutes.items(), key=lambda one: (-max(one[1]), one[0]))[:_TOP]
    old, new = (max((found[side] for found in minutes.values()), default=0) for side in (0, 1))
    return HerdChange(old, new, tuple(BusyMinute(at, *found) for at, found in top), slots, until)


def _add(minutes: Minutes, found: Counter[datetime], before: int, after: int) -> None:
    for at, number in found.items():
        both = minutes[at]
        both[0] += number * before
        both[1] += number * after


def _busy_hours(
    minutes: Minutes, dense: Sequence[tuple[Rule, int, int]], now: datetime, until: datetime
) -> list[tuple[datetime, datetime]]:
    """The hours with the most starts, before or after. Dense rules are read only in these hours."""
    if not dense:
        return []
    begin = now.replace(minute=0, second=0, microsecond=0)
    starts: Minutes = defaultdict(lambda: [0, 0])
    for at, (old, new) in minutes.items():
        both = starts[at.replace(minute=0)]
        both[0], both[1] = both[0] + old, both[1] + new
    hours = [begin + _HOUR * n for n in range(-(-(until - begin) // _HOUR))]
    for hour in hours:
        for rule, old, new in dense:
            found = _count(rule, max(now, hour), min(until, hour + _HOUR - _TICK))
            both = starts[hour]
            both[0], both[1] = both[0] + found * old, both[1] + found * new
    busy = {hour for side in (0, 1) for hour in _largest(starts, hours, side)}
    return [(max(now, hour), min(until, hour + _HOUR - _TICK)) for hour in sorted(busy)]


def _largest(starts: Minutes, hours: list[datetime], side: int) -> list[datetime]:
    return sorted(hours, key=lambda hour: -starts[hour][side])[:_HOURS]


def _rules_of(
    before: Iterable[Job], after: Iterable[Job]
) -> tuple[dict[object, Rule], tuple[Counter[object], Counter[object]]]:
    rules: dict[object, Rule] = {}
    counts = (Counter[object](), Counter[object]())
    for side, jobs in enumerate((before, after)):
        for job in jobs:
            rule = Rule(job, offset_of(job))
            key = rule.key()
            rules.setdefault(key, rule)
            counts[side][key] += 1
    return rules, counts


def _count(rule: Rule, first: datetime, last: datetime) -> int:
    return occurrences_in(rule.job, first - rule.offset, last - rule.offset)


def _minutes(rule: Rule, first: datetime, last: datetime) -> Counter[datetime]:
    found = Counter[datetime]()
    if not _count(rule, first, last):
        return found
    at = next_occurrence(rule.job, first - rule.offset - _TICK)
    while at is not None and at + rule.offset <= last and found.total() < _MOST_IN_HOUR:
        start = (at + rule.offset).astimezone(UTC)
        found[start.replace(second=0, microsecond=0)] += 1
        at = next_occurrence(rule.job, at)
    return found


def herd_effects(herd: HerdChange, zone: str) -> tuple[PlanEffect, ...]:
    """A warning if more runs start at once than before, and more than there are slots."""
    before, after, top, slots, _ = herd
    is_too_much = after > slots if slots is not None else after >= max(_HERD, before * _GROWTH)
    if not top or after <= before or not is_too_much:
        return ()
    at = max(top, key=lambda minute: minute.after).at
    room = "" if slots is None else f", and there are {slots:,} slots"
    text = f"{after:,} runs start in the minute {moment(at, zone)}, {before:,} at most before{room}"
    return (warning(Code.HERD, text, at),)
