"""A process that stands still at a failpoint, in the middle of a transaction, until it is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import timedelta

from foliot.clock import SystemClock
from foliot.model.state import Node
from foliot.protocols import Changes
from foliot.stores.postgres import PostgresStore
from foliot.testing.contract.sample import SOURCE, declare_at, end, ending_of, some_jobs, start_due, untouched


async def live(url: str, point: str) -> None:
    """Join, claim and finish, until the point is reached."""
    clock = SystemClock()

    def stand(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGSTOP)
            clock.sleep(0.5)  # it may be another thread that hears the signal first

    async with PostgresStore(url, lease=timedelta(seconds=2), failpoint=stand) as store:
        if point.startswith("reconcile"):  # a large one, which may take its time
            now, changes = clock.now(), Changes(some_jobs(20_000))
            await store.reconcile(
                SOURCE, "r1", "r2", changes, declared=declare_at(now, now), removed=untouched
            )
        await store.join(Node("stands"))
        claimed = await store.claim("stands", clock.now(), {"default": 100}, start_due, "claim")
        endings = [ending_of(attempt, clock.now()) for _, attempt in claimed.runs]
        await store.finish("stands", endings, clock.now(), end)


asyncio.run(live(sys.argv[1], sys.argv[2]))
