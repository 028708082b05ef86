"""The runs that a record has ahead of it, and how those of two records differ.

A run is identified by its start: the occurrence plus the job's splay. Runs of both sides are kept. The rest
is paired, in order, within each local day. A run without a partner is added or removed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import zip_longest
from typing import NamedTuple

from foliot.engine.calendar import next_occurrence
from foliot.engine.change.effort import WALK, Effort
from foliot.engine.change.model import Difference, Moved, RunChange
from foliot.model.job import Job
from foliot.model.splay import offset_of
from foliot.model.state import Record
from foliot.schedules.zone import load_zone

MOST_COMPARED = 50_000  # runs of each side of a job: one each minute of a month
MOST_WALKED = 500_000  # runs of all jobs
LEAST_COMPARED = 50
_SAMPLE = 20
_TICK = timedelta(microseconds=1)


class Starts(NamedTuple):
    """The starts of runs in order, and their number. `until`: later runs are only counted."""

    times: list[datetime]
    total: int
    until: datetime | None = None


NO_STARTS = Starts([], 0)


class Walker:
    """Lists the runs of records up to an instant. Equal records share a list; all lists share a bound."""

    def __init__(self, until: datetime, effort: Effort | None = None) -> None:
        self._until, self._effort = until, effort or Effort()
        self._left = MOST_WALKED
        self._known: dict[object, Starts] = {}
        self._compared: dict[tuple[int, int, str], Comparison] = {}

    def starts(self, record: Record | None) -> Starts:
        """The coming runs of a record, including those that are due."""
        if record is None or not is_live(record) or record.state.next_at is None:
            return NO_STARTS
        job, first, offset = record.job, record.state.next_at, offset_of(record.job)
        key = (job.schedule, job.repeat_until, first, offset)
        if key not in self._known:
            self._known[key] = self._walk(job, first, offset)
        return self._known[key]

    def _walk(self, job: Job, first: datetime, offset: timedelta) -> Starts:
        most = max(LEAST_COMPARED, min(MOST_COMPARED, self._left, self._effort.left))
        last = self._until - offset
        times: list[datetime] = []
        at: datetime | None = first
        while at is not None and at <= last and len(times) < most:
            times.append(at + offset)
            at = next_occurrence(job, at)
        self._left -= len(times)
        self._effort.take(WALK + len(times))
        if at is None or at > last:
            return Starts(times, len(times))
        return Starts(times, occurrences_in(job, first, last), times[-1])

    def compare(self, before: Starts, after: Starts, zone: str) -> Comparison:
        """Compare two lists of this walker: once, however many jobs share them."""
        key = (id(before), id(after), zone)  # both live as long as `_known`
        if key not in self._compared:
            self._effort.take(len(before.times) + len(after.times))
            self._compared[key] = compare(before, after, zone)
        return self._compared[key]


def is_live(record: Record) -> bool:
    """Whether the occurrences of a job run: it is declared, enabled, and not paused."""
    state = record.state
    return record.job.enabled and state.paused_at is None and state.removed_at is None


def occurrences_in(job: Job, first: datetime, last: datetime) -> int:
    """How many occurrences a job has between two instants, both included, without listing them."""
    last = last if job.repeat_until is None else min(last, job.repeat_until)
    return job.schedule.count(first, last) if first <= last else 0


class Comparison(NamedTuple):
    """How the runs of two sides differ."""

    runs: RunChange
    first: Difference | None
    sample: tuple[Difference, ...]


def compare(before: Starts, after: Starts, zone: str) -> Comparison:
    """Compare the runs of two sides; days are those of a zone."""
    ends = [side.until for side in (before, after) if side.until is not None]
    until = min(ends, default=None)
    old, new = (_up_to(side.times, until) for side in (before, after))
    if old == new:
        return Comparison(RunChange(before.total, after.total, len(old), compared_until=until), None, ())
    old_set, new_set = set(old), set(new)
    gone, come = [at for at in old if at not in new_set], [at for at in new if at not in old_set]
    moved, removed, added = _pair(gone, come, zone)
    shifts = {one.shift for one in moved}
    runs = RunChange(
        before.total, after.total, len(old) - len(gone), len(added), len(removed), len(moved),
        shifts.pop() if len(shifts) == 1 else None, until,
    )  # fmt: skip
    pairs = zip_longest(old, new)
    first = next((Difference(a, b) for a, b in pairs if a != b), None)
    told = [Difference(*one) for one in moved]
    told += [Difference(at, None) for at in removed] + [Difference(None, at) for at in added]
    told.sort(key=lambda one: min(at for at in one if at is not None))
    return Comparison(runs, first, tuple(told[:_SAMPLE]))


def _up_to(times: list[datetime], until: datetime | None) -> list[datetime]:
    return times if until is None else [at for at in times if at <= until]


def _pair(
    gone: Sequence[datetime], come: Sequence[datetime], zone: str
) -> tuple[list[Moved], list[datetime], list[datetime]]:
    """Pair runs within each day; or all in order, if then each moves by the same, smaller duration."""
    moved, removed, added = _pair_days(gone, come, zone)
    if gone and len(gone) == len(come):
        in_order = [Moved(*pair) for pair in zip(gone, come, strict=True)]
        shifts, largest = (
            {one.shift for one in in_order},
            max((abs(one.shift) for one in moved), default=None),
        )
        if len(shifts) == 1 and (largest is None or abs(in_order[0].shift) < largest):
            return in_order, [], []
    return moved, removed, added


def _pair_days(
    gone: Sequence[datetime], come: Sequence[datetime], zone: str
) -> tuple[list[Moved], list[datetime], list[datetime]]:
    clock = load_zone(zone)
    days: dict[date, tuple[list[datetime], list[datetime]]] = defaultdict(lambda: ([], []))
    for side, times in enumerate((gone, come)):
        for at in times:
            days[at.astimezone(clock).date()][side].append(at)
    moved: list[Moved] = []
    removed: list[datetime] = []
    added: list[datetime] = []
    for day in sorted(days):
        old, new = days[day]
        moved += (Moved(*pair) for pair in zip(old, new, strict=False))
        removed += old[len(new) :]
        added += new[len(old) :]
    return moved, removed, added
