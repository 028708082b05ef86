"""A process that is going to be killed: at a failpoint, by itself, or at any time, by the test."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from foliot.engine.planner import plan_lost
from foliot.model.state import Node
from foliot.protocols import Changes
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, end, ending_of, some_jobs, start_due, untouched


async def live(path: str, point: str | None) -> None:
    """Join, declare, claim, finish and prune; or, if nothing ends it before, claim and wait."""
    clock = ManualClock()

    def fail(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    async with SqliteStore(path, clock, failpoint=fail) as store:
        now = clock.now()
        await store.join(Node("doomed"))
        if point is not None:
            await store.reconcile(
                SOURCE, None, "r1", Changes(some_jobs(5)), declared=declare_at(now, now), removed=untouched
            )
        claimed = await store.claim("doomed", now, {"default": 100}, start_due, "claim")
        sys.stdout.write("claimed\n")
        sys.stdout.flush()
        if point is None:
            signal.pause()
        endings = [ending_of(attempt, now) for _, attempt in claimed.runs]
        await store.finish("doomed", endings, now, end)
        await store._writer.call("prune", lambda _: None)
        await store.renew("doomed")
        await store.recover(1, now, plan_lost)


asyncio.run(live(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
