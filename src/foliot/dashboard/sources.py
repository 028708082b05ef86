"""Where jobs come from: how reading goes, which revisions there were, what each has changed."""

from __future__ import annotations

from starlette.responses import Response

from foliot.api import fleet
from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.fleet import RemoveQuery, RevisionsQuery, list_revisions, list_sources, revision_diff
from foliot.api.job_history import DiffQuery, diff
from foliot.api.jobs import JobsQuery, list_jobs
from foliot.api.problem import ProblemError
from foliot.dashboard.frame import frame_of
from foliot.dashboard.overview import has_error
from foliot.dashboard.route import Form, Pages, Short
from foliot.dashboard.view import leave, render
from foliot.model.access import Scope
from foliot.model.view import SourceView
from foliot.protocols import JobQuery

pages = Pages("sources")
_JOBS = 50
_DIFFS = 50
_ORDERS = ("name", "jobs", "reconciled")


class SourcesQuery(Query, frozen=True):
    """A part of the name; the order."""

    search: Short = ""
    order: Short = "name"


@pages.get("/sources", Scope.READ)
async def sources_page(call: Call, query: SourcesQuery) -> Response:
    """All sources."""
    found = [one for one in (await list_sources(call)).sources if query.search.lower() in one.source.lower()]
    if query.order == "jobs":
        found.sort(key=lambda one: -one.jobs)
    elif query.order == "reconciled":
        found.sort(key=lambda one: one.reconciled_at.timestamp() if one.reconciled_at else 0, reverse=True)
    return await render(
        call,
        "sources.html",
        heading="Sources",
        command=("source", "list"),
        topics=("sources",),
        query=query,
        sources=[(one, has_error(one)) for one in found],
        orders=_ORDERS,
    )


@pages.get("/sources/{source}", Scope.READ)
async def source_page(call: Call, source: SourceView) -> Response:
    """A source with its revisions, and some of its jobs."""
    shown = await fleet.show_source(call, source)
    revisions = (await list_revisions(call, source, RevisionsQuery())).revisions
    jobs = await list_jobs(call, JobsQuery(source=source.source, limit=_JOBS))
    return await render(
        call,
        "source.html",
        heading=source.source,
        command=("source", "show", source.source),
        topics=("sources",),
        source=shown,
        has_error=has_error(shown),
        revisions=revisions,
        jobs=jobs,
    )


@pages.get("/sources/{source}/revisions/{number}", Scope.READ, is_heavy=True)
async def revision_page(call: Call, source: SourceView, number: int) -> Response:
    """What a revision has changed of each job."""
    found = await revision_diff(call, source, number)
    changes = []
    for one in found.ended[:_DIFFS]:
        differences = None
        [view] = await call.ops.store.jobs(JobQuery(keys=frozenset((one.job,)), with_removed=True)) or [None]
        if view is not None and not one.removed:
            try:
                differences = (await diff(call, view, one.version, DiffQuery())).differences
            except ProblemError:  # the version after it is not kept
                differences = None
        changes.append((one, differences))
    return await render(
        call,
        "revision.html",
        heading=f"{source.source}: revision {number}",
        found=found,
        changes=changes,
        command=("source", "show", source.source),
    )


@pages.post("/sources/{source}/pull", Scope.OPERATE)
async def pull(call: Call, source: SourceView, form: Form) -> Response:
    """Read it again now."""
    del form
    await fleet.pull(call, source)
    return leave(call, frame_of(call).source(source.source), f"{source.source} is read again.")


@pages.post("/sources/{source}/remove", Scope.ADMIN)
async def remove(call: Call, source: SourceView, form: Form) -> Response:
    """Remove it with its jobs: first how many they are."""
    done = await fleet.remove(call, source, RemoveQuery(force=form.get("force") == "yes"))
    frame = frame_of(call)
    if not call.dry_run:
        return leave(call, frame.url("/sources"), f"{source.source} was removed, with {done.jobs} jobs.")
    return await render(
        call,
        "confirm.html",
        heading=f"Remove {source.source}",
        deed="Remove",
        action=frame.source(source.source, "remove"),
        back=frame.source(source.source),
        text=f"Jobs that are removed: {done.jobs}. Of their runs, {done.running} may still end.",
        would=None,
        fields={"force": form.get("force")},
        note="History stays. A program that still declares it brings it back.",
    )
