"""A job's future, step by step, by the planner's decisions: what starts, how long it takes, what is skipped.

    due ─▶ plan_due ─▶ starts ─▶ after its duration ─▶ plan_ended ─▶ released ─▶ due …

A plain loop of pure calls: no clock, no store. It is what happens without faults and with enough slots; a
simulation by the real engine must find the same (`foliot.simulate`). Where a run ends and an occurrence comes
at the same instant, the end is first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Attempt, AttemptState, Ending, Outcome, Trigger
from foliot.model.decision import Decision
from foliot.model.splay import offset_of
from foliot.model.state import Record, Skip, SkipCode

MOST_STEPS = 10_000
_ROOM = 500  # attempts that one claim may start, as in an engine
_NODE = "projection"
_NOTHING = timedelta(0)
_AGAIN = (Trigger.RETRY, Trigger.LOST)

Took = Callable[[Attempt], timedelta]


class Durations:
    """How long attempts take: one of the durations of their job, chosen by the run's key and a seed.

    The choice depends on nothing else, so every caller gets the same answer, in any order of calls.
    """

    def __init__(
        self, known: Mapping[str, Sequence[timedelta]], usual: timedelta = _NOTHING, seed: int = 0
    ) -> None:
        self._known, self._usual, self._seed = known, usual, seed

    def __call__(self, attempt: Attempt) -> timedelta:
        """How long an attempt takes, if nothing ends it earlier."""
        found = self._known.get(attempt.job)
        if not found:
            return self._usual
        name = f"{self._seed} {attempt.run_key} {attempt.number}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(blake2b(name, digest_size=8).digest())
        return found[number % len(found)]


class FutureRun(NamedTuple):
    """An attempt of the future. `due_at`: when it should start. `ended_at`: None if it still runs."""

    job: str
    run: str
    number: int
    trigger: Trigger
    due_at: datetime
    started_at: datetime
    ended_at: datetime | None = None
    outcome: Outcome | None = None

    @property
    def lateness(self) -> timedelta:
        """How long after its time it started."""
        return max(_NOTHING, self.started_at - self.due_at)


class Projection(NamedTuple):
    """The future of a job. `is_truncated`: the limit of steps ended it early."""

    runs: tuple[FutureRun, ...] = ()
    skips: tuple[Skip, ...] = ()
    steps: int = 0
    is_truncated: bool = False


def project(record: Record, took: Took, now: datetime, until: datetime, most: int = MOST_STEPS) -> Projection:
    """Step one record through the planner, from `now` to `until`. Running attempts end by their durations."""
    future = _Future(record, took, now)
    steps = 0
    while (at := future.next_at()) is not None and at <= until:
        if steps >= most:
            return future.projection(steps, is_truncated=True)
        steps += 1
        if not future.step(at):
            break
    return future.projection(steps, is_truncated=False)


class _Future:
    """The changing record, and the end times of its running attempts."""

    def __init__(self, record: Record, took: Took, now: datetime) -> None:
        self._record, self._took, self._now = record, took, now
        self._offset = offset_of(record.job)
        self._ends: list[tuple[datetime, int, Attempt, Outcome]] = []
        self._runs: dict[tuple[str, int], FutureRun] = {}
        self._skips: list[Skip] = []
        self._order = count()
        for attempt in record.attempts:
            if attempt.is_running:
                self._plan_end(attempt, attempt.claimed_at or now)

    def next_at(self) -> datetime | None:
        """When something happens next."""
        times = [self._ends[0][0]] if self._ends else []
        if self._record.state.wake_at is not None:
            times.append(self._record.state.wake_at)
        return max(self._now, min(times)) if times else None

    def step(self, at: datetime) -> bool:
        """Take the next step. False if nothing will ever happen again."""
        self._now = at
        if self._ends and self._ends[0][0] <= at:
            self._end(at)
            return True
        decision = plan_due(self._record, at, _NODE, _ROOM)
        if decision.is_nothing(self._record):
            return False
        self._apply(decision)
        return not decision.remove

    def _end(self, at: datetime) -> None:
        end_at, _, attempt, outcome = heappop(self._ends)
        held = {one.key: one for one in self._record.attempts}
        if (found := held.get(attempt.key)) is None or not found.is_running:
            return
        error = None if outcome is Outcome.SUCCEEDED else outcome.value
        ending = Ending(
            found.job, found.run_key, found.number, found.token, outcome, found.claimed_at, end_at, error
        )
        if found.key in self._runs:
            self._runs[found.key] = self._runs[found.key]._replace(ended_at=at, outcome=outcome)
        self._apply(plan_ended(self._record, [ending], at))

    def _apply(self, decision: Decision) -> None:
        before = {attempt.key: attempt for attempt in self._record.attempts}
        after = before | {attempt.key: attempt for attempt in decision.attempts}
        for attempt in decision.attempts:
            was_running = attempt.key in before and before[attempt.key].is_running
            if attempt.state is AttemptState.RUNNING and not was_running:
                self._begin(attempt)
            elif attempt.state is AttemptState.CANCELLING:
                heappush(self._ends, (self._now, next(self._order), attempt, Outcome.CANCELLED))
        self._skips += decision.skips
        still_open = tuple(attempt for attempt in after.values() if attempt.is_open)
        self._record = self._record._replace(state=decision.state, attempts=still_open)

    def _begin(self, attempt: Attempt) -> None:
        due_at = attempt.scheduled_for + self._offset
        if attempt.trigger in _AGAIN:
            due_at = self._now
        self._runs[attempt.key] = FutureRun(
            attempt.job, attempt.run_key, attempt.number, attempt.trigger, due_at, self._now
        )
        self._plan_end(attempt, self._now)

    def _plan_end(self, attempt: Attempt, start: datetime) -> None:
        took, timeout = self._took(attempt), self._record.job.policy.timeout
        outcome = Outcome.SUCCEEDED
        if timeout is not None and took > timeout:
            took, outcome = timeout, Outcome.TIMED_OUT
        heappush(self._ends, (max(self._now, start + took), next(self._order), attempt, outcome))

    def projection(self, steps: int, *, is_truncated: bool) -> Projection:
        """The result up to now."""
        return Projection(tuple(self._runs.values()), tuple(self._skips), steps, is_truncated)


def overlaps_in(record: Record, runs: Sequence[FutureRun], skips: Sequence[Skip]) -> int:
    """How many occurrences came while a run was open: they were skipped, waited, or ran beside it."""
    job = record.job
    skipped = sum(
        job.schedule.count(skip.first, skip.last) for skip in skips if skip.code is SkipCode.OVERLAP
    )
    ordered, met = sorted(runs, key=lambda run: (run.started_at, run.run)), 0
    open_until: datetime | None = None
    for run in ordered:
        is_new = run.trigger not in _AGAIN
        met += run.outcome is Outcome.CANCELLED or bool(is_new and open_until and run.due_at < open_until)
        if run.ended_at is not None:
            open_until = run.ended_at if open_until is None else max(open_until, run.ended_at)
    return skipped + met
