"""Makes the persisted tasks of a namespace agree with what is registered, in one atomic step.

New, preserved, overridden and dropped: found by comparing, task by task, what is stored with what was
registered. Only what differs is written, and nothing at all if nothing does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from uuid import uuid4

from foliot.doors.declarative.registration import Plan
from foliot.doors.declarative.roster import kind_if_not, kind_if_registered, other_lists
from foliot.doors.declarative.task import sound
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_lost
from foliot.model.decision import Event
from foliot.model.job import Job
from foliot.observability.log import tell_burial
from foliot.protocols import Changes, JobQuery
from foliot.wiring import FullStore

_PAGE = 1000


class Difference(NamedTuple):
    """What is to be written, the revision that it was found at, and the lists of others who lived then."""

    base: str | None
    others: frozenset[str]
    changes: Changes


async def compare(store: FullStore, namespace: str, plan: Plan, now: datetime, *, buries: bool) -> Difference:
    """What `initialize` is to write; `buries`: a lease that has run out proves its node dead.

    The TaskTryDeserializeError that fits if a task is damaged: to declare it would overwrite it.
    """
    base = await store.revision(namespace)  # first of all: what comes after it makes this stale
    if buries:  # who is dead, for sure, does not live: what it had may go
        for dead in (await store.recover(_PAGE, now, plan_lost)).buried:
            tell_burial(dead)
    others = other_lists(plan.kinds, await store.nodes())
    declared: list[Job] = []
    removed: list[str] = []
    seen: set[str] = set()
    async for found in _persisted(store, namespace):
        seen.add(found.name)
        wanted = _wanted(plan, others, found, plan.jobs.get(found.name))
        if wanted is None:
            removed.append(found.name)
        elif not wanted.says_the_same(found):
            declared.append(wanted)
    new_kind = kind_if_registered(plan.kinds, others, None)
    declared += (_of_kind(job, new_kind) for name, job in plan.jobs.items() if name not in seen)
    return Difference(base, others, Changes(tuple(declared), tuple(removed)))


async def compare_again(store: FullStore, namespace: str, plan: Plan) -> Difference:
    """What is to be written when others have come or gone; what a task says is left as the last one said."""
    base = await store.revision(namespace)
    others = other_lists(plan.kinds, await store.nodes())
    declared: list[Job] = []
    removed: list[str] = []
    async for found in _persisted(store, namespace):
        wanted = _wanted(plan, others, found, found if found.name in plan.jobs else None)
        if wanted is None:
            removed.append(found.name)
        elif wanted is not found:
            declared.append(wanted)
    return Difference(base, others, Changes(tuple(declared), tuple(removed)))


async def settle(
    store: FullStore, namespace: str, difference: Difference, now: datetime
) -> tuple[str | None, tuple[Event, ...]]:
    """Write it, all or nothing; the revision that is then there, and what has happened.

    StaleRevisionError if another scheduler has written meanwhile.
    """
    base, _, changes = difference
    if not changes.declared and not changes.removed:
        return base, ()
    revision = f"declarative-{uuid4().hex[:20]}"
    events = await store.reconcile(
        namespace,
        base,
        revision,
        changes,
        declared=lambda job, record: plan_declared(job, record, now),
        removed=lambda record: plan_removed(record, now),
    )
    return revision, events


def _wanted(plan: Plan, others: frozenset[str], found: Job, registered: Job | None) -> Job | None:
    """The job as it should be, or None if it should not be."""
    if registered is not None:
        return _of_kind(registered, kind_if_registered(plan.kinds, others, found.action.kind))
    kind = kind_if_not(plan.kinds, others, found.action.kind)
    return None if kind is None else _of_kind(found, kind)


def _of_kind(job: Job, kind: str) -> Job:
    return job if job.action.kind == kind else replace(job, action=replace(job.action, kind=kind))


async def _persisted(store: FullStore, namespace: str) -> AsyncIterator[Job]:
    after = ""
    while page := await store.jobs(JobQuery(source=namespace, after=after, limit=_PAGE)):
        for view in page:
            yield sound(view, namespace).job
        after = page[-1].key
