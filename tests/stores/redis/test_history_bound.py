"""However much policies keep, the store as a whole keeps no more attempts than its URL says."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from foliot.engine.plan_definition import PlanDeclared
from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import InvalidStoreError
from foliot.model.attempt import Outcome
from foliot.model.policy import Keep
from foliot.model.state import Node
from foliot.protocols import Changes, RunQuery
from foliot.schedules import Cron
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, some_jobs, untouched
from stores.redis.playing import ROOM, play


async def run_often(store: RedisStore, clock: ManualClock, jobs: int, times: int) -> None:
    """Let jobs that keep everything run each minute."""
    await store.join(Node("a"))
    keep = Keep(last=None, days=None)
    some = [
        replace(job, schedule=Cron("* * * * *"), policy=replace(job.policy, keep=keep))
        for job in some_jobs(jobs)
    ]
    declared = PlanDeclared(clock.now())
    await store.reconcile(SOURCE, None, "r", Changes(tuple(some)), declared=declared, removed=untouched)
    for turn in range(times):
        clock.set_by(timedelta(minutes=1))
        await store.renew("a")
        runs = (await store.claim("a", clock.now(), ROOM, plan_due, f"c{turn}")).runs
        endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
        await store.finish("a", endings, clock.now(), plan_ended)


def test_each_job_gives_up_its_oldest_attempts(url: str) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await run_often(store, clock, jobs=4, times=10)
        kept = await store.runs(RunQuery(limit=1000))
        assert len(kept) == 40
        while (await store.prune(clock.now(), 7)).more:
            pass
        left = await store.runs(RunQuery(limit=1000))
        assert list(left) == list(kept[:20]), "five of each job, the newest"
        assert await store.prune(clock.now(), 100) == (0, False)

    play(f"{url}&history=20", act)


def test_the_newest_attempt_of_each_job_stays(url: str) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await run_often(store, clock, jobs=4, times=3)
        while (await store.prune(clock.now(), 100)).more:
            pass
        assert len(await store.runs(RunQuery(limit=1000))) == 4

    play(f"{url}&history=1", act)


@pytest.mark.parametrize("value", ["0", "-1", "many", "", "1e6"])
def test_a_bound_that_cannot_be_is_refused(value: str) -> None:
    with pytest.raises(InvalidStoreError, match="history="):
        read_address(f"redis://h?history={value}")
