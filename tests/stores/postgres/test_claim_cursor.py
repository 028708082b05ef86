"""A claim that goes on where the last one ended misses nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from foliot.model.state import Node
from foliot.protocols import Changes
from foliot.stores.postgres import PostgresStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, some_jobs, start_due, untouched

CLOCK = ManualClock()


async def declare(
    store: PostgresStore, base: str | None, revision: str, changes: Changes, early: int
) -> None:
    now = CLOCK.now()
    wake_at = now - timedelta(seconds=early)
    await store.reconcile(
        SOURCE, base, revision, changes, declared=declare_at(wake_at, now), removed=untouched
    )


async def claim(store: PostgresStore, room: int, claim_id: str) -> list[str]:
    claimed = await store.claim("a", CLOCK.now(), {"default": room}, start_due, claim_id)
    return [job.name for job, _ in claimed.runs]


def test_what_has_come_in_front_meanwhile_is_claimed_when_the_herd_is(url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url, time=CLOCK) as store:
            await store.join(Node("a"))
            await declare(store, None, "r1", Changes(some_jobs(250)), early=0)
            names = [job.name for job in some_jobs(250)]
            assert await claim(store, 100, "first") == names[:100]
            await declare(store, "r1", "r2", Changes((a_job("early"),)), early=60)
            rest = await claim(store, 100, "second") + await claim(store, 100, "third")
            assert sorted(rest) == sorted([*names[100:], "early"])
            assert await claim(store, 100, "fourth") == []

    asyncio.run(act())


def test_a_few_are_always_claimed_from_the_front(url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url, time=CLOCK) as store:
            await store.join(Node("a"))
            await declare(store, None, "r1", Changes(some_jobs(50)), early=0)
            await claim(store, 20, "first")
            await declare(store, "r1", "r2", Changes((a_job("early"),)), early=60)
            assert (await claim(store, 20, "second"))[0] == "early"

    asyncio.run(act())
