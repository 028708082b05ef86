"""Plans: what a change of definitions would do to runs. Nothing is written."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from foliot.access import mask_text
from foliot.api.call import Call
from foliot.api.definition import NewJobBody, make_job
from foliot.api.finders import FINDERS
from foliot.api.plan_answers import PlanAnswer, PlanField
from foliot.api.problem import Fault, ProblemError
from foliot.api.reading import Instant
from foliot.api.route import Group
from foliot.engine.change import ChangePlan
from foliot.engine.change.fields import ACTION_FIELDS
from foliot.errors import CommandRefusedError, ConfigInvalidError, InvalidDurationError
from foliot.model.access import Scope
from foliot.model.job import Job
from foliot.model.version import API_SOURCE
from foliot.model.view import SourceView
from foliot.operations.plan import (
    LONGEST_HORIZON,
    SHORTEST_HORIZON,
    USUAL_HORIZON,
    plan_changes,
    plan_records,
    records_of,
)
from foliot.operations.plan_facts import facts_of
from foliot.operations.plan_sight import HIDDEN, Sight
from foliot.protocols import Changes, Snapshot
from foliot.schedules.duration import parse_duration

MOST_JOBS = 1000
MOST_TEXT = 500_000  # characters: more take longer than a second to read
routes = Group("fleet", FINDERS)


class PlanBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What a source is to declare.

    `config` is the text of a rollcron.yaml, for a repository: the whole of it. For jobs of the API: `jobs`
    to declare, and names of jobs that are `removed`; all others stay as they are.
    """

    config: Annotated[str, Meta(max_length=MOST_TEXT)] | None = None
    jobs: Annotated[list[NewJobBody], Meta(max_length=MOST_JOBS)] = []
    removed: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=MOST_JOBS)] = []
    at: Instant | None = None
    horizon: Annotated[str, Meta(max_length=20, description="From 1h to 400d.")] = "7d"
    local: Annotated[str, Meta(max_length=100)] | None = None


@routes.post("/sources/{source}/plan", Scope.READ, is_question=True, is_heavy=True, is_batch=True)
async def plan_a_change(call: Call, source: SourceView, body: PlanBody) -> PlanAnswer:
    """Tell what a change of a source would do to runs. Nothing is written."""
    horizon = _horizon(body.horizon)
    if (body.config is None) == (not body.jobs and not body.removed):
        detail = "give either config, or jobs and removed"
        raise ProblemError(422, "INVALID", detail, errors=[Fault(pointer="/config", detail=detail)])
    try:
        if body.config is not None:
            plan = await _plan_config(call, source, body.config, body, horizon)
        else:
            plan = await _plan_jobs(call, source, body, horizon)
    except CommandRefusedError as error:
        fault = Fault(pointer="/at", detail=error.message, hint=error.hint)
        raise ProblemError(422, "INVALID", error.message, hint=error.hint, errors=[fault]) from None
    plan = plan._replace(base=source.revision or "", head="request")
    return await asyncio.to_thread(show_plan, call, plan)


async def _plan_config(
    call: Call, source: SourceView, text: str, body: PlanBody, horizon: timedelta
) -> ChangePlan:
    read = call.service.backend.read_config
    if read is None:
        detail = "this process reads no rollcron.yaml"
        raise ProblemError(409, "NOT_READ_HERE", detail, hint="ask a daemon: foliot serve, or foliot api")
    records = await records_of(call.ops, source.source)
    try:  # beside the loop: a large file takes a second to read
        found = await asyncio.to_thread(read, text.encode(), source.source, records, body.local)
    except ConfigInvalidError as error:
        faults = [Fault(pointer="/config", detail=str(one), hint=one.hint) for one in error.problems]
        raise ProblemError(422, "INVALID", error.message, hint=error.hint, errors=faults) from None
    if len(found.jobs) > MOST_JOBS:
        detail = f"config has {len(found.jobs):,} jobs, and a plan takes {MOST_JOBS:,} at most"
        hint = "plan it on the command line: foliot plan"
        fault = Fault(pointer="/config", detail=detail, hint=hint)
        raise ProblemError(422, "INVALID", detail, hint=hint, errors=[fault])
    snapshot = Snapshot("request", found.jobs)
    sight = _sight(call, source.source)
    plan = await plan_records(
        call.ops, source.source, records, snapshot, at=body.at, horizon=horizon, sight=sight
    )
    return plan._replace(effects=(*plan.effects, *found.effects))


async def _plan_jobs(call: Call, source: SourceView, body: PlanBody, horizon: timedelta) -> ChangePlan:
    if source.source != API_SOURCE:
        detail = f"the jobs of {source.source} are declared elsewhere: send its rollcron.yaml as config"
        raise ProblemError(409, "OWNED_BY_SOURCE", detail)

    def make() -> tuple[Job, ...]:
        return tuple(make_job(one.name or call.new_id, one, call.identity) for one in body.jobs)

    jobs = await asyncio.to_thread(make)
    changes = Changes(jobs, tuple(body.removed))
    sight = _sight(call, API_SOURCE)
    return await plan_changes(call.ops, API_SOURCE, changes, at=body.at, horizon=horizon, sight=sight)


def _sight(call: Call, source: str) -> Sight:
    """What jobs do is for those who may operate them, slots are for those who are limited to no source."""
    return Sight(call.identity.allows(Scope.OPERATE, source), call.identity.sources is None)


def _horizon(text: str) -> timedelta:
    try:
        found = parse_duration(text)
    except InvalidDurationError as error:
        fault = Fault(pointer="/horizon", detail=error.message, hint=error.hint)
        raise ProblemError(422, "INVALID", error.message, hint=error.hint, errors=[fault]) from None
    if SHORTEST_HORIZON <= found <= LONGEST_HORIZON:
        return found
    detail = "a horizon lies between 1h and 400d"
    raise ProblemError(422, "INVALID", detail, errors=[Fault(pointer="/horizon", detail=detail)])


async def plan_of(call: Call, changes: Changes) -> PlanAnswer | None:
    """The plan of single jobs of the API, for a dry run; None if it is none."""
    if not call.dry_run:
        return None
    sight = _sight(call, API_SOURCE)
    plan = await plan_changes(call.ops, API_SOURCE, changes, horizon=USUAL_HORIZON, sight=sight)
    return show_plan(call, plan)


async def plan_of_removal(call: Call, source: str) -> PlanAnswer | None:
    """The same, of a source that is removed with all its jobs."""
    if not call.dry_run:
        return None
    records = await records_of(call.ops, source)
    plan = await plan_records(call.ops, source, records, Snapshot("removed", ()), sight=_sight(call, source))
    return await asyncio.to_thread(show_plan, call, plan)


def show_plan(call: Call, plan: ChangePlan) -> PlanAnswer:
    """A plan as it is sent. What a job does is hidden from tokens that may only read, as elsewhere."""
    answer = msgspec.convert(facts_of(plan), PlanAnswer)
    shows = call.identity.allows(Scope.OPERATE, plan.source)
    jobs = tuple(
        msgspec.structs.replace(job, fields=tuple(_field(one, shows=shows) for one in job.fields))
        for job in answer.jobs
    )
    return msgspec.structs.replace(answer, jobs=jobs)


def _field(field: PlanField, *, shows: bool) -> PlanField:
    texts = (None if text is None else mask_text(text) for text in (field.before, field.after))
    before, after = texts if shows or field.field not in ACTION_FIELDS else (HIDDEN, HIDDEN)
    return PlanField(field=field.field, before=before, after=after)
