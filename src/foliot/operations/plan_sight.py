"""Hides parts of a plan that the caller may not see. They are removed before the plan is made.

Otherwise the plan would confirm guesses: if a caller guesses a hidden value, the plan would show no change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from foliot.engine.change import ChangePlan, Code, Kind, note
from foliot.engine.change.model import FieldChange
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import Snapshot

HIDDEN = "(hidden)"


class Sight(NamedTuple):
    """What a caller may see. `actions`: the data of actions. `slots`: the number of slots of nodes."""

    actions: bool = True
    slots: bool = True


SEES_ALL = Sight()


def without_actions(
    records: Mapping[str, Record], snapshot: Snapshot
) -> tuple[Mapping[str, Record], Snapshot]:
    """Both sides of a plan, without the data of actions."""
    bare = {name: record._replace(job=_bare(record.job)) for name, record in records.items()}
    return bare, Snapshot(snapshot.revision, tuple(map(_bare, snapshot.jobs)))


def _bare(job: Job) -> Job:
    return replace(job, action=replace(job.action, data={}))


def with_doubts(plan: ChangePlan, records: Mapping[str, Record], snapshot: Snapshot) -> ChangePlan:
    """Add a note about hidden fields to a plan that was made without actions."""
    given = {job.name: sorted(job.action.data) for job in snapshot.jobs if job.name in records}
    if not any(given.values()):
        return plan
    jobs = tuple(
        change._replace(fields=(*change.fields, *_doubted(given.get(change.name, ()))))
        if change.kind is Kind.CHANGED
        else change
        for change in plan.jobs
    )
    names = ", ".join(sorted({name for some in given.values() for name in some}))
    doubt = note(Code.COMMAND_CHANGED, f"what jobs do is hidden from you, and may change: {names}")
    return plan._replace(jobs=jobs, effects=(*plan.effects, doubt))


def _doubted(names: Iterable[str]) -> Iterator[FieldChange]:
    return (FieldChange(name, HIDDEN, HIDDEN) for name in names)
