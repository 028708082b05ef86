"""Pipelines and their schedules, in the words of ratd."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from foliot.api import pipeline_runs, schedules
from foliot.api.call import Call
from foliot.api.pipeline_answers import PipelineRef, ScheduleBody, ScheduleParts
from foliot.api.pipelines import PipelinesQuery, list_pipelines, show_pipeline
from foliot.api.pipelines import routes as pipeline_routes
from foliot.api.problem import ProblemError, problem_of
from foliot.api.reading import read_struct
from foliot.api.runs import RunsQuery, list_runs
from foliot.api.schedules import SchedulesQuery, list_schedules
from foliot.api.schedules import routes as schedule_routes
from foliot.dashboard.endpoint import ReturnedFormError
from foliot.dashboard.frame import frame_of
from foliot.dashboard.route import Form, Pages, Trail, filters_of, narrowed
from foliot.dashboard.view import leave, render
from foliot.errors import FoliotError
from foliot.model.access import Scope
from foliot.model.pipeline import Pipeline
from foliot.operations.pipelines import pipeline_of
from foliot.protocols import JobView

pages = Pages("pipelines", {**pipeline_routes.finders, **schedule_routes.finders})
_RUNS = 20


class PipelinesPageQuery(PipelinesQuery, frozen=True):
    """`trail` has the cursors of the pages before."""

    trail: Trail = ""


@pages.get("/pipelines", Scope.READ)
async def pipelines_page(call: Call, query: PipelinesPageQuery) -> Response:
    """All pipelines, by their names."""
    found = await list_pipelines(call, narrowed(query, PipelinesQuery))
    return await render(
        call,
        "pipelines.html",
        heading="Pipelines & schedules",
        api="/pipelines",
        topics=("jobs",),
        query=query,
        filters=filters_of(query),
        found=found,
    )


@pages.get("/pipelines/{pipeline}", Scope.READ)
async def pipeline_page(call: Call, pipeline: Pipeline) -> Response:
    """A pipeline with its schedules and its last runs."""
    return await _page(call, pipeline)


async def _page(
    call: Call, pipeline: Pipeline, problem: ProblemError | None = None, typed: dict[str, str] | None = None
) -> Response:
    found = await list_schedules(call, SchedulesQuery(pipeline_id=pipeline.id, limit=100))
    runs = await list_runs(call, RunsQuery(pipeline_id=pipeline.id, limit=_RUNS))
    return await render(
        call,
        "pipeline.html",
        heading=str(pipeline.full_name),
        api=f"/pipelines/{pipeline.id}",
        topics=("jobs",),
        pipeline=show_pipeline(call, pipeline),
        schedules=found.schedules,
        runs=runs.runs,
        problem=problem,
        typed=typed or {"cron": "", "timezone": "UTC"},
        status=problem.status if problem else 200,
    )


@pages.post("/pipelines/{pipeline}/run", Scope.OPERATE)
async def run_pipeline(call: Call, pipeline: Pipeline, form: Form) -> Response:
    """Run it now, once."""
    del form
    asked = await pipeline_runs.run_pipeline(call, PipelineRef(pipeline_id=pipeline.id))
    return leave(call, frame_of(call).run(asked.key), f"{pipeline.full_name} runs now.")


@pages.post("/pipelines/{pipeline}/schedules", Scope.WRITE)
async def create_schedule(call: Call, pipeline: Pipeline, form: Form) -> Response:
    """Give it a schedule."""
    given = {"pipeline_id": pipeline.id, "cron": form.get("cron"), "timezone": form.get("timezone") or "UTC"}
    try:
        await schedules.create_schedule(call, read_struct(given, ScheduleBody))
    except FoliotError as error:
        problem = problem_of(error)
        raise ReturnedFormError(problem, await _page(call, pipeline, problem, form.typed)) from None
    return leave(call, _link(call, pipeline.id), "The schedule is made. Nothing runs before its next time.")


@pages.post("/schedules/{schedule}/switch", Scope.WRITE)
async def patch_schedule(call: Call, schedule: JobView, form: Form) -> Response:
    """Switch it on or off."""
    is_on = form.get("enabled") == "yes"
    await schedules.patch_schedule(call, schedule, ScheduleParts(enabled=is_on))
    return leave(call, _home(call, schedule), f"The schedule is {'on' if is_on else 'off'}.")


@pages.post("/schedules/{schedule}/remove", Scope.WRITE)
async def remove_schedule(call: Call, schedule: JobView, form: Form) -> Response:
    """Remove it: first what would become of it."""
    del form
    done: Any = await schedules.remove_schedule(call, schedule)
    home = _home(call, schedule)
    if not call.dry_run:
        return leave(call, home, "The schedule was removed. Its history stays.")
    name = schedule.key.partition("/")[2]
    return await render(
        call,
        "confirm.html",
        heading=f"Remove schedule {name}",
        deed="Remove",
        back=home,
        action=frame_of(call).url(f"/schedules/{name}/remove"),
        text="Its pipeline does not run by it any more.",
        would=done.would,
        fields={},
        note="What runs may end, and its history stays.",
    )


def _home(call: Call, schedule: JobView) -> str:
    named = None if schedule.record is None else pipeline_of(schedule.record.job)
    return frame_of(call).url("/pipelines") if named is None else _link(call, named.pipeline)


def _link(call: Call, pipeline: str) -> str:
    return frame_of(call).url(f"/pipelines/{pipeline}")
