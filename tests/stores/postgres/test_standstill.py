"""Whoever stands still in the middle of a transaction is ended by the server, and buried like any other."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.clock import SystemClock
from foliot.engine.planner import plan_lost
from foliot.errors import StoreUnavailableError
from foliot.model.state import Node
from foliot.protocols import Changes
from foliot.stores.postgres import PostgresStore
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched

pytestmark = pytest.mark.prove

PROGRAM = Path(__file__).with_name("standing.py")
CLOCK = SystemClock()
LEASE = timedelta(seconds=2)
TAKEN_OVER = LEASE.total_seconds() + 5


@pytest.mark.parametrize("point", ["claim:before_commit", "finish:before_commit", "reconcile:before_commit"])
def test_a_node_that_stands_still_in_a_transaction_keeps_nobody_waiting(url: str, point: str) -> None:
    """Its locks would keep others from its jobs, and from burying it, for as long as it stands."""

    async def act() -> None:
        async with PostgresStore(url, lease=LEASE) as store:
            now = CLOCK.now()
            await store.reconcile(
                SOURCE, None, "r1", Changes(some_jobs(3)), declared=declare_at(now, now), removed=untouched
            )
            stands = await asyncio.create_subprocess_exec(sys.executable, str(PROGRAM), url, point)
            try:
                await asyncio.to_thread(os.waitid, os.P_PID, stands.pid, os.WSTOPPED | os.WNOWAIT)
                begin = CLOCK.monotonic()
                await store.join(Node("heir"))
                assert await take_over(store) == 3
                assert CLOCK.monotonic() - begin < TAKEN_OVER
            finally:
                stands.kill()
                await stands.wait()

    asyncio.run(act())


async def take_over(store: PostgresStore) -> int:
    """Do as an engine does, for as long as it may take; how many attempts are the heir's then."""
    count, give_up_at = 0, CLOCK.monotonic() + TAKEN_OVER
    for number in range(1000):
        with suppress(StoreUnavailableError):  # somebody was in the way
            await store.renew("heir")
            await store.recover(100, CLOCK.now(), plan_lost)
            claimed = await store.claim("heir", CLOCK.now(), {"default": 9}, start_due, f"heir-{number}")
            count += len(claimed.runs)
        if count == 3 or CLOCK.monotonic() > give_up_at:
            break
        await CLOCK.wait(timedelta(milliseconds=200))
    return count
