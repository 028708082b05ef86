"""What attempts wrote is kept as long as they are."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from foliot.model.policy import Keep, Policy
from foliot.model.state import Node
from foliot.protocols import Changes, Output
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import (
    SOURCE,
    a_job,
    change,
    declare_at,
    end,
    ending_of,
    start_due,
    untouched,
)
from foliot.testing.contract.sample import forget as forgotten


def test_an_output_lives_as_long_as_its_attempt(tmp_path: Path) -> None:
    clock = ManualClock()
    key = f"{SOURCE}/job"

    async def run_one(store: SqliteStore, number: int) -> Output:
        claimed = await store.claim("a", clock.now(), {"default": 1}, start_due, f"claim-{number}")
        (run,) = claimed.runs
        attempt = run.attempt
        output = Output(key, *run.key, f"line {number}\n", number)
        for _ in range(2):
            await store.write_outputs([output])
        await store.finish("a", [ending_of(attempt, clock.now())], clock.now(), end)
        await clock.advance(timedelta(seconds=1))
        await store.update(key, change(wake_at=clock.now()))
        return output

    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", clock) as store:
            await store.join(Node("a"))
            job = a_job(policy=Policy(keep=Keep(last=1, days=None)))
            now = clock.now()
            await store.reconcile(
                SOURCE, None, "r1", Changes((job,)), declared=declare_at(now, now), removed=untouched
            )
            outputs = [await run_one(store, number) for number in range(3)]
            assert [await store.output(o.run_key, o.number) for o in outputs] == outputs
            assert await store.output("nobody's", 1) is None
            assert (await store.prune(clock.now(), 100)).forgotten == 2
            assert [await store.output(o.run_key, o.number) for o in outputs] == [None, None, outputs[2]]
            await store.update(key, forgotten)
            assert await store.output(outputs[2].run_key, 1) is None

    asyncio.run(act())
