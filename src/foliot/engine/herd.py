"""One decision for many equal jobs (a herd), for runs without any problem.

Nearly all decisions of a scheduler are the same: an occurrence comes in time and nothing is in its way; later
its run succeeds and nothing else waits. Such a decision depends on the definition and the occurrence only. So
`plan_alike` decides once, and a store applies the decision to all records of the herd. A test proves that
each member gets the decision that the planner would make for it alone.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from foliot.engine.calendar import next_occurrence
from foliot.model.alike import Alike
from foliot.model.attempt import Attempt, AttemptState, Ending, Outcome
from foliot.model.decision import Decision, Event, Happening
from foliot.model.job import Job
from foliot.model.state import Record

_LAST = datetime.max.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def is_plain(record: Record) -> bool:
    """Whether a record has nothing special: no open run, no pause, only its next occurrence."""
    job, state, attempts = record
    return (
        not attempts
        and state.next_at is not None
        and (state.served_until is None or state.served_until < state.next_at)
        and state.paused_at is None
        and state.removed_at is None
        and job.enabled
        and job.policy.splay is None
    )


def plan_alike(job: Job, first: datetime) -> Alike | None:
    """The decision for all plain records of jobs like this one, for an occurrence that comes in time."""
    policy = job.policy
    is_of_its_own = policy.is_watched or policy.then or policy.splay is not None or job.group is not None
    if not job.enabled or is_of_its_own:
        return None  # members of a herd start together, and nothing else happens at their end
    following = next_occurrence(job, first)
    until = first + min(policy.misfire.grace, _LAST - first)
    if following is not None:
        until = min(until, following - _MICROSECOND)
    return Alike(first, following, until, policy.timeout, ends_in_peace=not job.auto_remove)


def start_alike(record: Record, alike: Alike, now: datetime, node: str) -> Decision:
    """The decision about one member of a herd."""
    job, state, _ = record
    key, token, first = job.key, state.token + 1, alike.first
    attempt = alike.attempt(key, token, state.version, node, now)
    changed = state._replace(
        token=token, wake_at=alike.following, served_until=first, next_at=alike.following,
        fired_count=state.fired_count + 1, last_attempt_at=now, last_run=attempt.run_key,
    )  # fmt: skip
    return Decision(changed, (attempt,), events=(started(attempt, now),))


def started(attempt: Attempt, now: datetime) -> Event:
    """The event of an attempt that starts."""
    run, number = attempt.key
    return Event(Happening.STARTED, attempt.job, now, attempt.reason, run, number, attempt)


def end_in_peace(record: Record, ending: Ending, now: datetime) -> Decision | None:
    """The decision after a success, if it was the only open run and nothing else waits; otherwise None.

    The state object stays the same, so only the attempt is written. After None the planner decides.
    """
    job, state, attempts = record
    if (
        ending.outcome is not Outcome.SUCCEEDED
        or len(attempts) != 1
        or state.failures_in_row
        or state.last_problem is not None
        or (state.wake_at is None and state.next_at is not None)
        or state.removed_at is not None
        or job.auto_remove
        or state.watch is not None
        or job.policy.is_watched
        or job.policy.then
    ):
        return None
    (held,) = attempts
    if held.token != ending.token or held.number != ending.number:
        return None
    attempt = held._replace(
        state=AttemptState.ENDED, started_at=ending.started_at, finished_at=ending.finished_at,
        outcome=ending.outcome, error=ending.error, exit_code=ending.exit_code,
    )  # fmt: skip
    told = Event(Happening.ENDED, held.job, now, Outcome.SUCCEEDED, ending.run_key, ending.number, attempt)
    return Decision(state, (attempt,), events=(told,))
