"""The decisions of a change (its *deed*), without writing them; and the runs that start at once."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from foliot.engine.change.model import Switch, SwitchStart
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due
from foliot.model.attempt import AttemptState
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.model.version import Change, change_of

_ROOM = 500
_MOST_LOOKS = 10
_NODE = "plan"


class Deed(NamedTuple):
    """What a change does to one job. `after` is None if the job is deleted."""

    change: Change
    before: Record | None
    after: Record | None
    switch: Switch


def declare(job: Job, before: Record | None, now: datetime) -> Deed:
    """A source declares a job."""
    return _deed(job, before, plan_declared(job, before, now), now)


def remove(before: Record, now: datetime) -> Deed:
    """A source no longer declares a job."""
    return _deed(before.job, before, plan_removed(before, now), now)


def _deed(job: Job, before: Record | None, decision: Decision, now: datetime) -> Deed:
    change = change_of(None if before is None else before.state, decision)
    after = written(Record(job, decision.state, before.attempts if before else ()), decision)
    return Deed(change, before, after, _switch(before, after, decision, now))


def written(record: Record, decision: Decision) -> Record | None:
    """The record after a decision, as a store would have it."""
    if decision.remove:
        return None
    known = {attempt.key: attempt for attempt in (*record.attempts, *decision.attempts)}
    still_open = tuple(attempt for attempt in known.values() if attempt.is_open)
    return Record(decision.job or record.job, decision.state, still_open)


def _switch(before: Record | None, after: Record | None, decision: Decision, now: datetime) -> Switch:
    known = {attempt.key: attempt for attempt in (before.attempts if before else ())}
    dropped = [a for a in decision.attempts if not a.is_open and a.key in known]
    kept = [a for a in (after.attempts if after else ()) if a.key in known]
    return Switch(
        starts_at(after, now),
        decision.skips,
        tuple(attempt.run_key for attempt in dropped),
        tuple(attempt.run_key for attempt in kept),
    )


def starts_at(record: Record | None, now: datetime) -> tuple[SwitchStart, ...]:
    """The attempts that a node with free slots starts at once. It claims until the job is not due."""
    found: list[SwitchStart] = []
    for _ in range(_MOST_LOOKS):
        if record is None or record.state.wake_at is None or record.state.wake_at > now:
            break
        decision = plan_due(record, now, _NODE, _ROOM)
        if decision.is_nothing(record):
            break
        started = [a for a in decision.attempts if a.state is AttemptState.RUNNING]
        found += (SwitchStart(*attempt.key, attempt.reason) for attempt in started)
        record = written(record, decision)
    return tuple(found)
