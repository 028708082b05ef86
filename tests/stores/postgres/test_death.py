"""Real processes that are killed: no step of a verb is done by halves, and the lease tells who is dead."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.engine.planner import plan_lost
from foliot.model.state import Node
from foliot.protocols import Changes, RunQuery
from foliot.stores.postgres import PostgresStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched

pytestmark = pytest.mark.prove

PROGRAM = Path(__file__).with_name("doomed.py")
STEPS = ["migrate", "join", "prepare", "reconcile", "claim", "finish", "renew", "recover"]


async def declare(store: PostgresStore, clock: ManualClock) -> None:
    await store.reconcile(
        SOURCE, None, "r1", Changes(some_jobs(5)),
        declared=declare_at(clock.now(), clock.now()), removed=untouched,
    )  # fmt: skip


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("verb", STEPS)
def test_a_kill_at_any_step_leaves_all_or_nothing(url: str, verb: str, moment: str) -> None:
    program = [sys.executable, str(PROGRAM), url, f"{verb}:{moment}_commit"]
    assert subprocess.run(program, timeout=60, check=False).returncode == -signal.SIGKILL  # noqa: S603 - our own

    async def act() -> None:
        clock = ManualClock()
        async with PostgresStore(url, time=clock) as store:
            overview = await store.overview()
            done = STEPS.index(verb) + (moment == "after")
            assert len(overview.nodes) == (done > STEPS.index("join"))
            assert overview.jobs == 5 * (done > STEPS.index("reconcile"))
            runs = await store.runs(RunQuery())
            assert len(runs) == 5 * (done > STEPS.index("claim"))
            assert sum(not attempt.is_open for attempt in runs) == 5 * (done > STEPS.index("finish"))
            if not overview.jobs:
                await declare(store, clock)
            await clock.advance(timedelta(hours=1))
            await store.join(Node("heir"))
            await store.recover(100, clock.now(), plan_lost)
            claimed = await store.claim("heir", clock.now(), {"default": 100}, start_due, "heir's")
            assert len(claimed.runs) == 5 * (done <= STEPS.index("finish"))
            assert (await store.overview()).nodes == ("heir",)

    asyncio.run(act())
