"""Runs of pipelines: ask for one by hand, and list those of all jobs of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from foliot.api.answers import Requested
from foliot.api.call import Call
from foliot.api.cursor import Paged, bad_cursor
from foliot.api.executor import require_executor_of_pipeline
from foliot.api.job_commands import show_request
from foliot.api.pipeline_answers import PipelineRef
from foliot.api.pipelines import meant_pipeline, named_in
from foliot.api.problem import ProblemError
from foliot.api.route import Group
from foliot.model.access import Scope
from foliot.model.attempt import Attempt
from foliot.model.pipeline import Pipeline, PipelineName
from foliot.model.version import API_SOURCE
from foliot.operations.pipelines import jobs_of, own_job
from foliot.protocols import Changes, JobQuery, JobView, RunQuery

routes = Group("runs")
Place = tuple[datetime, str, str, int]
_RESOLUTION = timedelta(microseconds=1)
_LAST_YEAR = 9998  # of a place: a moment after it must be a time, too
_SAME = 20  # attempts of one job at the instant where a page ends: more than there are


@routes.post("/runs", Scope.OPERATE, status=202, object=named_in)
async def run_pipeline(call: Call, body: PipelineRef) -> Requested:
    """Run a pipeline now, once. 503 if no node is there that can run it: then nothing is left waiting."""
    if not call.identity.allows(Scope.OPERATE, API_SOURCE):
        raise ProblemError(403, "LIMITED_TOKEN", "pipelines are of the source api, and your token is not")
    pipeline = await meant_pipeline(call, body)
    await require_executor_of_pipeline(call, pipeline)
    view = await _own_job(call, pipeline)
    effect = await call.ops.trigger(view, request=call.key, dry_run=call.dry_run)
    if not effect.has_changed:
        call.replayed()
    return show_request(call, effect)


async def _own_job(call: Call, pipeline: Pipeline) -> JobView:
    """The job for runs by hand; the first such run makes it."""
    job = own_job(pipeline)
    if views := await call.service.store.jobs(JobQuery(keys=frozenset((job.key,)))):
        return views[0]
    changes = Changes(declared=(job,))
    defined = await call.ops.define(API_SOURCE, changes, check=lambda *_: None, dry_run=call.dry_run)
    return defined[job.key].view


async def jobs_of_meant(call: Call, pipeline_id: str | None, *names: str | None) -> list[str] | None:
    """The jobs of the pipeline that a query means, by its id or its name; None: it means none."""
    parts = [part for part in names if part is not None]
    if pipeline_id is None and not parts:
        return None
    if pipeline_id is None and len(parts) < len(PipelineName._fields):
        raise ProblemError(400, "BAD_QUERY", "give namespace, layer and pipeline together")
    if not call.sees(API_SOURCE):
        return []
    if pipeline_id is None:
        found = await call.service.store.pipeline_named(PipelineName(*parts))
        pipeline_id = "" if found is None else found.id
    return [view.key for view in await jobs_of(call.service.store, pipeline_id, with_removed=True)]


async def page_of_runs(
    call: Call, query: Paged, jobs: Sequence[str], asked: RunQuery
) -> tuple[list[Attempt], str | None]:
    """A page of the attempts of several jobs, the newest first, and the cursor of the next page."""
    place: Place | None = call.place(query, tuple[datetime, str, str, int])
    until = asked.until
    if place is not None and (place[0].tzinfo is None or place[0].year > _LAST_YEAR):
        raise bad_cursor("it is no cursor of this server")
    if place is not None:
        until = min(place[0] + _RESOLUTION, until or place[0] + _RESOLUTION)
    found: list[Attempt] = []
    for job in jobs:
        question = asked._replace(job=job, until=until, limit=query.limit + _SAME)
        found += await call.service.store.runs(question)
    following = sorted((a for a in found if place is None or _place(a) < place), key=_place, reverse=True)
    page = following[: query.limit]
    has_more = len(following) > query.limit
    return page, call.cursor(query, _place(page[-1])) if has_more else None


def _place(attempt: Attempt) -> Place:
    return attempt.scheduled_for, attempt.job, attempt.request or "", attempt.number
