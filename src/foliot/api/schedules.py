"""Schedules: when pipelines run. A schedule is a job of the source `api` whose name is the schedule's id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta

from foliot.api.answers import Backfilled, RunRef
from foliot.api.call import Call
from foliot.api.cursor import Paged
from foliot.api.definition import check_right
from foliot.api.executor import require_executor
from foliot.api.ids import id_of
from foliot.api.jobs import Match, changed_meanwhile, require_source, version_of
from foliot.api.pipeline_answers import (
    MOST_COUNTED,
    RemovedSchedule,
    ScheduleAnswer,
    ScheduleBody,
    ScheduleList,
    ScheduleParts,
    Uuid,
)
from foliot.api.pipelines import meant_pipeline, named_in
from foliot.api.plans import plan_of
from foliot.api.problem import Fault, ProblemError
from foliot.api.reading import Instant
from foliot.api.route import Finder, Group
from foliot.api.show import definition_of, show_would, utc
from foliot.errors import FoliotError
from foliot.model.access import Scope
from foliot.model.job import Job
from foliot.model.pipeline import Pipeline
from foliot.model.state import Record
from foliot.model.version import API_SOURCE
from foliot.operations import Check, Defined, Which, next_at, readable
from foliot.operations.pipelines import (
    cron_of,
    is_schedule,
    job_id,
    jobs_of,
    pipeline_of,
    schedule_job,
)
from foliot.protocols import Changes, JobQuery, JobView
from foliot.schedules import Cron

_PAGE = 1000
_AT_ONCE = 100  # ids that are looked up to find a free one


async def find_schedule(call: Call, text: str) -> JobView:
    """A schedule, by its id; also one that cannot be used."""
    views: Sequence[JobView] = ()
    if call.sees(API_SOURCE):
        views = await call.service.store.jobs(JobQuery(keys=frozenset((f"{API_SOURCE}/{text}",))))
    if views and is_schedule(views[0]):
        return views[0]
    hint = "GET /api/v1/schedules tells all"
    raise ProblemError(404, "SCHEDULE_NOT_FOUND", f"there is no schedule {text[:100]}", hint=hint)


def _before(view: JobView) -> Any:
    return None if view.record is None else definition_of(view.record.job)


routes = Group(
    "schedules",
    {"schedule": Finder(find_schedule, lambda view: f"job:{view.key}", "The id of a schedule.", _before)},
)


class SchedulesQuery(Paged, frozen=True):
    """Which schedules. `offset`: how many of them to skip; a cursor is quicker."""

    pipeline_id: Uuid | None = None
    enabled: bool | None = None
    offset: Annotated[int, Meta(ge=0, le=MOST_COUNTED)] = 0


@routes.get("/schedules", Scope.READ)
async def list_schedules(call: Call, query: SchedulesQuery) -> ScheduleList:
    """List schedules, in the order of their ids."""
    if not call.sees(API_SOURCE):
        return ScheduleList(schedules=(), total=0, next=None)
    after = call.place(query, str) or ""
    offset = 0 if after else query.offset
    found, has_more = await _schedules(call, query, after, offset + query.limit)
    shown = found[offset:]
    total: int | None = len(found)
    if has_more or after:

        async def count() -> int | None:
            everything, is_partial = await _schedules(call, query, "", MOST_COUNTED)
            return None if is_partial else len(everything)

        total = await call.service.totals.of(("schedules", query.pipeline_id, query.enabled), count)
    return ScheduleList(
        schedules=tuple(await _show_all(call, shown)),
        total=total,
        next=call.cursor(query, shown[-1].key) if has_more and shown else None,
    )


@routes.post("/schedules", Scope.WRITE, status=201, object=named_in)
async def create_schedule(call: Call, body: ScheduleBody) -> ScheduleAnswer:
    """Make a schedule. Nothing runs before its next occurrence. 409 if the pipeline has one of that rule."""
    require_source(call)
    pipeline = await meant_pipeline(call, body)
    check_right(pipeline.action.kind, call.identity)
    rule = _rule(body.cron, body.timezone)
    defined = await (_make_new if call.key is None else _make_once)(call, pipeline, rule, body)
    call.headers["Location"] = call.link("schedules", defined.view.key.partition("/")[2])
    return await _answer(call, defined)


async def _make_new(call: Call, pipeline: Pipeline, rule: Cron, body: ScheduleBody) -> Defined:
    """The id comes from the rule: of two who ask for the same at once, one is refused."""

    def check(_: str, record: Record | None) -> None:
        if record is not None:
            raise _IdTakenError

    for first in count(step=_AT_ONCE):
        marks = (f"{rule.expression} {rule.timezone} {first + n}".encode() for n in range(_AT_ONCE))
        names = [str(job_id(pipeline.id, mark)) for mark in marks]
        # Some are those of schedules that were removed, or have another rule by now.
        keys = frozenset(f"{API_SOURCE}/{name}" for name in names)
        taken = await call.service.store.jobs(JobQuery(keys=keys, with_removed=True, limit=_AT_ONCE))
        free = [name for name in names if f"{API_SOURCE}/{name}" not in {view.key for view in taken}]
        # In this order: one that has taken an id by now, for the same rule, is seen here.
        await _refuse_same(call, pipeline, rule)
        for name in free[:1]:
            job = schedule_job(name, pipeline, rule, enabled=body.enabled)
            with suppress(_IdTakenError):
                return await _define(call, job, check)
    raise AssertionError("there is always one more")


async def _make_once(call: Call, pipeline: Pipeline, rule: Cron, body: ScheduleBody) -> Defined:
    """The id comes from the Idempotency-Key: the same request again finds what the first has made."""
    is_replay = False
    id_ = job_id(pipeline.id, call.new_id.encode())
    job = schedule_job(str(id_), pipeline, rule, enabled=body.enabled)

    def check(_: str, record: Record | None) -> None:
        nonlocal is_replay
        if record is None or record.state.removed_at is not None:
            return
        is_replay = job.says_the_same(record.job)
        if not is_replay:
            detail = "the Idempotency-Key was used for another body"
            raise ProblemError(422, "KEY_REUSED", detail, hint="use a new key for each new schedule")

    if not await call.service.store.jobs(JobQuery(keys=frozenset((job.key,)))):
        await _refuse_same(call, pipeline, rule)
    defined = await _define(call, job, check)
    if is_replay:
        call.replayed()
    return defined


class _IdTakenError(FoliotError):
    """There is or was a job of that id."""

    def __init__(self) -> None:
        super().__init__("there is a job of that id")


@routes.get("/schedules/{schedule}", Scope.READ)
async def get_schedule(call: Call, schedule: JobView) -> ScheduleAnswer:
    """Show a schedule."""
    if schedule.record is not None:
        call.tag(schedule.record.state.version, schedule.record.state.token)
    return (await _show_all(call, [schedule]))[0]


@routes.put("/schedules/{schedule}", Scope.WRITE)
async def replace_schedule(call: Call, schedule: JobView, body: ScheduleParts) -> ScheduleAnswer:
    """Change a schedule. What is left out stays as it is, as with PATCH."""
    require_source(call)
    record = readable(schedule)
    job = _changed(record.job, body)
    found = pipeline_of(job)
    pipeline = await call.service.store.pipeline(found.pipeline) if found else None
    if pipeline is not None:
        check_right(pipeline.action.kind, call.identity)
        if job.schedule != record.job.schedule and isinstance(job.schedule, Cron):
            await _refuse_same(call, pipeline, job.schedule)
    match = Match(call)

    def check(_: str, found: Record | None) -> None:
        match.check(found)
        if found is None or found.state.version != record.state.version:
            raise changed_meanwhile(None if found is None else found.state.version)

    return await _answer(call, await _define(call, job, check))


@routes.patch("/schedules/{schedule}", Scope.WRITE)
async def patch_schedule(call: Call, schedule: JobView, body: ScheduleParts) -> ScheduleAnswer:
    """Change some parts of a schedule. A new rule counts from now on, as does one that is on again."""
    return await replace_schedule(call, schedule, body)


@routes.delete("/schedules/{schedule}", Scope.WRITE, status=204)
async def remove_schedule(call: Call, schedule: JobView) -> RemovedSchedule | None:
    """Remove a schedule. What runs goes on, and its history can be read."""
    require_source(call)
    name, match = schedule.key.partition("/")[2], Match(call)
    found = await call.ops.define(
        API_SOURCE,
        Changes(removed=(name,)),
        check=lambda _, record: match.check(record),
        dry_run=call.dry_run,
    )
    effect = found[schedule.key].effect if schedule.key in found else None
    if not call.dry_run:
        return None
    plan = await plan_of(call, Changes(removed=(name,)))
    return RemovedSchedule(id=name, would=effect and show_would(effect), plan=plan)


class ScheduleBackfill(
    msgspec.Struct,
    forbid_unknown_fields=True,
    frozen=True,
    kw_only=True,
    rename={"since": "from", "until": "to"},
):
    """Occurrences of the past to run: those that were missed, those that failed, or all."""

    since: Instant
    until: Instant
    which: Literal["missed", "failed", "all"] = "missed"


@routes.post("/schedules/{schedule}/backfills", Scope.OPERATE, status=202)
async def backfill_schedule(call: Call, schedule: JobView, body: ScheduleBackfill) -> Backfilled:
    """Run occurrences of the past. 409 if there are more than 1,000; 503 if no node can start them."""
    if not call.identity.allows(Scope.OPERATE, API_SOURCE):
        raise ProblemError(403, "LIMITED_TOKEN", "your token is limited to other sources")
    record, now = readable(schedule), await call.service.store.now()
    if body.until > now or body.since > body.until:
        detail = "to lies in the future" if body.until > now else "to lies before from"
        raise ProblemError(422, "INVALID", detail, errors=[Fault(pointer="/to", detail=detail)])
    await require_executor(call, schedule)
    # Between the last occurrence that was met and now there is none.
    until = min(body.until, record.state.served_until or now)
    effect = await call.ops.backfill(
        schedule.key, min(body.since, until), until, which=Which(body.which), dry_run=call.dry_run
    )
    runs = tuple(RunRef(id=id_of(run), key=run) for run in effect.runs)
    call.after = {"runs": len(runs)}
    return Backfilled(job=schedule.key, runs=runs, dry_run=call.dry_run, would=show_would(effect))


# -- what they share -------------------------------------------------------------------------------


def _rule(cron: str, timezone: str) -> Cron:
    try:
        return Cron(cron, timezone=timezone)
    except FoliotError as error:
        pointer = "/timezone" if "timezone" in error.details else "/cron"
        fault = Fault(pointer=pointer, detail=error.message, hint=error.hint)
        raise ProblemError(422, "INVALID", error.message, hint=error.hint, errors=[fault]) from None


def _changed(job: Job, parts: ScheduleParts) -> Job:
    cron = cron_of(job) if parts.cron is UNSET else parts.cron
    timezone = getattr(job.schedule, "timezone", "UTC") if parts.timezone is UNSET else parts.timezone
    enabled = job.enabled if parts.enabled is UNSET else parts.enabled
    return replace(job, schedule=_rule(cron, timezone), enabled=enabled)


async def _refuse_same(call: Call, pipeline: Pipeline, rule: Cron) -> None:
    """409 if a schedule of the pipeline has the rule."""
    for view in await jobs_of(call.service.store, pipeline.id):
        if view.record is not None and is_schedule(view) and view.record.job.schedule == rule:
            name = view.key.partition("/")[2]
            detail = f"the pipeline has a schedule {rule.expression} already: {name}"
            hint = "PATCH that one"
            raise ProblemError(409, "ALREADY_THERE", detail, hint=hint, version=view.record.state.version)


async def _schedules(call: Call, query: SchedulesQuery, after: str, most: int) -> tuple[list[JobView], bool]:
    """So many schedules at most, from a key on; whether there are more."""
    found: list[JobView] = []
    store = call.service.store
    if query.pipeline_id is not None:
        views = [view for view in await jobs_of(store, query.pipeline_id) if view.key > after]
        found = [view for view in views if _is_meant(view, query)]
        return found[:most], len(found) > most
    asked = JobQuery(source=API_SOURCE, after=after, limit=_PAGE)
    while len(found) <= most and (page := await store.jobs(asked)):
        found += [view for view in page if _is_meant(view, query)]
        asked = asked._replace(after=page[-1].key)
    return found[:most], len(found) > most


def _is_meant(view: JobView, query: SchedulesQuery) -> bool:
    is_enabled = view.record is not None and view.record.job.enabled
    return is_schedule(view) and query.enabled in (None, is_enabled)


async def _define(call: Call, job: Job, check: Check) -> Defined:
    found: Mapping[str, Defined] = await call.ops.define(
        API_SOURCE,
        Changes(declared=(job,)),
        check=check,
        dry_run=call.dry_run,
    )
    return found[job.key]


async def _answer(call: Call, defined: Defined) -> ScheduleAnswer:
    effect, view = defined
    record = readable(view)
    call.after = version_of(view)
    if call.about != f"job:{view.key}":  # it is new, and the entry names its pipeline
        call.touched[f"job:{view.key}"] = call.after
    call.tag(record.state.version, record.state.token)
    shown = (await _show_all(call, [view]))[0]
    plan = await plan_of(call, Changes(declared=(record.job,)))
    return msgspec.structs.replace(shown, dry_run=call.dry_run, would=show_would(effect), plan=plan)


async def _show_all(call: Call, views: list[JobView]) -> list[ScheduleAnswer]:
    pipelines: dict[str, Pipeline | None] = {}
    for view in views:
        found = None if view.record is None else pipeline_of(view.record.job)
        if found is not None and found.pipeline not in pipelines:
            pipelines[found.pipeline] = await call.service.store.pipeline(found.pipeline)
    return [_show(call, view, pipelines) for view in views]


def _show(call: Call, view: JobView, pipelines: Mapping[str, Pipeline | None]) -> ScheduleAnswer:
    name = view.key.partition("/")[2]
    job, state, _ = view.record or (None, None, ())
    found = None if job is None else pipeline_of(job)
    pipeline = None if found is None else pipelines.get(found.pipeline)
    return ScheduleAnswer(
        id=name,
        pipeline_id=found and found.pipeline,
        namespace=pipeline and pipeline.namespace,
        layer=pipeline and pipeline.layer,
        pipeline=pipeline and pipeline.name,
        cron=cron_of(job) if job else None,
        timezone=getattr(job.schedule, "timezone", None) if job else None,
        enabled=job is not None and job.enabled,
        next_run_at=utc(next_at(view)),
        last_run_at=utc(state.last_attempt_at) if state else None,
        last_run_id=id_of(state.last_run) if state and state.last_run else None,
        version=state.version if state else 0,
        created_at=utc(state.created_at) if state else None,
        updated_at=utc(state.defined_at or state.created_at) if state else None,
        damage=view.problem,
        links={"self": call.link("schedules", name), "job": call.link("jobs", view.key)},
    )
