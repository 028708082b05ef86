"""Ask for each page again and again, and measure how long the server takes, in this process.

On a machine that others use, too, the wall clock tells about them. The processor time is what the process
itself has used: the server with its store, and the little that the client needs. A database server is not
in it.
"""

from __future__ import annotations

from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

import httpx

from foliot.access import make_token
from foliot.api.application import Application
from foliot.api.backend import StoreBackend
from foliot.api.limits import Limits
from foliot.api.service import Options
from foliot.clock import SystemClock
from foliot.dashboard.application import make_pages
from foliot.model.access import Scope

# Milliseconds at the 95th percentile, with two cores.
BUDGETS = {
    "/": 60,
    "/jobs": 25,
    "/jobs?order=soonest": 25,
    "/jobs?state=failing": 25,
    "/jobs?search=job-00099": 200,
    "JOB": 15,
    "JOB?why=true": 30,
    "JOB?tab=runs": 60,
    "RUN": 15,
    "/journal": 60,
    "/journal?what=skips": 60,
    "/calendar": 500,
    "/calendar again": 20,
    "/sources": 60,
    "/nodes": 60,
    "/lab?expr=30+2+*+*+*&timezone=Europe/Berlin": 60,
    "/audit": 60,
    "/tokens": 60,
    "/about": 60,
    "pause": 30,
}
_JOB = "/jobs/busy~2Fb1"
_LIMITS = Limits(rate=1e6, burst=1_000_000, heavy=8)


async def measure(url: str, repeats: int) -> dict[str, Any]:
    """Times of all pages, in milliseconds."""
    clock = SystemClock()
    options = Options(limits=_LIMITS)
    async with Application(StoreBackend(url, clock), clock, options, pages=make_pages) as app:
        made = make_token("bench", Scope.ADMIN, clock.now())
        await app.service.store.add_token(made.token)
        headers = {"Authorization": f"Bearer {made.text}", "Accept": "text/html"}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://b", headers=headers) as client:
            run = (await client.get("/api/v1/jobs/busy~2Fb1/runs")).json()["runs"][0]["id"]
            return {name: await _times(client, name, run, repeats) for name in BUDGETS}


async def _times(client: httpx.AsyncClient, name: str, run: str, repeats: int) -> dict[str, Any]:
    path = name.removesuffix(" again").replace("JOB", _JOB).replace("RUN", f"/runs/{run}")
    count = 1 if name == "/calendar" else repeats  # the first one counts, later ones are remembered
    taken, used, size = list[float](), list[float](), 0
    for number in range(count + (count > 1)):
        begin, before = perf_counter(), process_time()
        if name == "pause":
            answer = await client.post(f"{_JOB}/{('pause', 'resume')[number % 2]}", data={"reason": "x"})
            assert answer.status_code == 303, answer.text  # noqa: S101, PLR2004 - else it measures nothing
        else:
            answer = await client.get(path)
            assert answer.status_code == 200, answer.text  # noqa: S101, PLR2004 - the same
        taken.append((perf_counter() - begin) * 1000)
        used.append((process_time() - before) * 1000)
        size = int(answer.headers.get("content-length", 0))
    taken, used = taken[1:] or taken, used[1:] or used  # templates are compiled once
    budget, high, busy = BUDGETS[name], _high(taken), _high(used)
    return {
        "p50_ms": round(median(taken), 1), "p95_ms": round(high, 1), "budget_ms": budget, "bytes": size,
        "p95_processor_ms": round(busy, 1), "is_within": high <= budget,
        "is_within_processor": busy <= budget,
    }  # fmt: skip


def _high(values: list[float]) -> float:
    """The 95th percentile."""
    return quantiles(values, n=20)[-1] if len(values) > 1 else values[0]
