"""The planner's answer to a clock that was set back by hours: a job continues from now.

Occurrences are never served early. So if a job has served one of the future, the clock was set back.

    by less than `CORRECTION`    the same times come again: the job waits, and nothing is served twice
    by more                      the clock was wrong before: the job continues by the new time

Vixie cron does the same. A run that is in the history does not run again under its key: the claim checks it.
"""

from __future__ import annotations

from datetime import datetime

from foliot.engine.calendar import next_occurrence
from foliot.engine.draft import Draft
from foliot.model.attempt import format_instant
from foliot.model.decision import Decision, Happening
from foliot.model.state import CORRECTION, Record


def is_ahead(record: Record, now: datetime) -> bool:
    """Whether a job has served or opened an occurrence that is hours in the future."""
    return _reached(record) > now + CORRECTION


def plan_set_back(record: Record, now: datetime) -> Decision:
    """Correct a job after the clock was set back. A job that is not ahead does not change."""
    if not is_ahead(record, now):
        return Decision(record.state)
    draft, state = Draft(record, now), record.state
    for attempt in list(draft.open.values()):
        if attempt.wake_at is not None and attempt.wake_at > now:
            draft.change(attempt, wake_at=now)
    next_at = next_occurrence(draft.job, now) if draft.job.enabled and state.removed_at is None else None
    draft.state = state._replace(
        created_at=min(state.created_at, now),
        served_until=now,
        next_at=next_at,
        paused_at=_no_later(state.paused_at, now),
        removed_at=_no_later(state.removed_at, now),
        last_attempt_at=_no_later(state.last_attempt_at, now),
        last_failure_at=_no_later(state.last_failure_at, now),
        defined_at=_no_later(state.defined_at, now),
    )
    reached = format_instant(_reached(record).replace(microsecond=0))
    draft.tell(
        Happening.CLOCK_SET_BACK, f"the clock was set back: it had come to {reached}, and goes on from now"
    )
    return draft.decide(looks_at_once=True)


def _reached(record: Record) -> datetime:
    """The latest occurrence that a job has served or opened."""
    served = record.state.served_until or record.state.created_at
    return max((served, *(attempt.scheduled_for for attempt in record.attempts)))


def _no_later(instant: datetime | None, now: datetime) -> datetime | None:
    return None if instant is None else min(instant, now)
