"""The page of a job: its timeline, why, and all that is known of it. And commands to it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from starlette.responses import Response

from foliot.api import job_commands, jobs
from foliot.api.answers import OccurrenceAnswer, WholeJob, WhyAnswer
from foliot.api.call import Call
from foliot.api.cursor import Paged
from foliot.api.finders import living
from foliot.api.job_commands import PauseBody, RunBody
from foliot.api.job_history import DiffQuery as VersionsDiff
from foliot.api.job_history import LedgerQuery, WhyQuery, diff, ledger_of, versions, why
from foliot.api.problem import ProblemError
from foliot.api.runs import RunsOfJobQuery, list_runs_of_job
from foliot.api.show import show_whole_job
from foliot.api.terms import Status
from foliot.dashboard.frame import frame_of
from foliot.dashboard.job_timeline import Zoom, draw_timeline, draw_year
from foliot.dashboard.policy_words import policy_sentences
from foliot.dashboard.route import Form, Pages, Short, Trail, filters_of
from foliot.dashboard.times import Times, read_instant
from foliot.dashboard.view import leave, render
from foliot.errors import FoliotError
from foliot.model.access import Scope
from foliot.model.version import API_SOURCE
from foliot.operations import Effect, Past, readable
from foliot.protocols import JobView

pages = Pages("job")
Tab = Literal["occurrences", "runs", "definition", "policies"]
_LEDGER = 30
_LONG_ID, _SHORT = re.compile(r"\b[0-9a-f]{32}\b"), 8  # of a node that was given no name


class JobPageQuery(Paged, frozen=True):
    """Which part of the page: a tab, the length of the timeline, an instant to explain; a status of runs."""

    tab: Tab = "occurrences"
    zoom: Zoom = "auto"
    why: bool = False
    at: Short = ""
    to: Short = ""
    status: Status | None = None
    trail: Trail = ""


@pages.get("/jobs/{job}", Scope.READ)
async def job_page(call: Call, job: JobView, query: JobPageQuery) -> Response:
    """A job: what became of its occurrences, what comes, and why."""
    whole = show_whole_job(call, job)
    now = await call.ops.store.now()
    times = Times(now)
    answer, problem = await _why(call, job, whole, query, times)
    is_readable = job.record is not None and job.damage is None
    is_year = query.zoom == "year"
    past = Past(job.key)
    past.now = now
    shown = await _tab(call, job, whole, query, past)  # its ledger goes back further than the timeline
    if "lines" in shown:
        shown["lines"] = [_in_zone(one, times, whole.timezone) for one in shown["lines"]]
    drawn = await draw_timeline(call, job, now, query.zoom, past) if is_readable and not is_year else None
    year = await draw_year(call, job, now) if is_readable and is_year else None
    effects = await _effects(call, job) if is_readable else {}
    return await render(
        call,
        "job.html",
        heading=whole.key,
        command=_command(whole, query, answer),
        topics=(f"job:{whole.id}",),
        now=now,
        job=whole,
        query=query,
        filters=filters_of(query),
        answer=answer,
        line=drawn,
        year=year,
        effects={name: times.told(text, whole.timezone) for name, text in effects.items()},
        problem=problem,
        status=problem.status if problem else 200,
        is_fine=_has_seconds(shown.get("lines", ())),
        is_own=whole.source == API_SOURCE and is_readable,
        **shown,
    )


async def _why(
    call: Call, job: JobView, whole: WholeJob, query: JobPageQuery, times: Times
) -> tuple[WhyAnswer | None, ProblemError | None]:
    """Why, in the zone of the job, if that is asked; or what is wrong with the instant that was typed."""
    try:
        at = read_instant(query.at, whole.timezone, "at")
    except ProblemError as problem:
        return None, problem
    if not query.why and not at:
        return None, None
    answer = await why(call, job, WhyQuery(at=at))
    return msgspec.structs.replace(answer, text=times.told(answer.text, whole.timezone)), None


def _in_zone(line: OccurrenceAnswer, times: Times, zone: str | None) -> OccurrenceAnswer:
    reason = _LONG_ID.sub(lambda found: found[0][:_SHORT], times.told(line.reason, zone))
    return msgspec.structs.replace(line, reason=reason)


def _has_seconds(lines: Iterable[OccurrenceAnswer]) -> bool:
    """Whether minutes do not tell occurrences apart."""
    return any(line.at.second for line in lines)


def _command(whole: WholeJob, query: JobPageQuery, answer: WhyAnswer | None) -> tuple[str, ...]:
    if answer is not None:
        return ("job", "why", whole.key, *(("--at", query.at) if query.at else ()))
    words = {"occurrences": "occurrences", "definition": "versions"}
    if query.tab == "runs":
        return ("run", "list", "--job", whole.key)
    return ("job", words.get(query.tab, "show"), whole.key)


async def _tab(call: Call, job: JobView, whole: WholeJob, query: JobPageQuery, past: Past) -> dict[str, Any]:
    """What the chosen tab shows."""
    if job.record is None or job.damage is not None:
        return {"tab": "none"}
    if query.tab == "runs":
        asked = RunsOfJobQuery(status=query.status, cursor=query.cursor, limit=query.limit)
        return {"tab": "runs", "runs": await list_runs_of_job(call, job, asked)}
    if query.tab == "definition":
        return {"tab": "definition", "versions": (await versions(call, job)).versions}
    if query.tab == "policies":
        return {"tab": "policies", "sentences": policy_sentences(readable(job).job)}
    until = read_instant(query.to, whole.timezone, "to")
    ledger = await ledger_of(call, job, LedgerQuery(last=until, limit=_LEDGER), past)
    return {"tab": "occurrences", "lines": list(reversed(ledger.occurrences)), "is_whole": until is None}


async def _effects(call: Call, job: JobView) -> dict[str, str]:
    """What each button would do, by the planner: told before it is pressed."""
    if not call.identity.allows(Scope.OPERATE, job.key.partition("/")[0]):
        return {}
    ops = call.ops
    commands = {"run": ops.trigger, "pause": ops.pause, "resume": ops.resume}
    asked = [command(living(job), dry_run=True) for command in commands.values()]
    effects = await asyncio.gather(*asked, return_exceptions=True)  # each asks a database for its time
    return {name: _in_short(name, effect) for name, effect in zip(commands, effects, strict=True)}


def _in_short(name: str, effect: Effect | BaseException) -> str:
    if isinstance(effect, FoliotError):
        return effect.message
    if isinstance(effect, BaseException):
        raise effect
    words = effect.consequences or (effect.text,)
    return "; ".join(words[:3]).replace(effect.run, "the run") if name == "run" else words[-1]


@pages.get("/jobs/{job}/versions/{number}", Scope.READ)
async def version_page(call: Call, job: JobView, number: int) -> Response:
    """What a definition has changed."""
    found = await diff(call, job, number, VersionsDiff())
    return await render(
        call,
        "diff.html",
        heading=f"{job.key}: version {found.after}",
        command=("job", "versions", job.key),
        key=job.key,
        diff=found,
    )


# -- commands --------------------------------------------------------------------------------------


@pages.post("/jobs/{job}/run", Scope.OPERATE)
async def trigger(call: Call, job: JobView, form: Form) -> Response:
    """Run it now. The form has a key: sent twice, it counts once."""
    del form
    asked = await job_commands.trigger(call, job, RunBody())
    return leave(call, frame_of(call).run(asked.key), f"{asked.job} runs now.")


@pages.post("/jobs/{job}/pause", Scope.OPERATE)
async def pause(call: Call, job: JobView, form: Form) -> Response:
    """Let its occurrences pass."""
    done = await job_commands.pause(call, job, PauseBody(reason=form.get("reason")))
    return leave(call, frame_of(call).job(job.key), f"{done.text}. Resume undoes it.")


@pages.post("/jobs/{job}/resume", Scope.OPERATE)
async def resume(call: Call, job: JobView, form: Form) -> Response:
    """Let it run again."""
    del form
    done = await job_commands.resume(call, job)
    return leave(call, frame_of(call).job(job.key), f"{done.text}.")


@pages.post("/jobs/{job}/remove", Scope.WRITE)
async def remove_job(call: Call, job: JobView, form: Form) -> Response:
    """Remove a job of the API: first what would become of it."""
    del form
    done = await jobs.remove_job(call, job)
    frame = frame_of(call)
    if done is None:
        return leave(call, frame.url("/jobs"), f"{job.key} was removed. Its history stays.")
    return await render(
        call,
        "confirm.html",
        heading=f"Remove {job.key}",
        deed="Remove",
        action=frame.job(job.key, "remove"),
        back=frame.job(job.key),
        text=done.text,
        would=done.would,
        fields={"version": show_whole_job(call, job).version},
        note="What runs may end, and its history stays. No occurrence runs any more.",
    )
