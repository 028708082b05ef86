"""How long scripts hold the server while many jobs are declared, changed and run, by its slow log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from benchmarks.fire.batches import LEASE, claim_and_finish, declare_all
from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.protocols import Changes, JobQuery, Store
from foliot.stores.redis import RedisStore
from foliot.stores.redis.wire import Wire

_KEPT = 5000
_GOAL = 10.0  # milliseconds
_PAGE = 10_000


async def hold(url: str, wire: Wire, jobs: int, runs: int) -> dict[str, Any]:
    """Declare jobs, change all of them in one revision while runs are claimed and finished; what it held."""
    wire.ask("CONFIG", "SET", "slowlog-log-slower-than", 1000)
    wire.ask("CONFIG", "SET", "slowlog-max-len", _KEPT)
    wire.ask("SLOWLOG", "RESET")
    async with RedisStore(url, lease=LEASE) as store:
        await declare_all(store, jobs)
        declared = _longest(wire)
        wire.ask("SLOWLOG", "RESET")
        await asyncio.gather(_change_all(store), claim_and_finish(store, runs, 500))
    return {"jobs": jobs, "declared": declared, "changed_under_load": _longest(wire)}


async def _change_all(store: Store) -> None:
    after, jobs = "", []
    while page := await store.jobs(JobQuery(after=after, limit=_PAGE)):
        jobs += [view.record.job for view in page if view.record is not None]
        after = page[-1].key
    changed = tuple(replace(job, policy=replace(job.policy, timeout=timedelta(minutes=5))) for job in jobs)
    base, now = await store.revision("bench"), await store.now()  # type: ignore[attr-defined]  # it has both
    await store.reconcile(
        "bench", base, "changed", Changes(changed), declared=PlanDeclared(now),
        removed=lambda record: plan_removed(record, now),
    )  # fmt: skip


def _longest(wire: Wire) -> dict[str, Any]:
    """Calls that took over a millisecond: how many, and the longest, in milliseconds."""
    entries: Sequence[Any] = wire.ask("SLOWLOG", "GET", _KEPT)
    times = sorted((entry[2] / 1000 for entry in entries), reverse=True)
    return {
        "over_1_ms": len(times),
        "over_10_ms": sum(time > _GOAL for time in times),
        "longest_ms": round(times[0], 2) if times else 0.0,
        "next_longest_ms": [round(time, 2) for time in times[1:5]],
    }
