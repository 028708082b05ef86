"""Routes for commands on jobs: pause, resume, run, backfill; and bulk actions on many jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from foliot.api.answers import Backfilled, Bulk, BulkItem, Changed, Requested, RunRef
from foliot.api.call import Call
from foliot.api.cursor import Paged
from foliot.api.executor import require_executor
from foliot.api.finders import FINDERS, find_job, living
from foliot.api.ids import id_of
from foliot.api.jobs import Text
from foliot.api.problem import ProblemError, problem_of
from foliot.api.reading import Instant
from foliot.api.route import Group
from foliot.api.show import show_would, status_of, utc
from foliot.errors import CommandRefusedError, FoliotError, StoreUnavailableError
from foliot.model.access import Scope
from foliot.model.payload import payload_text
from foliot.model.query import JobState
from foliot.operations import Effect, Which
from foliot.protocols import JobPage, JobQuery, JobView

MOST_IN_BULK = 500
_MOST_PAGES = 50  # that are read to count the jobs of a filter
_AUDITED = {"pause": "pause", "resume": "resume", "run": "trigger"}  # the verb that the audit has for one job
routes = Group("jobs", FINDERS)


class _Body(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    pass


class PauseBody(_Body, frozen=True):
    """Why a job is paused, and when the pause ends by itself. The reason is kept until the job is resumed."""

    reason: Annotated[str, Meta(max_length=200)] = ""
    until: Instant | None = None


@routes.post("/jobs/{job}/pause", Scope.OPERATE)
async def pause(call: Call, job: JobView, body: PauseBody) -> Changed:
    """Let the occurrences of a job pass without a run, until a time or until resumed. Open runs go on."""
    paused = call.ops.pause(living(job), reason=body.reason, until=body.until, dry_run=call.dry_run)
    return _show(await paused)


@routes.post("/jobs/{job}/resume", Scope.OPERATE)
async def resume(call: Call, job: JobView) -> Changed:
    """Let a paused job run again, from now on. Occurrences during the pause do not run."""
    return _show(await call.ops.resume(living(job), dry_run=call.dry_run))


def _show(effect: Effect) -> Changed:
    return Changed(
        job=effect.job,
        changed=effect.has_changed,
        text=effect.text,
        paused_at=utc(effect.paused_at),
        next_at=utc(effect.next_at),
        reason=effect.reason or None,
        dry_run=effect.is_dry_run,
        would=show_would(effect),
    )


class RunBody(_Body, frozen=True):
    """A JSON object for the run to work with."""

    payload: dict[str, Any] | None = None


@routes.post("/jobs/{job}/runs", Scope.OPERATE, status=202)
async def trigger(call: Call, job: JobView, body: RunBody) -> Requested:
    """Run a job now, once, whatever its schedule says. The same Idempotency-Key counts once.

    503 if no node can start it; then no run is left waiting.
    """
    await require_executor(call, living(job))
    effect = await call.ops.trigger(living(job), request=call.key, payload=body.payload, dry_run=call.dry_run)
    if not effect.has_changed and effect.attempt is not None:
        if effect.attempt.payload != payload_text(body.payload):
            detail = "the Idempotency-Key was used for another payload"
            raise ProblemError(422, "KEY_REUSED", detail, hint="use a new key for each new run")
        call.replayed()
    return show_request(call, effect)


def show_request(call: Call, effect: Effect) -> Requested:
    """The answer to a request for a run."""
    link = call.link("runs", effect.run)
    if not call.dry_run:
        call.headers["Location"] = link
    call.after = {"run": effect.run}
    return Requested(
        id=id_of(effect.run),
        run_id=id_of(effect.run),
        key=effect.run,
        job=effect.job,
        status="pending" if effect.attempt is None else status_of(effect.attempt),
        new=effect.has_changed,
        links={"self": link, "job": call.link("jobs", effect.job)},
        dry_run=effect.is_dry_run,
        would=show_would(effect),
    )


class BackfillBody(_Body, frozen=True, rename={"first": "from", "last": "to"}):
    """A period of the past, both ends included, and which of its occurrences: missed, failed or all."""

    first: Instant
    last: Instant
    which: Which | None = None


@routes.post("/jobs/{job}/backfills", Scope.OPERATE, status=202)
async def backfill(call: Call, job: JobView, body: BackfillBody) -> Backfilled:
    """Run occurrences of the past, each under its own key. Without `which`: all, if none of them has run.

    503 if no node can start them.
    """
    if body.last < body.first:
        raise ProblemError(422, "INVALID", "`to` lies before `from`", hint="give the earlier time as `from`")
    if body.first > await call.ops.store.now():
        raise ProblemError(422, "INVALID", "only past occurrences can be filled in", hint="an earlier `from`")
    await require_executor(call, living(job))
    try:
        effect = await call.ops.backfill(
            living(job), body.first, body.last, which=body.which, dry_run=call.dry_run
        )
    except CommandRefusedError as error:
        if "only past occurrences" in error.message:
            raise ProblemError(422, "INVALID", error.message, hint=error.hint) from None
        raise
    call.after = {"runs": len(effect.runs)}
    runs = tuple(RunRef(id=id_of(run), key=run) for run in effect.runs)
    return Backfilled(job=effect.job, runs=runs, dry_run=effect.is_dry_run, would=show_would(effect))


# -- many at once ----------------------------------------------------------------------------------


class BulkFilter(_Body, frozen=True):
    """Which jobs: the same filters as for the list of jobs."""

    source: Text | None = None
    state: JobState | None = None
    queue: Text | None = None
    kind: Text | None = None
    search: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


Act = Literal["pause", "resume", "run"]


class BulkBody(_Body, frozen=True):
    """An action, and its jobs: `ids`, or a `filter` with `expect`, the number of jobs that it fits.

    `cursor`: the `next` of the answer before.
    """

    action: Act
    ids: Annotated[list[Text], Meta(min_length=1, max_length=MOST_IN_BULK)] | None = None
    filter: BulkFilter | None = None
    expect: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    cursor: Annotated[str, Meta(max_length=4000)] | None = None
    reason: Annotated[str, Meta(max_length=200)] = ""


class _Place(Paged, frozen=True, kw_only=True):
    """The facts that a cursor of a bulk action belongs to."""

    action: str
    filter: BulkFilter


@routes.post("/jobs/bulk", Scope.OPERATE)
async def bulk(call: Call, body: BulkBody) -> Bulk:
    """Pause, resume or run many jobs. Each job has its own result: a refusal does not stop the others."""
    if (body.ids is None) == (body.filter is None):
        raise ProblemError(422, "INVALID", "give either `ids` or `filter`")
    if body.filter is None:
        ids, following = body.ids or [], None
    else:
        ids, following = await _fitting(call, body, body.filter)
    results = await carry_out(call, body.action, ids, body.reason)
    return Bulk(results=tuple(results), next=following, dry_run=call.dry_run)


async def carry_out(call: Call, action: Act, ids: Sequence[str], reason: str) -> list[BulkItem]:
    """Do something to each of these jobs."""
    results = [await _one(call, action, one, reason) for one in ids]
    refused = sum(one.code is not None for one in results)
    call.after = {"action": action, "jobs": len(results), "refused": refused}
    return results


async def page_that_fits(
    call: Call, chosen: BulkFilter, action: Act, cursor: str | None, limit: int = MOST_IN_BULK
) -> tuple[list[str], str | None]:
    """The ids of some jobs that fit a filter, and the cursor of those that follow."""

    async def ask(source: str | None, after: str) -> JobPage:
        return await call.ops.list_jobs(
            JobQuery(
                source=source,
                state=chosen.state,
                queue=chosen.queue,
                kind=chosen.kind,
                search=chosen.search,
                after=after,
                limit=limit,
            )
        )

    place = _Place(cursor=cursor, action=action, filter=chosen)
    views, following = await call.page(place, chosen.source, ask)
    return [id_of(view.key) for view in views], following


async def _fitting(call: Call, body: BulkBody, chosen: BulkFilter) -> tuple[list[str], str | None]:
    if body.expect is None:
        hint = "count what GET /api/v1/jobs gives for the same filter"
        raise ProblemError(422, "INVALID", "a filter needs `expect`: how many jobs it fits", hint=hint)
    if body.cursor is None:
        count, cursor = 0, None
        for _ in range(_MOST_PAGES):
            ids, cursor = await page_that_fits(call, chosen, body.action, cursor)
            count += len(ids)
            if cursor is None or count > body.expect:
                break
        else:
            detail = "the filter has to look at too many jobs"
            raise ProblemError(
                422, "TOO_MANY", detail, hint="narrow it by its source, or name the jobs by their ids"
            )
        if count != body.expect:
            found = f"more than {body.expect}" if count > body.expect else str(count)
            detail = f"the filter fits {found} jobs, and {body.expect} were expected"
            raise ProblemError(409, "OTHER_COUNT", detail, hint="look at the list again")
    return await page_that_fits(call, chosen, body.action, body.cursor)


async def _act(call: Call, action: Act, job: JobView, reason: str) -> Effect:
    match action:
        case "pause":
            return await call.ops.pause(job, reason=reason, dry_run=call.dry_run)
        case "resume":
            return await call.ops.resume(job, dry_run=call.dry_run)
        case _:
            await require_executor(call, job)
            return await call.ops.trigger(job, request=call.key, dry_run=call.dry_run)


async def _one(call: Call, action: Act, id_: str, reason: str) -> BulkItem:
    try:
        job = living(await find_job(call, id_))
        if call.dry_run:
            effect = await _act(call, action, job, reason)
        else:  # each job has its own entry in the audit, because each has its own result
            async with call.auditor.change(_AUDITED[action], f"job:{job.key}") as change:
                effect = await _act(call, action, job, reason)
                change.detail = effect.text
    except StoreUnavailableError:
        raise
    except FoliotError as error:
        problem = problem_of(error)
        return BulkItem(id=id_, status=problem.status, changed=False, text=problem.message, code=problem.code)
    return BulkItem(id=id_, status=200, changed=effect.has_changed, text=effect.text)
