"""Declare and change jobs of the API: the form, what the change would do, and what another person changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from starlette.responses import Response

from foliot.api import jobs
from foliot.api.answers import ChangedJob
from foliot.api.call import Call
from foliot.api.definition import JobParts, NewJobBody, make_schedule
from foliot.api.job_history import differences_of
from foliot.api.problem import Fault, ProblemError, problem_of
from foliot.api.reading import read_struct
from foliot.api.show import definition_of, show_whole_job
from foliot.dashboard.endpoint import ReturnedFormError
from foliot.dashboard.frame import frame_of
from foliot.dashboard.route import Form, Pages
from foliot.dashboard.view import leave, render
from foliot.errors import FoliotError
from foliot.model.access import Scope
from foliot.model.json_text import MisfitError, read_value
from foliot.model.shape import DATA
from foliot.model.version import API_SOURCE
from foliot.operations import readable
from foliot.protocols import JobView

pages = Pages("job_edit")
_EMPTY = {
    "name": "",
    "schedule": "0 7 * * *",
    "timezone": "UTC",
    "kind": "",
    "payload": "{}",
    "queue": "default",
    "policy": "{}",
    "version": "",
}
_SHOWN = 10
_STALE = 412


class Moved(NamedTuple):
    """What a new rule changes of the next occurrences."""

    kept: list[datetime]
    added: list[datetime]
    removed: list[datetime]


@pages.get("/jobs/new", Scope.WRITE)
async def new_job_page(call: Call) -> Response:
    """An empty form."""
    return await _page(call, None, {"enabled": "yes"})  # a box that is not ticked is not sent


@pages.post("/jobs/new", Scope.WRITE)
async def create_job(call: Call, form: Form) -> Response:
    """Show what a new job would do; when that is confirmed, declare it."""
    try:
        given = _fields(form)
        given = {name: value for name, value in given.items() if value != ""}
        done = await jobs.create_job(
            call, read_struct({**given, "name": form.get("name") or None}, NewJobBody)
        )
    except FoliotError as error:
        raise await _returned(call, None, form, error) from None
    return await _done(call, None, form, done, f"{done.key} is declared.")


@pages.get("/jobs/{job}/edit", Scope.WRITE)
async def edit_job_page(call: Call, job: JobView) -> Response:
    """The form of a job as it is."""
    jobs.refuse_owned(job)
    return await _page(call, job, _typed(call, job))


@pages.post("/jobs/{job}/edit", Scope.WRITE)
async def patch_job(call: Call, job: JobView, form: Form) -> Response:
    """Show what a change would do; when that is confirmed, make it, unless another person was quicker."""
    try:
        given = _fields(form)
        given["action"]["payload"] = _with_secrets(call, job, **given["action"])
        done = await jobs.patch_job(call, job, read_struct(given, JobParts))
    except FoliotError as error:
        raise await _returned(call, job, form, error) from None
    return await _done(call, job, form, done, f"{done.key} is at version {done.version}.")


async def _done(call: Call, job: JobView | None, form: Form, done: ChangedJob, told: str) -> Response:
    if not call.dry_run:
        return leave(call, frame_of(call).job(done.key, tab="definition"), told)
    return await _page(call, job, form.typed, preview=done, moved=await _moved(call, job, form))


async def _returned(call: Call, job: JobView | None, form: Form, error: FoliotError) -> ReturnedFormError:
    """The form with what was typed, and what is wrong with it."""
    problem = problem_of(error)
    typed, changed = dict(form.typed), ()
    if problem.status == _STALE and job is not None:
        changed = await _changes_of_others(call, job, form.get("version"))
        typed["version"] = str(readable(job).state.version)
    page = await _page(call, job, typed, problem=problem, status=problem.status, changed=changed)
    return ReturnedFormError(problem, page)


async def _changes_of_others(call: Call, job: JobView, seen: str) -> Any:
    """What differs between the version that the form was made of, and that of now."""
    known = {str(one.number): one.job for one in await call.ops.store.versions(job.key)}
    before = known.get(seen)
    if before is None:
        return ()
    return differences_of(definition_of(before), definition_of(readable(job).job))


def _fields(form: Form) -> dict[str, Any]:
    """The fields as the API takes them; 422 for JSON that cannot be read."""
    return {
        "schedule": form.get("schedule"),
        "timezone": form.get("timezone") or "UTC",
        "queue": form.get("queue") or "default",
        "enabled": form.get("enabled") == "yes",
        "action": {"kind": form.get("kind"), "payload": _json(form, "payload")},
        "policy": _json(form, "policy"),
    }


def _with_secrets(call: Call, job: JobView, kind: str, payload: Any) -> Any:
    """The payload that was typed, with the secrets that the form has shown as a mask.

    422 if anything else of the action changes: a new URL would be sent a secret that the person cannot see.
    """
    action, record = show_whole_job(call, job).action, job.record
    if record is None or action is None:
        return payload
    real = DATA.write(record.job.action.data)
    if kind == action.kind and payload == action.payload:
        return real
    if masked := list(_still_masked(payload, action.payload, real)):
        names = ", ".join(masked)
        detail = f"what the job does changes, and {names} is still masked"
        hint = f"type the value of {names} again: a value that is not shown is kept only for the same action"
        fault = Fault(pointer="/payload", detail=detail, hint=hint)
        raise ProblemError(422, "INVALID", detail, hint=hint, errors=[fault])
    return payload


def _still_masked(typed: Any, shown: Any, real: Any, path: str = "") -> Iterator[str]:
    """The places at which what was typed is a mask that the form has shown."""
    if shown == real:
        return
    if isinstance(typed, dict) and isinstance(shown, dict) and isinstance(real, dict):
        for name in (name for name in typed if name in shown):
            inner = f"{path}.{name}" if path else name
            yield from _still_masked(typed[name], shown[name], real.get(name), inner)
    elif typed == shown:
        yield path or "payload"


def _json(form: Form, name: str) -> Any:
    try:
        return read_value(form.get(name) or "{}")
    except MisfitError as error:
        detail = f"{name} is no JSON: {error.reason}" + (f", at {error.path}" if error.path else "")
        hint = 'such as {"user": 7}'
        raise ProblemError(
            422, "INVALID", detail, hint=hint, errors=[Fault(pointer=f"/{name}", detail=detail, hint=hint)]
        ) from None


def _typed(call: Call, job: JobView) -> dict[str, str]:
    whole = show_whole_job(call, job)
    action = whole.action
    return {
        "name": whole.name,
        "schedule": whole.schedule or "",
        "timezone": whole.timezone or "UTC",
        "kind": action.kind if action else "",
        "payload": json.dumps(action.payload if action else {}, indent=2, ensure_ascii=False),
        "queue": whole.queue or "",
        "policy": json.dumps(whole.policy or {}, indent=2),
        "enabled": "yes" if whole.enabled else "",
        "version": str(whole.version),
    }


async def _moved(call: Call, job: JobView | None, form: Form) -> Moved:
    """Which of the next occurrences stay, come and go."""
    now = await call.ops.store.now()
    rule = make_schedule(form.get("schedule"), form.get("timezone") or "UTC", "standard")
    new = list(rule.upcoming(now, _SHOWN))
    old: Sequence[datetime] = () if job is None else list(readable(job).job.schedule.upcoming(now, _SHOWN))
    horizon = min(max(new, default=now), max(old, default=now)) if old and new else None
    gone = [at for at in old if at not in new and (horizon is None or at <= horizon)]
    return Moved([at for at in new if at in old], [at for at in new if at not in old], gone)


async def _page(
    call: Call,
    job: JobView | None,
    typed: dict[str, str],
    *,
    status: int = 200,
    **more: Any,
) -> Response:
    context = {"preview": None, "moved": None, "problem": None, "changed": (), **more}
    if job is None:
        jobs.require_source(call)
    heading = "New job" if job is None else f"Edit {job.key}"
    frame = frame_of(call)
    return await render(
        call,
        "edit.html",
        heading=heading,
        command=("job", "list", "--source", API_SOURCE) if job is None else ("job", "show", job.key),
        status=status,
        typed={**_EMPTY, **typed},
        key=None if job is None else job.key,
        action=frame.url("/jobs/new") if job is None else frame.job(job.key, "edit"),
        **context,
    )
