"""Claims beside rows that somebody keeps, and beside rows that nobody knows."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg

from foliot.clock import SystemClock
from foliot.model.decision import Happening
from foliot.model.job import Job
from foliot.model.state import Node
from foliot.protocols import Changes, Claimed
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import read_address
from foliot.testing.contract.sample import (
    SOURCE,
    a_job,
    declare_at,
    end,
    ending_of,
    some_jobs,
    start_due,
    untouched,
)

CLOCK = SystemClock()
ROOM = {"first": 5, "second": 5}
LOCK = "SELECT 1 FROM states WHERE job_no = (SELECT job_no FROM jobs WHERE key = %s) FOR UPDATE"
ASLEEP = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


async def declare(store: PostgresStore, *jobs: Job) -> None:
    now = CLOCK.now()
    await store.reconcile(SOURCE, None, "r1", Changes(jobs), declared=declare_at(now, now), removed=untouched)


async def claim(store: PostgresStore, claim_id: str, room: dict[str, int]) -> list[str]:
    claimed = await store.claim("a", CLOCK.now(), room, start_due, claim_id)
    return [job.name for job, _ in claimed.runs]


def session(url: str) -> psycopg.Connection[Any]:
    server, schema = read_address(url)
    return psycopg.connect(server, options=f"-csearch_path={schema}")


def test_a_row_that_somebody_keeps_keeps_no_node_from_its_other_jobs(url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url) as store:
            await store.join(Node("a"))
            await declare(store, a_job("kept", queue="first"), a_job("free", queue="second"))
            with session(url) as other:
                other.execute(LOCK, (f"{SOURCE}/kept",))
                assert await claim(store, "beside it", ROOM) == ["free"]
                began = CLOCK.monotonic()
                assert await store.claim("a", CLOCK.now(), ROOM, start_due, "once more") == Claimed()
                assert CLOCK.monotonic() - began < 1, "it waits for a moment, not until it is let go"
            assert await claim(store, "when it is free", ROOM) == ["kept"]

    asyncio.run(act())


def test_what_others_let_go_of_within_a_moment_is_claimed(url: str) -> None:
    """They may have looked at it, and passed it over."""

    async def act() -> None:
        async with PostgresStore(url) as store:
            await store.join(Node("a"))
            await declare(store, a_job("only"))
            with session(url) as other, session(url) as watching:
                watching.autocommit = True
                found: list[str] = []
                for number in range(20):  # a machine that is busy may take longer than the moment
                    other.execute(LOCK, (f"{SOURCE}/only",))
                    claiming = asyncio.create_task(claim(store, f"claim {number}", {"default": 5}))
                    await asyncio.to_thread(wait_until_it_waits, watching)
                    other.rollback()
                    found += await claiming
                    if found:
                        break
                assert found == ["only"]

    asyncio.run(act())


def wait_until_it_waits(watching: psycopg.Connection[Any]) -> None:
    for _ in range(1000):
        if watching.execute(ASLEEP).fetchone() is not None:
            return


def test_a_state_whose_job_is_not_there_is_in_nobodys_way(url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url) as store:
            await store.join(Node("a"))
            await declare(store, *some_jobs(3))
            with session(url) as other:
                other.execute("DELETE FROM jobs WHERE key = %s", (f"{SOURCE}/job-0000",))
            assert await claim(store, "one", {"default": 1}) == ["job-0001"]
            assert await claim(store, "two", {"default": 1}) == ["job-0002"]
            assert (await store.wakes(("default",))).first is None
            assert (await store.overview()).damaged == 1

    asyncio.run(act())


def test_a_job_that_has_forgotten_its_newest_run_is_set_aside_and_the_others_go_on(url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url) as store:
            await store.join(Node("a"))
            await declare(store, *some_jobs(3))
            (first,) = (await store.claim("a", CLOCK.now(), {"default": 1}, start_due, "first")).runs
            await store.finish("a", [ending_of(first.attempt, CLOCK.now())], CLOCK.now(), end)
            with session(url) as other:
                other.execute(
                    "UPDATE states SET newest_at = NULL, wake_at = newest_at WHERE newest_at IS NOT NULL"
                )
            claimed = await store.claim("a", CLOCK.now(), {"default": 5}, start_due, "rest")
            assert [job.name for job, _ in claimed.runs] == ["job-0001", "job-0002"]
            assert [event.job for event in claimed.events if event.what is Happening.SET_ASIDE] == [
                first.job.key
            ]

    asyncio.run(act())
