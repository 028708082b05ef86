"""The page of a job: its timeline, why, and all that is known of it. And commands to it."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any, Literal

from starlette.responses import Response

from foliot.api import job_commands, jobs
from foliot.api.answers import WholeJob, WhyAnswer
from foliot.api.call import Call
from foliot.api.cursor import Paged
from foliot.api.finders import living
from foliot.api.job_commands import PauseBody, RunBody
from foliot.api.job_history import DiffQuery as VersionsDiff
from foliot.api.job_history import LedgerQuery, WhyQuery, diff, ledger_of, versions, why
from foliot.api.runs import RunsOfJobQuery, list_runs_of_job
from foliot.api.show import show_whole_job
from foliot.api.terms import Status
from foliot.dashboard.drawing import DayMark, Timeline, days_of_year, timeline
from foliot.dashboard.policy_words import policy_sentences
from foliot.dashboard.route import Form, Pages, Short, Trail, filters_of
from foliot.dashboard.times import read_instant
from foliot.dashboard.view import frame_of, leave, render
from foliot.errors import FoliotError
from foliot.model.access import Scope
from foliot.model.version import API_SOURCE
from foliot.operations import Effect, Fate, Past, readable
from foliot.protocols import JobView
from foliot.schedules.zone import load_zone

pages = Pages("job")
Tab = Literal["occurrences", "runs", "definition", "policies"]
Zoom = Literal["hour", "day", "week", "year", "auto"]
_SPANS = {"week": timedelta(days=7), "day": timedelta(days=1), "hour": timedelta(hours=1)}
_SMALLEST = timedelta(minutes=10)
_MOST_MARKS = 80
_LEDGER = 30
_HALF_A_YEAR = timedelta(days=190)
_MOST_OF_YEAR = 5000


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
    at = read_instant(query.at, whole.timezone, "at")
    answer = await why(call, job, WhyQuery(at=at)) if query.why or at else None
    is_readable = job.record is not None and job.damage is None
    is_year = query.zoom == "year"
    past = Past(job.key)
    past.now = now
    shown = await _tab(call, job, whole, query, past)  # its ledger goes back further than the timeline
    drawn = await _timeline(call, job, now, query.zoom, past) if is_readable and not is_year else None
    year = await _year(call, job, now) if is_readable and is_year else None
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
        effects=await _effects(call, job) if is_readable else {},
        is_own=whole.source == API_SOURCE and is_readable,
        **shown,
    )


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


async def _timeline(call: Call, job: JobView, now: datetime, zoom: Zoom, past: Past) -> Timeline:
    """The occurrences around now: without a zoom, as long a time as can be drawn.

    What its rule says of a time in which the job was not there, or had another rule, is no occurrence.
    """
    record = readable(job)
    rule, state = record.job.schedule, record.state
    span = _SPANS.get(zoom, _SPANS["day"])
    while zoom == "auto" and span > _SMALLEST and rule.count(now - span, now + span) > _MOST_MARKS:
        span /= 2
    first, last = now - span, now + span
    found = await ledger_of(call, job, LedgerQuery(first=first, last=last, limit=_MOST_MARKS * 4), past)
    since = state.defined_at or state.created_at
    lines = [one for one in found.occurrences if one.at >= since or one.verdict != Fate.UNKNOWN]
    return timeline(lines, first, last, now, load_zone(getattr(rule, "timezone", None) or "UTC"))


async def _year(call: Call, job: JobView, now: datetime) -> list[DayMark]:
    """A year of days around now."""
    rule = readable(job).job.schedule
    kept = await call.ops.attempts(job.key, since=now - _HALF_A_YEAR, limit=_MOST_OF_YEAR)
    return days_of_year(kept, rule, now, load_zone(getattr(rule, "timezone", None) or "UTC"))


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
