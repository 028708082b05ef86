"""The two decisions of a run that goes well, made the quick way.

Nearly all that a scheduler ever decides is this: one occurrence has come, in time, with nothing in its way;
and later, its run has succeeded, with nothing else to see to. Each function here recognises its case, or
answers None, and then the planner decides at length. Both ways decide alike: a law of the planner's tests
says so for every record that is taken here, and all tables and laws run through it.

What makes it quick: values are built by position, and as the tuples that they are; no step is taken on the
way, the run's key is written once, and members of enums are looked up when this module is read.
"""

from __future__ import annotations

from datetime import datetime

from foliot.engine.calendar import next_occurrence
from foliot.model.attempt import Attempt, AttemptState, Ending, Outcome, Trigger, run_key
from foliot.model.decision import Decision, Event, Happening
from foliot.model.state import Record, State

ON_TIME = "its occurrence has come"
_SCHEDULE, _RUNNING, _ENDED = Trigger.SCHEDULE, AttemptState.RUNNING, AttemptState.ENDED
_SUCCEEDED = Outcome.SUCCEEDED
_TOLD_STARTED, _TOLD_ENDED = Happening.STARTED, Happening.ENDED
_new = tuple.__new__  # half the time that a call of the class takes; all fields must be given


def start_in_time(record: Record, now: datetime, node: str) -> Decision | None:
    """One occurrence, in time, and nothing in its way: its run starts."""
    job, state, attempts = record
    first, policy = state.next_at, job.policy
    if attempts or first is None or first > now or state.paused_at or state.removed_at or not job.enabled:
        return None
    following = next_occurrence(job, first)
    if (following is not None and following <= now) or now - first > policy.misfire.grace:
        return None
    key, token, timeout = job.key, state.token + 1, policy.timeout
    name = run_key(key, first, None)
    attempt = _new(Attempt, (
        key, 1, _SCHEDULE, _RUNNING, first, None, None, None,  # request, covers_from, wake_at
        node, token, now, None if timeout is None else now + timeout,  # claimed_at, deadline_at
        None, None, None, None, ON_TIME, 0, 0, None,  # started_at to error; retries, losses, exit_code
    ))  # fmt: skip
    changed = _new(State, (
        token, state.created_at, following, first, following, None, None,  # wake_at to removed_at
        state.fired_count + 1, state.failures_in_row, now, state.last_failure_at, name,
    ))  # fmt: skip
    told = _new(Event, (_TOLD_STARTED, key, now, ON_TIME, name, 1, attempt))
    return _new(Decision, (changed, (attempt,), (), (told,), False, None))


def end_in_peace(record: Record, ending: Ending, now: datetime) -> Decision | None:
    """The only open run has succeeded, and nobody need look before the next occurrence.

    The state stays as it is, the same object, so that nothing but the attempt is written.
    """
    job, state, attempts = record
    if (
        ending.outcome is not _SUCCEEDED
        or len(attempts) != 1
        or state.failures_in_row
        or (state.wake_at is None and state.next_at is not None)
        or state.removed_at is not None
        or job.auto_remove
    ):
        return None
    (
        key, number, trigger, _, scheduled_for, request, covers_from, wake_at,
        node, token, claimed_at, deadline_at, _, _, _, _, reason, retries, losses, _,
    ) = attempts[0]  # fmt: skip
    if token != ending.token or number != ending.number:
        return None
    ended = _new(Attempt, (
        key, number, trigger, _ENDED, scheduled_for, request, covers_from, wake_at,
        node, token, claimed_at, deadline_at,
        ending.started_at, ending.finished_at, _SUCCEEDED, ending.error, reason, retries, losses,
        ending.exit_code,
    ))  # fmt: skip
    told = _new(Event, (_TOLD_ENDED, key, now, _SUCCEEDED, ending.run_key, number, ended))
    return _new(Decision, (state, (ended,), (), (told,), False, None))
