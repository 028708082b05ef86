"""Jobs to test with, and decide functions so small that a failure can only be the store's.

The planner is one way to decide; a store must keep its contract with any. These start, end and lose
attempts and do nothing else, so most cases do not depend on what the planner thinks of grace or overlap.
All are pure: a store may ask again.
"""

# ruff: noqa: S101 - part of a test suite: it asserts, and pytest shows what was wrong

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from foliot.model.attempt import Attempt, AttemptState, Ending, Outcome, Trigger
from foliot.model.decision import Decision, Event, Happening
from foliot.model.job import Action, Job
from foliot.model.state import Record, State
from foliot.protocols import DecideCommand, DecideDeclared, DecideDue, DecideRemoved
from foliot.schedules import Every

SOURCE = "contract"
TICK = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def a_job(name: str = "job", **facts: Any) -> Job:
    """A job, with the facts that a case is about."""
    usual: dict[str, Any] = {
        "source": SOURCE,
        "name": name,
        "schedule": Every(HOUR),
        "action": Action(kind="test"),
    }
    return Job(**(usual | facts))


def some_jobs(count: int, **facts: Any) -> tuple[Job, ...]:
    """Jobs whose keys are in the order of their numbers."""
    return tuple(a_job(f"job-{number:04}", **facts) for number in range(count))


def keys_of(jobs: Iterable[Job]) -> list[str]:
    """Their keys, in order."""
    return sorted(job.key for job in jobs)


# -- when a claim looks ----------------------------------------------------------------------------


def start_due(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
    """Start the first pending attempt, or else a run for the time the job woke; then it sleeps."""
    if most < 1:
        return Decision(record.state)
    pending = [a for a in record.attempts if a.state is AttemptState.PENDING]
    return _started(record, now, node, pending[0] if pending else None, None)


def start_each_minute(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
    """Start a run for the time the job woke; it wakes again a minute after that."""
    if most < 1:
        return Decision(record.state)
    assert record.state.wake_at is not None
    return _started(record, now, node, None, record.state.wake_at + MINUTE)


def _started(
    record: Record, now: datetime, node: str, pending: Attempt | None, wake_at: datetime | None
) -> Decision:
    job, state, _ = record
    due_at = state.wake_at
    assert due_at is not None, "a claim asks about jobs that are due only"
    assert due_at <= now, "a claim asks about jobs that are due only"
    fresh = Attempt(job.key, 1, Trigger.SCHEDULE, AttemptState.PENDING, due_at, reason="due")
    started = (pending or fresh)._replace(
        state=AttemptState.RUNNING, wake_at=None, node=node, token=state.token + 1, claimed_at=now
    )
    changed = state._replace(
        token=state.token + 1,
        wake_at=wake_at,
        fired_count=state.fired_count + 1,
        last_attempt_at=now,
        last_run=started.run_key,
    )
    return Decision(changed, (started,), events=(_event(Happening.STARTED, started, now),))


def let_pass(record: Record, now: datetime, node: str, most: int = 1) -> Decision:  # noqa: ARG001 - one of the due kind
    """Start nothing; the job sleeps."""
    return Decision(record.state._replace(token=record.state.token + 1, wake_at=None))


def pass_over(record: Record, now: datetime, node: str, most: int = 1) -> Decision:  # noqa: ARG001 - one of the due kind
    """Leave the job to others."""
    return Decision(record.state)


def fitting(fits: Callable[[str], bool], decide: DecideDue = start_due) -> DecideDue:
    """Decide so about the jobs whose keys fit, and pass over the others."""

    def decide_if_it_fits(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
        return (decide if fits(record.job.key) else pass_over)(record, now, node, most)

    return decide_if_it_fits


def start_own(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
    """Start a run if the job is one of the node's own; each of four nodes has a quarter of them."""
    return (start_due if is_own(record.job.key, node) else pass_over)(record, now, node, most)


def is_own(job: str, node: str) -> bool:
    """Whether the numbers at the ends of both names agree, modulo four."""
    return int(job.rpartition("-")[2]) % 4 == int(node.rpartition("-")[2])


# -- when an attempt ends --------------------------------------------------------------------------


def end(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
    """Write down how they ended, and leave the state alone."""
    ended = tuple(
        _find(record, ending.run_key, ending.number)._replace(
            state=AttemptState.ENDED,
            outcome=ending.outcome,
            started_at=ending.started_at,
            finished_at=ending.finished_at,
            error=ending.error,
            exit_code=ending.exit_code,
        )
        for ending in endings
    )
    return Decision(record.state, ended, events=tuple(_event(Happening.ENDED, one, now) for one in ended))


def end_and_count(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
    """The same, and the state counts them: so it is seen whether an ending was decided upon twice."""
    decision = end(record, endings, now)
    state = decision.state
    failures = state.failures_in_row + len(endings)
    return decision._replace(state=state._replace(token=state.token + 1, failures_in_row=failures))


def lose(record: Record, lost: Sequence[tuple[str, int]], now: datetime) -> Decision:
    """They are lost, and that is all."""
    ended = tuple(
        _find(record, *key)._replace(state=AttemptState.ENDED, outcome=Outcome.LOST, finished_at=now)
        for key in lost
    )
    return Decision(record.state, ended, events=tuple(_event(Happening.ENDED, one, now) for one in ended))


def lose_and_restart(record: Record, lost: Sequence[tuple[str, int]], now: datetime) -> Decision:
    """They are lost, and their runs are tried again at once."""
    decision = lose(record, lost, now)
    again = tuple(
        one._replace(
            number=one.number + 1, trigger=Trigger.LOST, state=AttemptState.PENDING, wake_at=now,
            node=None, token=0, claimed_at=None, finished_at=None, outcome=None,
        )
        for one in decision.attempts
    )  # fmt: skip
    woken = record.state._replace(token=record.state.token + 1, wake_at=now)
    return decision._replace(state=woken, attempts=(*decision.attempts, *again))


def _find(record: Record, run_key: str, number: int) -> Attempt:
    found = [a for a in record.attempts if a.key == (run_key, number)]
    assert found, f"asked about {run_key} #{number}, which the record does not have open"
    return found[0]


def _event(what: Happening, attempt: Attempt, now: datetime) -> Event:
    return Event(what, attempt.job, now, "the contract says so", attempt.run_key, attempt.number)


def ending_of(attempt: Attempt, now: datetime) -> Ending:
    """What a node reports of an attempt that succeeded."""
    return Ending(attempt.job, attempt.run_key, attempt.number, attempt.token, Outcome.SUCCEEDED, now, now)


# -- when a person or a source asks ----------------------------------------------------------------


def untouched(record: Record) -> Decision:
    """Nothing changes."""
    return Decision(record.state)


def change(**fields: Any) -> DecideCommand:
    """Change some fields of the state."""

    def changed(record: Record) -> Decision:
        return Decision(record.state._replace(token=record.state.token + 1, **fields))

    return changed


def count_one(record: Record) -> Decision:
    """One more: whoever is not counted was overwritten."""
    return change(fired_count=record.state.fired_count + 1)(record)


def request_cancel(record: Record) -> Decision:
    """All that runs is to be cancelled."""
    asked = tuple(a._replace(state=AttemptState.CANCELLING) for a in record.attempts if a.is_running)
    return change()(record)._replace(attempts=asked)


def open_pending(wake_at: datetime, *requests: str) -> DecideCommand:
    """Open a pending attempt for each request; the job wakes for them."""

    def opened(record: Record) -> Decision:
        pending = tuple(
            Attempt(
                record.job.key, 1, Trigger.MANUAL, AttemptState.PENDING, wake_at,
                request=request, wake_at=wake_at, reason="the contract says so",
            )
            for request in requests
        )  # fmt: skip
        return change(wake_at=wake_at)(record)._replace(attempts=pending)

    return opened


def declare_at(wake_at: datetime | None, now: datetime) -> DecideDeclared:
    """The job wakes at that time, whatever its schedule says; open attempts stay."""

    def declared(job: Job, record: Record | None) -> Decision:
        told = Event(Happening.DECLARED, job.key, now, "the contract says so")
        if record is None:
            return Decision(State(1, created_at=now, wake_at=wake_at), events=(told,))
        return change(wake_at=wake_at, removed_at=None)(record)._replace(events=(told,))

    return declared


def keep(job: Job, record: Record | None) -> Decision:  # noqa: ARG001 - one of the declared kind
    """The job is as it was."""
    assert record is not None
    return Decision(record.state)


def bury_job(now: datetime) -> DecideRemoved:
    """The job becomes a tombstone."""
    return change(removed_at=now, wake_at=None)


def forget(record: Record) -> Decision:
    """The job is gone altogether."""
    return Decision(record.state, remove=True)
