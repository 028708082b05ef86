"""Behind pgbouncer, each transaction may come by another connection, and no hint gets through: all works."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from foliot import Foliot
from foliot.clock import SystemClock
from foliot.engine.planner import plan_lost
from foliot.executors.python import JobRun
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, Output, RunQuery
from foliot.stores.postgres import PostgresStore
from foliot.testing.contract import ClaimContract, Sharing
from foliot.testing.contract.crowd import Crowd
from foliot.testing.contract.sample import (
    SOURCE,
    count_one,
    declare_at,
    end,
    ending_of,
    some_jobs,
    start_due,
    untouched,
)
from foliot.testing.contract.stage import Stage
from stores.postgres.opening import fresh, open_postgres
from stores.postgres.pooler import pooled

CLOCK = SystemClock()


@pytest.fixture(scope="module")
def pooled_url(server_url: str) -> Iterator[str]:
    with pooled(server_url) as url:
        yield url


@pytest.fixture
def url(pooled_url: str) -> str:
    return fresh(pooled_url)


class TestClaimsThroughAPooler(ClaimContract):
    @pytest.fixture
    def sharing(self, url: str) -> Sharing:
        return Sharing(open_postgres, url)

    @pytest.fixture
    def crowd(self, stage: Stage) -> Crowd:
        return Crowd(stage, "threads")


def test_every_verb_works_through_a_pooler(url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url) as store, PostgresStore(url) as other:
            now = CLOCK.now()
            await asyncio.gather(store.join(Node("a")), other.join(Node("b")))
            changes = Changes(some_jobs(300))  # so many are copied, not inserted
            await store.reconcile(
                SOURCE, None, "r1", changes, declared=declare_at(now, now), removed=untouched
            )
            claims = await asyncio.gather(
                store.claim("a", now, {"default": 100}, start_due, "a1"),
                other.claim("b", now, {"default": 100}, start_due, "b1"),
            )
            held = [attempt for claimed in claims for _, attempt in claimed.runs]
            assert len({attempt.key for attempt in held}) == len(held) == 200
            again = await store.claim("a", now, {"default": 100}, start_due, "a1")
            assert again.runs == claims[0].runs

            mine = [attempt for _, attempt in claims[0].runs]
            await store.write_outputs([Output(mine[0].job, mine[0].run_key, 1, "words")])
            finished = await store.finish("a", [ending_of(one, now) for one in mine], now, end)
            assert finished.refused == ()
            await other.leave("b")
            assert len((await store.recover(500, now, plan_lost)).events) == 200, "lost, and restarted"
            await store.update(f"{SOURCE}/job-0000", count_one)
            assert (await store.renew("a")).open_count == 0
            assert await store.output(*mine[0].key) is not None
            assert (await store.overview()).jobs == len(await store.jobs(JobQuery(limit=1000))) == 300
            assert len(await store.runs(RunQuery(outcome=Outcome.SUCCEEDED, limit=1000))) == 100
            await store.prune(now, 1000)

    asyncio.run(act())


def make_app(url: str, seen: list[str]) -> Foliot:
    app = Foliot(url, name="shop", poll="300ms", lease="3s")

    @app.job("@every 1s")
    async def tick(run: JobRun) -> None:
        seen.append(run.key)

    @app.job("0 0 1 1 *")
    async def endless(run: JobRun) -> None:
        seen.append(run.key)
        await asyncio.Event().wait()

    return app


def test_without_hints_the_poll_finds_what_others_ask_for_and_nothing_runs_twice(pooled_url: str) -> None:
    async def act(url: str) -> None:
        seen: list[str] = []
        apps = [make_app(url, seen), make_app(url, seen)]
        asker = make_app(url, [])
        async with asyncio.timeout(30), apps[0], apps[1]:
            key = await asker.trigger("endless")
            while key not in seen or len(seen) < 5:
                await CLOCK.wait(timedelta(milliseconds=20))
            await asker.cancel(key)
            while [a.outcome for a in await asker.history("endless")] != [Outcome.CANCELLED]:
                await CLOCK.wait(timedelta(milliseconds=20))
        asker.close()
        assert len(seen) == len(set(seen))

    asyncio.run(act(fresh(pooled_url)))
