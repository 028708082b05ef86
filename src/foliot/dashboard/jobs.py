"""The list of jobs, and commands to several of them."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import NamedTuple

from starlette.responses import Response

from foliot.api.answers import JobAnswer
from foliot.api.call import Call
from foliot.api.fleet import list_sources
from foliot.api.job_commands import BulkBody, BulkFilter, bulk
from foliot.api.jobs import JobsQuery, page_of_jobs
from foliot.api.reading import read_struct
from foliot.api.show import show_job
from foliot.dashboard.bulk import DEEDS
from foliot.dashboard.frame import frame_of
from foliot.dashboard.memory import Memory
from foliot.dashboard.route import Form, Pages, Trail, filters_of, narrowed
from foliot.dashboard.view import leave, render
from foliot.model.access import Scope
from foliot.model.query import JobOrder, JobState
from foliot.model.state import Record
from foliot.protocols import JobView, RunQuery
from foliot.schedules import Schedule
from foliot.schedules.explain import explain

pages = Pages("jobs")
_SHOWN_RUNS = 20
_known: Memory[list[str]] = Memory(5000)


class JobsPageQuery(JobsQuery, frozen=True):
    """`trail` has the cursors of the pages before."""

    trail: Trail = ""


class Row(NamedTuple):
    """A job of the list, with its rule in words, and how its last attempts ended, the newest first."""

    job: JobAnswer
    rule: str
    outcomes: list[str]


@pages.get("/jobs", Scope.READ)
async def jobs_page(call: Call, query: JobsPageQuery) -> Response:
    """The list of jobs."""
    views, following = await page_of_jobs(call, narrowed(query, JobsQuery))
    rows = await asyncio.gather(*(_row(call, view) for view in views))
    sources = (await list_sources(call)).sources
    topics = ("jobs", *(f"job:{row.job.id}" for row in rows))
    return await render(
        call,
        "jobs.html",
        heading="Jobs",
        command=_command(query),
        topics=topics[:100],
        query=query,
        filters=filters_of(query),
        states=[state.value for state in JobState],
        rows=rows,
        next=following,
        is_partial=following is not None and query.search is not None and len(views) < query.limit,
        orders=[order.value for order in JobOrder],
        sources=[one.source for one in sources],
        chosen=None if query.removed or query.key else _chosen(query),
    )


def _command(query: JobsPageQuery) -> tuple[str, ...]:
    words: tuple[str, ...] = ("job", "list")
    words += ("--source", query.source) if query.source else ()
    words += (f"--{query.state}",) if query.state in (JobState.FAILING, JobState.PAUSED) else ()
    return words + (("--removed",) if query.removed else ())


def _chosen(query: JobsPageQuery) -> dict[str, str]:
    """The fields of the filter by which all jobs that fit are meant."""
    shown = filters_of(query)
    return {name: shown[name] for name in BulkFilter.__struct_fields__ if name in shown}


async def _row(call: Call, view: JobView) -> Row:
    job, record = show_job(call, view), view.record
    if record is None:
        return Row(job, "", [])
    has_run = job.last_attempt_at is not None or job.open_runs
    outcomes = await _outcomes(call, record) if has_run else []
    return Row(job, _words(record.job.schedule), outcomes)


async def _outcomes(call: Call, record: Record) -> list[str]:
    """How the last attempts ended. They are known until one starts, which moves the token, or ends."""
    key, state = record.job.key, record.state
    mark = (key, state.created_at, state.token, *((one.key, one.state) for one in record.attempts))
    found = _known.find(call.service, mark)
    if found is None:
        attempts = await call.ops.store.runs(RunQuery(job=key, limit=_SHOWN_RUNS))
        found = [(attempt.outcome or attempt.state).value for attempt in attempts]
        _known.keep(call.service, mark, found)
    return found


@lru_cache(maxsize=1024)  # many jobs share a rule
def _words(rule: Schedule) -> str:
    return explain(rule)


@pages.post("/jobs/bulk", Scope.OPERATE)
async def bulk_jobs(call: Call, form: Form) -> Response:
    """Pause, resume or run the jobs that were chosen: first the effect on each, then a confirmation."""
    ids, deed, frame = form.all("id"), form.get("action"), frame_of(call)
    if not ids:
        return leave(call, frame.url("/jobs"), "Choose jobs first: each row has a box.")
    body = read_struct({"action": deed, "ids": ids, "reason": form.get("reason")}, BulkBody)
    answer = await bulk(call, body)
    refused = sum(one.code is not None for one in answer.results)
    if not call.dry_run:
        told = f"{DEEDS[deed]}: {len(ids) - refused} done" + (f", {refused} refused" if refused else "")
        return leave(call, frame.url("/jobs"), told)
    return await render(
        call,
        "bulk.html",
        heading=f"{DEEDS[deed]}: {len(ids)} chosen",
        results=answer.results,
        deed=deed,
        deed_word=DEEDS[deed],
        refused=refused,
        reason=form.get("reason"),
    )
