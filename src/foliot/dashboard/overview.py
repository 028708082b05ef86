"""The first page: what needs a look, what runs, what comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from starlette.responses import Response

from foliot.api.answers import ForecastAnswer, JobAnswer, SkipAnswer
from foliot.api.call import Call
from foliot.api.fleet import list_nodes, list_sources, overview
from foliot.api.fleet_answers import NodeList, OverviewAnswer, SourceAnswer
from foliot.api.jobs import JobsQuery, list_jobs
from foliot.api.rules import ForecastQuery
from foliot.api.runs import RunsQuery, SkipsQuery, list_runs, list_skips
from foliot.dashboard.forecasts import forecast_of, known_forecast
from foliot.dashboard.route import Pages
from foliot.dashboard.view import render
from foliot.dashboard.zones import zones_of
from foliot.model.access import Scope
from foliot.model.query import JobOrder, JobState
from foliot.model.state import SkipCode

pages = Pages("overview")
_SOON = 20
_DAY = timedelta(days=1)
_LOOKED_AT = 200  # skips
_LATE = timedelta(minutes=1)  # that a job which is due may wait for its node
_FEW = 2000  # jobs that are counted at once
_MISSED = (SkipCode.LATE, SkipCode.NEVER_RUN, SkipCode.TOO_MANY, SkipCode.OVERTAKEN)


class Trouble(NamedTuple):
    """Something that needs a look: how many, in which words, and where they are listed."""

    amount: int
    word: str
    text: str
    path: str
    query: Mapping[str, str]


@pages.get("/", Scope.READ)
async def overview_page(call: Call) -> Response:
    """What needs a look, what runs, what comes next."""
    now = await call.ops.store.now()
    sees_all = call.identity.sources is None
    whole = await overview(call) if sees_all else None
    nodes = await list_nodes(call) if sees_all else None
    soonest = (await list_jobs(call, JobsQuery(order=JobOrder.SOONEST, limit=_SOON))).jobs
    failing = (await list_jobs(call, JobsQuery(state=JobState.FAILING, limit=8))).jobs
    running = (await list_runs(call, RunsQuery(status="running", limit=8))).runs
    sources = (await list_sources(call)).sources
    skips = (await list_skips(call, SkipsQuery(first=now - _DAY, limit=_LOOKED_AT))).skips
    missed = [skip for skip in skips if skip.code in _MISSED]
    overdue = [job for job in soonest if is_overdue(job, now)]
    troubles = _troubles(whole, nodes, failing, overdue, sources, missed)
    herd = await _peak(call, whole)
    return await render(
        call,
        "overview.html",
        heading="Overview",
        command=("job", "list"),
        topics=("overview", "jobs", "nodes", "sources"),
        now=now,
        whole=whole,
        nodes=nodes,
        soonest=soonest,
        failing=failing,
        running=running,
        missed=missed[:8],
        zones=await zones_of(call, [skip.job for skip in missed[:8]]),
        troubles=troubles,
        peak=herd,
        is_empty=not soonest and not sources and (whole is None or not whole.jobs),
    )


def is_overdue(job: JobAnswer, now: datetime) -> bool:
    """Whether a job is due for longer than a node needs to take it."""
    return job.next_at is not None and job.next_at < now - _LATE and not job.open_runs


def has_error(source: SourceAnswer) -> bool:
    """Whether the last reading of a source failed."""
    return isinstance(source.status, dict) and bool(source.status.get("error"))


def _troubles(  # noqa: PLR0913, PLR0917 - all that may need a look
    whole: OverviewAnswer | None,
    nodes: NodeList | None,
    failing: Sequence[JobAnswer],
    overdue: Sequence[JobAnswer],
    sources: Sequence[SourceAnswer],
    missed: Sequence[SkipAnswer],
) -> list[Trouble]:
    silent = [one for one in nodes.nodes if one.state == "silent"] if nodes else []
    waiting = sum(one.jobs for one in nodes.unserved) if nodes else 0
    broken = [one for one in sources if has_error(one)]
    counted = whole.failing if whole else len(failing)
    found = [
        Trouble(counted, "failing", "jobs whose last run failed", "/jobs", {"state": "failing"}),
        Trouble(
            whole.damaged if whole else 0,
            "damaged",
            "jobs that cannot be read",
            "/jobs",
            {"state": "damaged"},
        ),
        Trouble(len(overdue), "overdue", "jobs that are due, and not started", "/jobs", {"order": "soonest"}),
        Trouble(waiting, "unserved", "jobs that are due, and no node can run them", "/nodes", {}),
        Trouble(len(silent), "silent", "nodes whose lease has run out", "/nodes", {}),
        Trouble(len(broken), "error", "sources that could not be read", "/sources", {}),
        Trouble(len(missed), "missed", "skips in the last 24 hours", "/journal", {"what": "skips"}),
    ]
    return [one for one in found if one.amount]


async def _peak(call: Call, whole: OverviewAnswer | None) -> ForecastAnswer | None:
    """The busiest hour of the next day; of many jobs, only if it was counted for the calendar."""
    first = (await call.ops.store.now()).replace(minute=0, second=0, microsecond=0)
    query = ForecastQuery(first=first, last=first + _DAY)
    if whole is None or whole.jobs > _FEW:
        return known_forecast(call, query)
    return await forecast_of(call, query)
