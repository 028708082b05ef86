"""The ledger of a job: the result of each past occurrence, and the planned ones."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from foliot.model.attempt import Attempt, Outcome
from foliot.model.splay import offset_of
from foliot.model.state import OVERLAP, Record, Skip
from foliot.protocols import JobView
from foliot.schedules.zone import load_zone
from foliot.why import Verdict, Why, explain
from foliot.why.past import Traces, attempts_for, skip_of


class Fate(StrEnum):
    """The result of an occurrence, or its plan."""

    RAN = "ran"
    COVERED = "covered"  # by the run of a later occurrence, which caught up several
    SKIPPED = "skipped"
    RUNS = "runs"
    WAITS = "waits"
    MISSED = "missed"  # it has come, and has neither a run nor a skip
    PLANNED = "planned"
    WILL_NOT = "will_not"
    UNKNOWN = "unknown"  # the job, or its history, does not go back so far


class Occurrence(NamedTuple):
    """One line of the ledger; `wall` is the same instant in the job's zone, `run` the run that served it."""

    at: datetime
    wall: datetime
    fate: Fate
    reason: str
    run: str | None = None
    outcome: Outcome | None = None


class Past:
    """What is stored of a job, read once for several questions about it: each needs a part of the same."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.now: datetime | None = None  # one for all questions
        self._read: tuple[datetime, Traces] | None = None

    def since(self, at: datetime) -> Traces | None:
        """What is known since a time; None: it is to be read."""
        return None if self._read is None or at < self._read[0] else self._read[1]

    def keep(self, at: datetime, traces: Traces) -> None:
        """Remember what was read."""
        self._read = at, traces


class Ledger(NamedTuple):
    """Occurrences in the order of time; `next`: where the next page begins, if there is one."""

    job: str
    occurrences: tuple[Occurrence, ...] = ()
    next: datetime | None = None


def tell_fates(
    record: Record, traces: Traces, instants: Iterable[datetime], now: datetime
) -> list[Occurrence]:
    """The results of these occurrences, in the order of time. `runs` has the newest first."""
    runs, skips, outages, _ = traces
    shown = list(instants)
    if not shown:
        return []
    # Leave out unrelated runs and skips first: there may be many thousands.
    skips = [skip for skip in skips if skip.last >= shown[0] and skip.first <= shown[-1]]
    view, schedule = JobView(record.job.key, record), record.job.schedule
    zone = load_zone(getattr(schedule, "timezone", None) or "UTC")
    own: dict[datetime, list[Attempt]] = defaultdict(list)
    for attempt in runs:
        if attempt.request is None:
            own[attempt.scheduled_for].append(attempt)
    covering = [
        attempt
        for attempt in runs
        if attempt.covers_from is not None
        and attempt.scheduled_for >= shown[0]
        and attempt.covers_from <= shown[-1]
    ]
    found = []
    for at in shown:
        near = own.get(at) or covering
        known: Sequence[Attempt] = near
        skip = skip_of(at, skips, schedule)
        if skip is not None and skip.reason == OVERLAP:  # one that began earlier was in its way
            earlier = bisect_left(runs, now - at, key=lambda attempt: now - attempt.scheduled_for)
            known = (*near, *runs[earlier:])
        why = explain(view, known, skips, kinds=None, now=now, at=at, outages=outages)
        served = attempts_for(at, near, schedule)
        last = served[0] if served else None
        fate = _fate(record, why, last, at, now)
        run, outcome = (None, None) if last is None else (last.run_key, last.outcome)
        found.append(Occurrence(at, at.astimezone(zone), fate, why.text, run, outcome))
    return found


def _fate(record: Record, why: Why, last: Attempt | None, at: datetime, now: datetime) -> Fate:
    fate = Fate.PLANNED if why.verdict is Verdict.WILL_RUN else Fate(why.verdict.value)
    if last is not None:
        return Fate.COVERED if fate is Fate.RAN and last.scheduled_for != at else fate
    start_at = at + offset_of(record.job)
    if fate is Fate.WAITS and now - start_at > record.job.policy.misfire.grace:
        return Fate.MISSED
    if fate is Fate.WILL_NOT and start_at <= now:
        paused_at = record.state.paused_at
        if paused_at is not None and paused_at <= at:  # the end of the pause writes the skip
            return Fate.SKIPPED
        return Fate.UNKNOWN if at < record.state.created_at else Fate.MISSED
    return fate


def known_instants(
    runs: Iterable[Attempt], skips: Iterable[Skip], first: datetime, last: datetime
) -> set[datetime]:
    """The instants with a run or a skip, also those of a former rule."""
    traced = {attempt.scheduled_for for attempt in runs if attempt.request is None}
    traced |= {at for skip in skips for at in (skip.first, skip.last)}
    return {at.astimezone(UTC) for at in traced if first <= at <= last}
