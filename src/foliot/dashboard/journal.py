"""Runs and skips of all jobs, by what became of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlencode

from msgspec import Meta
from starlette.responses import RedirectResponse, Response

from foliot.api.answers import RunList, SkipList
from foliot.api.call import Call
from foliot.api.cursor import Paged
from foliot.api.problem import ProblemError
from foliot.api.runs import RunsQuery, SkipsQuery, list_runs, list_skips
from foliot.api.terms import Status
from foliot.dashboard.frame import frame_of
from foliot.dashboard.route import Pages, Short, Trail, filters_of
from foliot.dashboard.times import read_instant
from foliot.dashboard.view import render
from foliot.dashboard.zones import zones_of
from foliot.model.access import Scope
from foliot.model.attempt import Outcome, Trigger
from foliot.model.state import SkipCode

pages = Pages("journal")
_STATUSES = ("pending", "running", "success", "failed", "cancelled")
Text = Annotated[str, Meta(max_length=400)]


class JournalQuery(Paged, frozen=True, rename={"first": "from", "last": "to"}):
    """Runs or skips, of which job, with which outcome or reason, in which time (UTC)."""

    what: Literal["runs", "skips"] = "runs"
    job: Text | None = None
    source: Text | None = None
    status: Status | None = None
    outcome: Outcome | None = None
    trigger: Trigger | None = None
    node: Text | None = None
    reason: SkipCode | None = None
    first: Short = ""
    last: Short = ""
    trail: Trail = ""


@pages.get("/journal", Scope.READ)
async def journal_page(call: Call, query: JournalQuery) -> Response:
    """Runs, or occurrences that did not run, the newest first."""
    runs, skips, problem = None, None, None
    try:
        time = read_instant(query.first, "UTC", "from"), read_instant(query.last, "UTC", "to")
    except ProblemError as error:
        problem = error
    else:
        if query.what == "runs":
            runs = await _runs(call, query, *time)
        else:
            skips = await _skips(call, query, *time)
    found = runs or skips
    return await render(
        call,
        "journal.html",
        heading="Journal",
        command=_command(query) if query.what == "runs" else (),
        api=f"/skips?{urlencode(_of_skips(query))}".rstrip("?"),
        topics=("overview", "jobs"),
        query=query,
        filters=filters_of(query),
        runs=runs,
        skips=skips,
        zones=await zones_of(call, [skip.job for skip in skips.skips]) if skips else {},
        problem=problem,
        status=problem.status if problem else 200,
        next=None if found is None else found.next,
        statuses=_STATUSES,
        outcomes=[one.value for one in Outcome],
        triggers=[one.value for one in Trigger],
        reasons=[one.value for one in SkipCode],
    )


def _command(query: JournalQuery) -> tuple[str, ...]:
    words: tuple[str, ...] = ("run", "list")
    words += ("--outcome", query.outcome.value) if query.outcome else ()
    words += ("--open",) if query.status in ("pending", "running") else ()
    return words + (("--job", query.job) if query.job else ())


def _of_skips(query: JournalQuery) -> dict[str, str]:
    """The filters that a list of skips has."""
    return {name: text for name, text in filters_of(query).items() if name in ("job", "source", "reason")}


async def _runs(call: Call, query: JournalQuery, first: datetime | None, last: datetime | None) -> RunList:
    asked = RunsQuery(
        limit=query.limit,
        cursor=query.cursor,
        status=query.status,
        outcome=query.outcome,
        trigger=query.trigger,
        started_after=first,
        started_before=last,
        source=query.source,
        job=query.job,
        node=query.node,
    )
    return await list_runs(call, asked)


async def _skips(call: Call, query: JournalQuery, first: datetime | None, last: datetime | None) -> SkipList:
    asked = SkipsQuery(
        limit=query.limit,
        cursor=query.cursor,
        first=first,
        last=last,
        reason=query.reason,
        source=query.source,
        job=query.job,
    )
    return await list_skips(call, asked)


@pages.get("/runs", Scope.READ)
async def runs_page(call: Call) -> Response:
    """The same."""
    return RedirectResponse(frame_of(call).url("/journal"), 303)
