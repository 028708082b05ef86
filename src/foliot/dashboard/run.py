"""The page of a run: its attempts, why it exists, what it wrote. Cancel and rerun."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta
from starlette.responses import Response

from foliot.api import runs
from foliot.api.answers import RunAnswer
from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.finders import find_attempt
from foliot.api.runs import show_one_run
from foliot.dashboard.ansi import pieces
from foliot.dashboard.frame import frame_of
from foliot.dashboard.route import Form, Pages, Short
from foliot.dashboard.times import Times
from foliot.dashboard.view import leave, render
from foliot.dashboard.zones import zones_of
from foliot.engine.plan_command import CANCELLED
from foliot.model.access import Scope
from foliot.model.attempt import Attempt, Trigger

pages = Pages("runs")
# A run that was cancelled has that as its reason; why it began is known by its trigger.
_ORIGINS = {Trigger.MANUAL: "it was asked for", Trigger.BACKFILL: "a backfill asked for it"}


class RunPageQuery(Query, frozen=True):
    """Which attempt; lines of its log that have a text."""

    attempt: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    find: Short = ""


@pages.get("/runs/{run}", Scope.READ)
async def run_page(call: Call, run: list[Attempt], query: RunPageQuery) -> Response:
    """A run with all its attempts, and what the chosen one wrote."""
    answer = await show_one_run(call, run)
    started = [one for one in run if one.claimed_at is not None or one.started_at is not None]
    attempt = find_attempt(run, query.attempt) if query.attempt else (started or run)[-1]
    output = await call.ops.store.output(*attempt.key)
    text = "" if output is None else output.text
    if query.find:
        text = "\n".join(line for line in text.splitlines() if query.find.lower() in line.lower())
    shown = answer.attempts or ()
    topics = [f"run:{answer.id}"]
    if attempt.is_open:
        topics.append(f"log:{answer.id}/{attempt.number}")
    zone = (await zones_of(call, [answer.job])).get(answer.job, "UTC")
    is_asked = run[-1].request is not None
    is_stopped = answer.reason == CANCELLED
    return await render(
        call,
        "run.html",
        heading=_heading(answer, zone, is_asked=is_asked),
        command=("run", "show", answer.key),
        topics=tuple(topics),
        run=answer,
        query=query,
        chosen=next(one for one in shown if one.number == attempt.number),
        log=pieces(text),
        is_live=attempt.is_open,
        dropped=0 if output is None else output.dropped,
        zone=zone,
        is_asked=is_asked,
        ending=CANCELLED if is_stopped else "",
        origin=(_ORIGINS.get(run[0].trigger, "") if is_stopped else answer.reason) or "its occurrence came",
    )


def _heading(run: RunAnswer, zone: str, *, is_asked: bool) -> str:
    """The job, and which of its runs: the key is long, and stands below."""
    if is_asked:
        return f"{run.job}, on request"
    return f"{run.job}, {Times(run.scheduled_for).zoned(run.scheduled_for, zone)}"


@pages.post("/runs/{run}/cancel", Scope.OPERATE)
async def cancel(call: Call, run: list[Attempt], form: Form) -> Response:
    """Ask it to end: first what would happen."""
    del form
    key, frame = run[-1].run_key, frame_of(call)
    done: Any = await runs.cancel(call, run)
    if not call.dry_run:
        return leave(call, frame.run(key), "The run is asked to end.")
    state = "It runs, and is asked to stop." if run[-1].is_running else "It waits, and will never start."
    return await render(
        call,
        "confirm.html",
        heading=f"Cancel {key}",
        deed="Cancel the run",
        action=frame.run(key, "cancel"),
        back=frame.run(key),
        text=state,
        would=done.would,
        fields={},
        note="What it has done so far stays done. It can be run again.",
    )


@pages.post("/runs/{run}/rerun", Scope.OPERATE)
async def rerun(call: Call, run: list[Attempt], form: Form) -> Response:
    """Repeat it, with the same payload."""
    del form
    asked = await runs.rerun(call, run)
    return leave(call, frame_of(call).run(asked.key), f"It repeats {run[-1].run_key}.")
