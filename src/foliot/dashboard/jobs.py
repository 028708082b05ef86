"""The list of jobs, and commands to several of them."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
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
from foliot.protocols import JobView, RunQuery
from foliot.protocols_source import TellsOutcomes
from foliot.schedules import Schedule
from foliot.schedules.explain import explain
from foliot.wiring import FullStore

pages = Pages("jobs")
_SHOWN_RUNS = 20
_known: Memory[Sequence[str]] = Memory(5000)


class JobsPageQuery(JobsQuery, frozen=True):
    """`trail` has the cursors of the pages before."""

    trail: Trail = ""


class Row(NamedTuple):
    """A job of the list, with its rule in words, and how its last attempts ended, the newest first."""

    job: JobAnswer
    rule: str
    outcomes: Sequence[str]


@pages.get("/jobs", Scope.READ)
async def jobs_page(call: Call, query: JobsPageQuery) -> Response:
    """The list of jobs."""
    views, following = await page_of_jobs(call, narrowed(query, JobsQuery))
    outcomes = await _outcomes(call, views)
    rows = [_row(call, view, outcomes.get(view.key, ())) for view in views]
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


def _row(call: Call, view: JobView, outcomes: Sequence[str]) -> Row:
    rule = "" if view.record is None else _words(view.record.job.schedule)
    return Row(show_job(call, view), rule, outcomes)


async def _outcomes(call: Call, views: Sequence[JobView]) -> Mapping[str, Sequence[str]]:
    """How the last attempts of jobs ended. That is known until one starts, which moves the token, or ends."""
    found, unknown = dict[str, Sequence[str]](), dict[str, Hashable]()
    for record in (view.record for view in views if view.record is not None):
        key, state, attempts = record.job.key, record.state, record.attempts
        mark = (key, state.created_at, state.token, *((one.key, one.state) for one in attempts))
        known = _known.find(call.service, mark)
        if known is not None:
            found[key] = known
        elif attempts or state.last_attempt_at is not None:
            unknown[key] = mark
    for key, words in (await _ask(call.ops.store, list(unknown))).items():
        found[key] = words
        _known.keep(call.service, unknown[key], words)
    return found


async def _ask(store: FullStore, jobs: list[str]) -> Mapping[str, Sequence[str]]:
    if isinstance(store, TellsOutcomes):
        return await store.outcomes(jobs, _SHOWN_RUNS)
    found = await asyncio.gather(*(store.runs(RunQuery(job=job, limit=_SHOWN_RUNS)) for job in jobs))
    return {
        job: [(attempt.outcome or attempt.state).value for attempt in attempts]
        for job, attempts in zip(jobs, found, strict=True)
    }


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
