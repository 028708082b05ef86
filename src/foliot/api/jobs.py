"""Jobs: list, show, declare, change, remove."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from foliot.api.answers import Changed, ChangedJob, ChangedJobs, JobList, WholeJob
from foliot.api.call import Call
from foliot.api.cursor import Paged, Query
from foliot.api.definition import JobBody, JobParts, NewJobBody, change_job, make_job
from foliot.api.finders import FINDERS, find_job
from foliot.api.ids import key_of
from foliot.api.plans import plan_of
from foliot.api.problem import ProblemError
from foliot.api.route import Group
from foliot.api.show import definition_of, show_job, show_whole_job, show_would
from foliot.errors import JobNotFoundError
from foliot.model.access import Scope
from foliot.model.job import Job, is_name
from foliot.model.query import JobOrder, JobState
from foliot.model.state import Record
from foliot.model.version import API_SOURCE
from foliot.operations import Check, Defined, readable
from foliot.protocols import Changes, JobPage, JobQuery, JobView

MOST_IN_BATCH = 1000
Text = Annotated[str, Meta(max_length=400)]


async def find_place(call: Call, text: str) -> JobView:
    """A job of the API, which need not be there yet."""
    key = key_of(text) or ""
    source, _, name = key.partition("/")
    try:
        return await find_job(call, text)
    except JobNotFoundError:
        if source == API_SOURCE and is_name(name) and call.sees(API_SOURCE):
            return JobView(key, None)
        raise


routes = Group("jobs", {**FINDERS, "place": FINDERS["job"]._replace(find=find_place)})


class JobsQuery(Paged, frozen=True):
    """Which jobs. `search` is a part of the key; `key` finds one job."""

    source: Text | None = None
    state: JobState | None = None
    queue: Text | None = None
    kind: Text | None = None
    search: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    order: JobOrder = JobOrder.KEY
    removed: bool = False
    key: Text | None = None


@routes.get("/jobs", Scope.READ)
async def list_jobs(call: Call, query: JobsQuery) -> JobList:
    """List jobs in the order of their keys, or of when they are due.

    Foliot's own jobs, which send alerts, are left out, unless `source` is `foliot.alerts`.
    """
    views, following = await page_of_jobs(call, query)
    is_partial = following is not None and query.search is not None and len(views) < query.limit
    return JobList(jobs=tuple(show_job(call, view) for view in views), next=following, partial=is_partial)


async def page_of_jobs(call: Call, query: JobsQuery) -> tuple[list[JobView], str | None]:
    """Some jobs that who asks may see, and the cursor of the next page."""

    async def ask(source: str | None, after: str) -> JobPage:
        asked = JobQuery(
            source=source, keys=None if query.key is None else frozenset((query.key,)),
            with_removed=query.removed, after=after, limit=query.limit, state=query.state,
            search=query.search, queue=query.queue, kind=query.kind, order=query.order,
        )  # fmt: skip
        return await call.ops.list_jobs(asked)

    with call.service.heavy.held("search") if query.search else nullcontext():
        views, following = await call.page(query, query.source, ask)
    return [view for view in views if call.sees(view.key.partition("/")[0])], following


class JobOfQuery(Query, frozen=True):
    """`removed`: also if it was removed."""

    removed: bool = False


@routes.get("/jobs/{job}", Scope.READ)
async def show(call: Call, job: JobView, query: JobOfQuery) -> WholeJob:
    """Show all that is known of a job."""
    if job.record is not None:
        if job.record.state.removed_at is not None and not query.removed:
            raise JobNotFoundError(job.key, hint="it was removed: ?removed=true shows what it was")
        call.tag(job.record.state.version, job.record.state.token)
    return show_whole_job(call, job)


def _new_object(call: Call, body: NewJobBody) -> str:
    return f"job:{API_SOURCE}/{body.name or call.new_id}"


@routes.post("/jobs", Scope.WRITE, status=201, object=_new_object)
async def create_job(call: Call, body: NewJobBody) -> ChangedJob:
    """Declare a job. 409 if its name is taken, unless the Idempotency-Key and the body are the same."""
    require_source(call)
    key, is_replay = call.key, False
    job = make_job(body.name or call.new_id, body, call.identity)

    def check(_: str, record: Record | None) -> None:
        nonlocal is_replay
        if record is None or record.state.removed_at is not None:
            return
        is_replay = key is not None and job.says_the_same(record.job)
        if is_replay:
            return
        if key is not None and body.name is None:
            detail = "the Idempotency-Key was used for another body"
            raise ProblemError(422, "KEY_REUSED", detail, hint="use a new key for each new job")
        hint = "PUT replaces it, PATCH changes it"
        raise ProblemError(
            409, "ALREADY_THERE", f"there is a job {job.key} already", hint=hint, version=record.state.version
        )

    answer = await define(call, job, check)
    call.headers["Location"] = call.link("jobs", job.key)
    if is_replay:
        call.replayed()
    return answer


class BatchBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Jobs to declare: new ones, and others as they are to be."""

    jobs: Annotated[list[NewJobBody], Meta(min_length=1, max_length=MOST_IN_BATCH)]


def _batch_object(call: Call, body: BatchBody) -> str:
    call.after = {"jobs": [job.name for job in body.jobs]}  # it is told before the change, too
    return f"source:{API_SOURCE}"


@routes.post("/jobs/batch", Scope.WRITE, is_batch=True, object=_batch_object)
async def declare_jobs(call: Call, body: BatchBody) -> ChangedJobs:
    """Declare many jobs, new or not: all, or none if one is wrong."""
    require_source(call)
    jobs: dict[str, Job] = {}
    for index, one in enumerate(body.jobs):
        if one.name is None or f"{API_SOURCE}/{one.name}" in jobs:
            detail = f"jobs[{index}]: each job of a batch needs a name of its own"
            raise ProblemError(422, "INVALID", detail)
        try:
            job = make_job(one.name, one, call.identity)
        except ProblemError as error:
            error.message = f"jobs[{index}]: {error.message}"
            error.errors = tuple(
                msgspec.structs.replace(fault, pointer=f"/jobs/{index}{fault.pointer}")
                for fault in error.errors
            )
            raise
        jobs[job.key] = job
    changes = Changes(declared=tuple(jobs.values()))
    defined = await call.ops.define(API_SOURCE, changes, check=lambda *_: None, dry_run=call.dry_run)
    note_definitions(call, defined)
    shown = tuple(_show(call, defined[key]) for key in jobs)
    return ChangedJobs(jobs=shown, dry_run=call.dry_run, plan=await plan_of(call, changes))


@routes.put("/jobs/{place}", Scope.WRITE)
async def replace_job(call: Call, place: JobView, body: JobBody) -> ChangedJob:
    """Declare a job as it is to be: 201 if it is new."""
    refuse_owned(place)
    job = make_job(place.key.partition("/")[2], body, call.identity)
    is_new, match = True, Match(call)

    def check(_: str, record: Record | None) -> None:
        nonlocal is_new
        is_new = record is None or record.state.removed_at is not None
        match.check(record)

    answer = await define(call, job, check)
    if is_new:
        call.status = 201
        call.headers["Location"] = call.link("jobs", job.key)
    return answer


@routes.patch("/jobs/{job}", Scope.WRITE)
async def patch_job(call: Call, job: JobView, body: JobParts) -> ChangedJob:
    """Change some parts of a job."""
    refuse_owned(job)
    record = readable(job)
    if record.state.removed_at is not None:
        raise JobNotFoundError(job.key)
    changed = make_job(record.job.name, change_job(record.job, body, call.identity), call.identity)
    seen, match = record.state.version, Match(call)

    def check(_: str, found: Record | None) -> None:
        match.check(found)
        if found is None or found.state.removed_at is not None:
            raise JobNotFoundError(job.key)
        if found.state.version != seen:  # what was left out stays as it was meant to be, or not at all
            raise changed_meanwhile(found.state.version)

    return await define(call, changed, check)


@routes.delete("/jobs/{job}", Scope.WRITE, status=204)
async def remove_job(call: Call, job: JobView) -> Changed | None:
    """Remove a job. What runs may end, and its history stays."""
    refuse_owned(job)
    if job.record is None or job.record.state.removed_at is not None:
        raise JobNotFoundError(job.key)
    changes, match = Changes(removed=(job.key.partition("/")[2],)), Match(call)
    found = await call.ops.define(
        API_SOURCE, changes, check=lambda _, record: match.check(record), dry_run=call.dry_run
    )
    effect = found[job.key].effect
    if not call.dry_run:
        return None
    return Changed(
        job=job.key, changed=effect.has_changed, text=effect.text, dry_run=True, would=show_would(effect),
        plan=await plan_of(call, changes),
    )  # fmt: skip


# -- what they share -------------------------------------------------------------------------------


def require_source(call: Call) -> None:
    """403 if a token may not declare jobs of the API."""
    if not call.identity.allows(Scope.WRITE, API_SOURCE):
        detail = f"jobs of the API are of the source {API_SOURCE}, and your token is limited to others"
        raise ProblemError(403, "LIMITED_TOKEN", detail, hint=f"foliot token create --source {API_SOURCE}")


def refuse_owned(view: JobView) -> None:
    """409 if a job is declared elsewhere: there it must be changed."""
    source = view.key.partition("/")[0]
    if source != API_SOURCE:
        detail = f"{view.key} is declared by the source {source}, and can only be changed there"
        hint = "change it where it is declared (GET /api/v1/sources tells where), or pause it"
        raise ProblemError(409, "OWNED_BY_SOURCE", detail, hint=hint)


class Match:
    """What `If-Match` demands. It is read before the change, and checked within the store's step."""

    def __init__(self, call: Call) -> None:
        self._expected = call.expected
        self._must_be_there = "if-match" in call.request.headers

    def check(self, record: Record | None) -> None:
        """412 if another version is there than the one that was named."""
        found = None if record is None or record.state.removed_at is not None else record.state.version
        is_other = self._expected not in (None, found)
        if is_other or (found is None and self._must_be_there):
            raise changed_meanwhile(found)


def changed_meanwhile(version: int | None) -> ProblemError:
    """412, with the version that is there."""
    now = "is not there" if version is None else f"is at version {version}"
    hint = "GET it, and base the change on what is there"
    return ProblemError(412, "VERSION_CHANGED", f"it {now} now", hint=hint, version=version)


def note_definitions(call: Call, defined: Mapping[str, Defined]) -> None:
    """Have the audit tell of each job which definition it has now: so its author is found."""
    for key, (effect, view) in defined.items():
        if effect.has_changed and view.record is not None:
            call.touched[f"job:{key}"] = version_of(view)


def version_of(view: JobView) -> dict[str, Any]:
    """The definition of a job as the audit keeps it; None if it was removed."""
    record = readable(view)
    is_removed = record.state.removed_at is not None
    return {"version": record.state.version, "definition": None if is_removed else definition_of(record.job)}


async def define(call: Call, job: Job, check: Check) -> ChangedJob:
    """Declare one job."""
    found: Mapping[str, Defined] = await call.ops.define(
        API_SOURCE, Changes(declared=(job,)), check=check, dry_run=call.dry_run
    )
    defined = found[job.key]
    call.about = f"job:{job.key}"
    record = readable(defined.view)
    call.after = version_of(defined.view)
    call.tag(record.state.version, record.state.token)
    plan = await plan_of(call, Changes(declared=(job,)))
    return msgspec.structs.replace(_show(call, defined), plan=plan)


def _show(call: Call, defined: Defined) -> ChangedJob:
    effect, view = defined
    return ChangedJob(
        **msgspec.structs.asdict(show_whole_job(call, view)),
        changed=effect.has_changed,
        text=effect.text,
        dry_run=call.dry_run,
        would=show_would(effect),
    )
