"""Fill in the past: a time, then what would run in it, then a confirmation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from starlette.responses import Response

from foliot.api import job_commands
from foliot.api.call import Call
from foliot.api.finders import living
from foliot.api.job_commands import BackfillBody
from foliot.api.job_history import LedgerQuery, occurrences
from foliot.api.problem import Fault, ProblemError, problem_of
from foliot.api.reading import read_struct
from foliot.dashboard.endpoint import ReturnedFormError
from foliot.dashboard.frame import frame_of
from foliot.dashboard.route import Form, Pages
from foliot.dashboard.times import read_instant
from foliot.dashboard.view import leave, render
from foliot.errors import FoliotError
from foliot.model.access import Scope
from foliot.operations import Which, readable
from foliot.protocols import JobView
from foliot.schedules.zone import load_zone

pages = Pages("backfill")
_DAY = timedelta(days=1)
_SURE = 50  # runs from which on their number must be typed
_SHOWN = 200


@pages.get("/jobs/{job}/backfill", Scope.OPERATE)
async def backfill_page(call: Call, job: JobView) -> Response:
    """Ask for a time."""
    living(job)
    now = await call.ops.store.now()
    zone = _zone(job)
    typed = {"from": _local(now - _DAY, zone), "to": _local(now, zone), "which": "missed"}
    return await _page(call, job, typed)


@pages.post("/jobs/{job}/backfill", Scope.OPERATE)
async def backfill(call: Call, job: JobView, form: Form) -> Response:
    """Show what would run; when that is confirmed, have it run."""
    frame = frame_of(call)
    try:
        body = _read(job, form, await call.ops.store.now())
        would = await _would(call, job, body)
    except FoliotError as error:
        problem = problem_of(error)
        page = await _page(call, job, form.typed, problem, status=problem.status)
        raise ReturnedFormError(problem, page) from None
    if call.dry_run:
        return await _preview(call, job, form, body, would)
    try:
        _check_sure(form, job, len(would))
        done = await job_commands.backfill(call, job, body)
    except FoliotError as error:
        problem = problem_of(error)
        raise ReturnedFormError(problem, await _preview(call, job, form, body, would, problem)) from None
    return leave(call, frame.job(job.key, tab="runs"), f"{len(done.runs)} runs of the past are asked for.")


async def _preview(  # noqa: PLR0913, PLR0917 - a form, what it would do, and what is wrong with it
    call: Call,
    job: JobView,
    form: Form,
    body: BackfillBody,
    would: Sequence[Any],
    problem: ProblemError | None = None,
) -> Response:
    """What would run, beside what became of each occurrence so far."""
    lines = await occurrences(call, job, LedgerQuery(first=body.first, last=body.last, limit=_SHOWN))
    return await _page(
        call, job, form.typed, problem, runs=would, lines=lines.occurrences, has_more=lines.next,
        status=problem.status if problem else 200,
    )  # fmt: skip


def _read(job: JobView, form: Form, now: datetime) -> BackfillBody:
    zone, given = _zone(job), dict[str, Any]()
    for name in ("from", "to"):
        at = read_instant(form.get(name), zone, name)
        if at is None:
            fault = Fault(pointer=f"/{name}", detail="a time is missing", hint="such as 2026-11-15T07:00")
            raise ProblemError(422, "INVALID", f"{name}: a time is missing", hint=fault.hint, errors=[fault])
        given[name] = at
    if form.get("which") in list(Which):
        given["which"] = form.get("which")
    # Between the last occurrence that was met and now there is none: `now` means up to that one.
    served = readable(job).state.served_until
    if served is not None and given["from"] <= served < given["to"] <= now:
        given["to"] = served
    return read_struct({name: _text(value) for name, value in given.items()}, BackfillBody)


def _text(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


async def _would(call: Call, job: JobView, body: BackfillBody) -> Sequence[Any]:
    """The runs that would start now."""
    is_dry_run, call.dry_run = call.dry_run, True
    try:
        return (await job_commands.backfill(call, job, body)).runs
    finally:
        call.dry_run = is_dry_run


def _check_sure(form: Form, job: JobView, count: int) -> None:
    """409 if it is not what the preview has shown; 422 if many runs are to start, and no number was typed."""
    if (form.get("count"), form.get("seen")) != (str(count), str(readable(job).state.version)):
        detail = f"{count} runs would start now, and the preview that you have seen is older"
        raise ProblemError(409, "CHANGED", detail, hint="look at it again, and then confirm")
    if count > _SURE and form.get("typed") != str(count):
        detail = f"type {count} to start {count} runs"
        fault = Fault(pointer="/typed", detail=detail, hint="this protects against a typing error")
        raise ProblemError(422, "INVALID", detail, hint=fault.hint, errors=[fault])


async def _page(
    call: Call, job: JobView, typed: dict[str, str], problem: ProblemError | None = None, **more: Any
) -> Response:
    context: dict[str, Any] = {"runs": None, "lines": (), "has_more": None, "status": 200, **more}
    words = ("job", "backfill", job.key, "--from", typed.get("from", ""), "--to", typed.get("to", ""))
    return await render(
        call,
        "backfill.html",
        heading=f"Backfill {job.key}",
        command=(*words, "--dry-run"),
        key=job.key,
        zone=_zone(job) or "UTC",
        typed=typed,
        problem=problem,
        which=[one.value for one in Which],
        sure=_SURE,
        seen=readable(job).state.version,
        **context,
    )


def _zone(job: JobView) -> str | None:
    return getattr(readable(job).job.schedule, "timezone", None)


def _local(at: datetime, zone: str | None) -> str:
    return f"{at.astimezone(load_zone(zone or 'UTC')):%Y-%m-%dT%H:%M}"
