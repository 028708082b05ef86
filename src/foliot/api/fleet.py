"""Sources, nodes, queues, and the whole at a glance."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from importlib.metadata import version
from typing import Annotated

from msgspec import Meta

from foliot.access import mask_value
from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.finders import FINDERS
from foliot.api.fleet_answers import (
    ChangedDefinition,
    NodeAnswer,
    NodeList,
    OverviewAnswer,
    Pulled,
    QueueAnswer,
    QueueList,
    RemovedSource,
    RevisionAnswer,
    RevisionDiff,
    RevisionList,
    Scheduler,
    SourceAnswer,
    SourceList,
    UnservedAnswer,
)
from foliot.api.ids import id_of
from foliot.api.plans import plan_of_removal
from foliot.api.problem import ProblemError
from foliot.api.route import Group
from foliot.api.show import utc
from foliot.app.declaration import is_marker
from foliot.model.access import Scope
from foliot.model.version import KEPT_REVISIONS
from foliot.model.view import NodeView, SourceView
from foliot.operations import find_unserved, node_state
from foliot.operations.removal import remove_source
from foliot.protocols import JobQuery

_LOOKED_AT = 1000  # jobs of a source whose versions a diff looks at
routes = Group("fleet", FINDERS)


# -- sources ---------------------------------------------------------------------------------------


@routes.get("/sources", Scope.READ)
async def list_sources(call: Call) -> SourceList:
    """List where jobs come from."""
    views = [view for view in await call.ops.store.sources() if call.sees(view.source)]
    return SourceList(sources=tuple(_show_source(call, view) for view in views))


@routes.get("/sources/{source}", Scope.READ)
async def show_source(call: Call, source: SourceView) -> SourceAnswer:
    """Show a source: at which revision it is, and how its last reading went."""
    return _show_source(call, source)


def _show_source(call: Call, view: SourceView) -> SourceAnswer:
    try:
        status = mask_value(json.loads(view.status or "null"))
    except ValueError:
        status = mask_value(view.status)
    return SourceAnswer(
        id=id_of(view.source),
        source=view.source,
        revision=view.revision,
        jobs=view.jobs,
        reconciled_at=utc(view.reconciled_at),
        status=status,
        links={
            "self": call.link("sources", view.source),
            "revisions": call.link("sources", view.source, "revisions"),
        },
    )


class RevisionsQuery(Query, frozen=True):
    """How many."""

    limit: Annotated[int, Meta(ge=1, le=KEPT_REVISIONS)] = 50


@routes.get("/sources/{source}/revisions", Scope.READ)
async def list_revisions(call: Call, source: SourceView, query: RevisionsQuery) -> RevisionList:
    """List the last revisions of a source, the newest first."""
    found = await call.ops.store.revisions(source.source, query.limit)
    shown = tuple(
        RevisionAnswer(
            ordinal=one.ordinal,
            revision=one.revision,
            at=one.at,
            added=one.added,
            changed=one.changed,
            removed=one.removed,
        )
        for one in found
    )
    return RevisionList(source=source.source, revisions=shown)


@routes.get("/sources/{source}/revisions/{number}/diff", Scope.READ, is_heavy=True)
async def revision_diff(call: Call, source: SourceView, number: int) -> RevisionDiff:
    """Tell which definitions a revision has replaced or removed, by its ordinal."""
    store = call.ops.store
    revisions = {one.ordinal: one.revision for one in await store.revisions(source.source, KEPT_REVISIONS)}
    if number not in revisions:
        raise ProblemError(404, "NOT_FOUND", f"there is no revision {number}", hint="see …/revisions")
    views = await store.jobs(JobQuery(source=source.source, with_removed=True, limit=_LOOKED_AT))
    ended = [
        ChangedDefinition(job=view.key, version=one.number, removed=one.until is not None and index == 0)
        for view in views
        if view.record is not None and (view.record.state.version > 1 or view.record.state.removed_at)
        for index, one in enumerate(await store.versions(view.key))
        if one.replaced_by == revisions[number]
    ]
    return RevisionDiff(
        source=source.source, revision=revisions[number], ended=tuple(ended), partial=views.next is not None
    )


@routes.post("/sources/{source}/pull", Scope.OPERATE, status=202)
async def pull(call: Call, source: SourceView) -> Pulled:
    """Read a repository again now. 409 if another process follows it."""
    if not call.service.backend.pull(source.source, dry_run=call.dry_run):
        detail = f"this process does not follow {source.source}"
        raise ProblemError(409, "NOT_FOLLOWED_HERE", detail, hint="ask the node that follows it, or wait")
    return Pulled(source=source.source, dry_run=call.dry_run)


class RemoveQuery(Query, frozen=True):
    """`force`: also if a node that lives serves it."""

    force: bool = False


@routes.delete("/sources/{source}", Scope.ADMIN)
async def remove(call: Call, source: SourceView, query: RemoveQuery) -> RemovedSource:
    """Remove a source with its jobs. What runs may end, and history stays."""
    plan = await plan_of_removal(call, source.source)
    removal = await remove_source(call.ops, source.source, force=query.force, dry_run=call.dry_run)
    return RemovedSource(
        source=removal.source, jobs=removal.jobs, running=removal.running, dry_run=call.dry_run,
        plan=plan,
    )  # fmt: skip


# -- nodes and queues ------------------------------------------------------------------------------


@routes.get("/nodes", Scope.READ, is_of_all=True)
async def list_nodes(call: Call) -> NodeList:
    """List the nodes, and what is due that no node can start."""
    now, views = await call.ops.store.now(), await call.ops.store.nodes()
    shown = []
    for view in views:
        node = view.node
        kinds = None if node.kinds is None else tuple(k for k in node.kinds if not is_marker(k))
        shown.append(
            NodeAnswer(
                node=node.id,
                name=node.name,
                host=node.host or None,
                process=node.process,
                state=node_state(view, now),
                lease_until=view.until,
                open_attempts=view.open_count,
                queues=node.queues,
                actions=kinds,
                version=node.version,
                clock_skew=round(node.skew.total_seconds(), 3),
            )
        )
    versions = Counter(one.version or "unknown" for one in shown if one.state != "silent")
    return NodeList(nodes=tuple(shown), versions=dict(versions), unserved=await _unserved(call, views))


async def _unserved(call: Call, views: tuple[NodeView, ...]) -> tuple[UnservedAnswer, ...]:
    found = await find_unserved(call.ops.store, views, await call.ops.store.now())
    return tuple(
        UnservedAnswer(queue=one.queue, action=one.action, jobs=one.jobs, since=one.since) for one in found
    )


@routes.get("/queues", Scope.READ, is_of_all=True)
async def list_queues(call: Call) -> QueueList:
    """List the queues that are served, or have jobs that wait."""
    store = call.ops.store
    now = await store.now()
    serving = Counter(
        queue
        for view in await store.nodes()
        if node_state(view, now) == "alive"
        for queue in view.node.queues
    )
    wakes: dict[str, datetime] = {}
    for lane in (await store.overview()).lanes:
        wakes[lane.queue] = min(lane.wake_at, wakes.get(lane.queue, lane.wake_at))
    return QueueList(
        queues=tuple(
            QueueAnswer(queue=queue, nodes=serving[queue], next_wake_at=wakes.get(queue))
            for queue in sorted({*serving, *wakes})
        )
    )


@routes.get("/overview", Scope.READ, is_of_all=True)
async def overview(call: Call) -> OverviewAnswer:
    """Tell how many jobs there are, and how many are paused, failing, open or not served."""
    found, nodes = await call.ops.overview(), await call.ops.store.nodes()
    now = await call.ops.store.now()
    living = sum(node_state(view, now) != "silent" for view in nodes)
    return OverviewAnswer(
        jobs=found.jobs, damaged=found.damaged, paused=found.paused, failing=found.failing,
        open_attempts=found.open_attempts, nodes=living, next_wake_at=utc(found.next_wake_at),
        unserved=await _unserved(call, nodes),
    )  # fmt: skip


@routes.get("/scheduler", Scope.READ)
async def scheduler(call: Call) -> Scheduler:
    """Tell whether an engine runs in this process, and how many nodes live."""
    backend, store = call.service.backend, call.ops.store
    now = await store.now()
    living = sum(node_state(view, now) == "alive" for view in await store.nodes())
    return Scheduler(
        engine=backend.has_engine, alive=backend.is_alive, ready=backend.is_ready, nodes=living, now=now,
        version=version("foliot"),
    )  # fmt: skip
