"""Plans a change of a source with the data of a store. Nothing is written.

`plan_source` is for a whole source, as a repository declares it; `plan_changes` for single jobs of one. Both
answer with the same `ChangePlan`; `plan_facts.facts_of` makes JSON of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime, timedelta

from foliot.engine.change import ChangePlan, Known, as_served, plan_change
from foliot.engine.change.effort import SERVED_EFFORT
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Outcome
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.operations.herd import find_room
from foliot.operations.plan_sight import SEES_ALL, Sight, with_doubts, without_actions
from foliot.operations.questions import Questions, can_start
from foliot.protocols import Changes, JobQuery, JobView, RunQuery, Snapshot

USUAL_HORIZON = timedelta(days=7)
SHORTEST_HORIZON, LONGEST_HORIZON = timedelta(hours=1), timedelta(days=400)
NEWEST = 20  # the number of successful runs of a job whose durations are read
_MOST_TIMED = 200  # jobs whose durations are looked at


async def plan_source(
    ops: Questions,
    source: str,
    snapshot: Snapshot,
    *,
    at: datetime | None = None,
    horizon: timedelta = USUAL_HORIZON,
) -> ChangePlan:
    """What happens if a source declares a snapshot, now or at a later time."""
    records = await records_of(ops, source)
    return await plan_records(ops, source, records, snapshot, at=at, horizon=horizon)


async def plan_changes(  # noqa: PLR0913 - each has a default
    ops: Questions,
    source: str,
    changes: Changes,
    *,
    at: datetime | None = None,
    horizon: timedelta = USUAL_HORIZON,
    sight: Sight = SEES_ALL,
) -> ChangePlan:
    """What happens if single jobs of a source are declared or removed; all others stay as they are.

    Only these jobs are looked at, and counted.
    """
    keys = {*(job.key for job in changes.declared), *(f"{source}/{name}" for name in changes.removed)}
    query = JobQuery(keys=frozenset(keys), with_removed=True, limit=len(keys) or 1)
    records = by_name(await ops.store.jobs(query)) if keys else {}
    return await plan_records(
        ops, source, records, Snapshot("", changes.wanted), at=at, horizon=horizon, sight=sight
    )


async def plan_records(  # noqa: PLR0913 - both sides, and the time
    ops: Questions,
    source: str,
    records: Mapping[str, Record],
    snapshot: Snapshot,
    *,
    at: datetime | None = None,
    horizon: timedelta = USUAL_HORIZON,
    most: int = SERVED_EFFORT,
    sight: Sight = SEES_ALL,
) -> ChangePlan:
    """The same, for records that were read before. It runs in a thread, at a bounded cost."""
    now = await ops.store.now()
    when = now if at is None else at
    if when < now:
        raise CommandRefusedError(source, f"{when.isoformat()} is over", hint="a plan is for now, or later")
    seen = (records, snapshot) if sight.actions else without_actions(records, snapshot)
    known = await _known(ops, *seen, now)
    if not sight.slots:
        known = known._replace(slots=None)
    if when > now:
        known = known._replace(prepare=lambda record: as_served(record, when))
    until = when + horizon
    plan = await asyncio.to_thread(plan_change, source, *seen, when, until, known, most)
    return plan if sight.actions else with_doubts(plan, records, snapshot)


async def records_of(ops: Questions, source: str) -> dict[str, Record]:
    """All records of a source by the names of their jobs, those of removed jobs included."""
    return {job.name: record async for job, record in _stored(ops, source)}


async def _stored(ops: Questions, source: str) -> AsyncIterator[tuple[Job, Record]]:
    async for view in ops.every_job(source, with_removed=True):
        if view.record is not None and view.damage is None:
            yield view.record.job, view.record


def by_name(views: Iterable[JobView]) -> dict[str, Record]:
    """The readable records by name. An unreadable job counts as new."""
    readable = (view.record for view in views if view.damage is None and view.record is not None)
    return {record.job.name: record for record in readable}


async def _known(ops: Questions, records: Mapping[str, Record], snapshot: Snapshot, now: datetime) -> Known:
    changed = list(changed_keys(records, snapshot))[:_MOST_TIMED]
    durations = {key: await durations_of(ops, key) for key in changed}
    nodes = await ops.store.nodes()
    living = [view for view in nodes if view.until >= now]

    def is_served(job: Job) -> bool:
        return any(can_start(view, job.queue, job.action.kind, now) for view in living)

    slots = (await find_room(ops)).slots
    # A store without a living node says nothing about what its nodes can do.
    return Known(durations, slots or None, is_served if living else None)


def changed_keys(records: Mapping[str, Record], snapshot: Snapshot) -> Iterable[str]:
    """The keys of existing jobs whose definition differs in a snapshot."""
    for job in snapshot.jobs:
        record = records.get(job.name)
        if record is not None and record.state.removed_at is None and not job.says_the_same(record.job):
            yield record.job.key


async def durations_of(ops: Questions, key: str) -> tuple[timedelta, ...]:
    """How long the last successful runs of a job took, the newest first."""
    query = RunQuery(job=key, outcome=Outcome.SUCCEEDED, is_open=False, limit=NEWEST)
    return tuple(
        one.finished_at - one.started_at
        for one in await ops.store.runs(query)
        if one.started_at is not None and one.finished_at is not None
    )
