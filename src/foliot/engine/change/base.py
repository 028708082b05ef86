"""Makes records for a plan when there is no store, or when the change comes later."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from foliot.engine.calendar import last_occurrence, next_occurrence
from foliot.engine.plan_definition import plan_declared
from foliot.model.job import Job
from foliot.model.splay import offset_of
from foliot.model.state import Record, State

_LONG_AGO = timedelta(days=400)


def bare_record(job: Job, now: datetime) -> Record:
    """A record with only a definition. `as_declared` completes it, if that is needed."""
    return Record(job, State(0, now))


def as_declared(now: datetime) -> Callable[[Record], Record]:
    """A function that completes bare records: as if each job was declared long ago, and ran on time since."""

    def prepare(record: Record) -> Record:
        state = plan_declared(record.job, None, now - _LONG_AGO).state
        return as_served(record._replace(state=state), now)

    return prepare


def as_served(record: Record, at: datetime) -> Record:
    """The record at a later time, if all occurrences until then run on time."""
    job, state, _ = record
    is_live = job.enabled and state.paused_at is None and state.removed_at is None
    come_until = at - offset_of(job)
    if not is_live or state.next_at is None or state.next_at > come_until:
        return record
    last = last_occurrence(job, come_until) or state.next_at
    following = next_occurrence(job, come_until)
    return record._replace(
        state=state._replace(
            served_until=max(last, state.served_until or last),
            next_at=following,
            wake_at=None if following is None else following + offset_of(job),
            fired_count=max(1, state.fired_count),
            last_attempt_at=max(last, state.last_attempt_at or last),
        )
    )
