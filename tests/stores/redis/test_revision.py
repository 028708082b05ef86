"""Large revisions: nobody sees half of one, no claim is overwritten, and the dead hold nothing up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, RunQuery
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.stores.redis.asking import Asking
from foliot.stores.redis.wire import Wire
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import (
    HOUR,
    SOURCE,
    a_job,
    count_one,
    declare_at,
    keep,
    some_jobs,
    start_due,
    untouched,
)
from foliot.testing.servers import RedisServer
from stores.redis.playing import declare, play, server_time, start


@pytest.mark.parametrize("over", [1, -3600_000_000], ids=["silent", "the clock was set back"])
def test_a_source_that_nobody_frees_goes_on_by_itself(url: str, shared: RedisServer, over: int) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        prefix = read_address(url).prefix
        shared.ask("HSET", f"{prefix}:frozen", SOURCE, f"alive {server_time(shared) + 4_000_000}")
        assert await start(store, clock, "c1") == []
        shared.ask("HSET", f"{prefix}:frozen", SOURCE, f"dead {server_time(shared) - over}")
        assert len(await start(store, clock, "c2")) == 5

    play(url, act)


MEETINGS: dict[str, Callable[[RedisStore, ManualClock], Awaitable[Any]]] = {
    "claim": lambda store, clock: store.claim("a", clock.now(), {"default": 1}, start_due, "first"),
    "update": lambda store, _: store.update(f"{SOURCE}/job-0699", count_one),
    "overview": lambda store, _: store.overview(),
    "jobs": lambda store, _: store.jobs(JobQuery()),
    "wakes": lambda store, _: store.wakes(["default"]),
    "reconcile": lambda store, clock: declare(store, clock, 1, "r2"),
}


@pytest.mark.parametrize("meeting", MEETINGS)
def test_a_revision_that_counts_is_applied_by_the_first_who_meets_it(
    url: str, meeting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        with monkeypatch.context() as patched:
            patched.setattr(Asking, "apply", lambda *_: None)  # the writer dies at the point of no return
            await declare(store, clock, 700)
            assert await store.revision(SOURCE) == "r1"
        await MEETINGS[meeting](store, clock)
        wire = Wire(read_address(url), timedelta(seconds=30))
        assert wire.ask("HLEN", f"{read_address(url).prefix}:s") == 700
        wire.close()

    play(url, act)


def test_a_job_that_moves_while_a_large_revision_is_staged_is_decided_anew(url: str) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 600)
        asked = 0
        loop = asyncio.get_running_loop()

        def declared(job: Any, record: Any) -> Any:
            nonlocal asked
            asked += 1
            if asked == 600:  # all but the last portion are staged by now
                asyncio.run_coroutine_threadsafe(start(store, clock), loop).result(60)
            return declare_at(clock.now() + HOUR, clock.now())(job, record)

        changes = Changes(some_jobs(600, queue="other"))
        await store.reconcile(SOURCE, "r1", "r2", changes, declared=declared, removed=untouched)
        views = await store.jobs(JobQuery(limit=1000))
        running = [view.record.attempts for view in views if view.record and view.record.attempts]
        assert len(running) == 100, "no claim was overwritten"
        assert {view.record.job.queue for view in views if view.record} == {"other"}
        assert asked > 600

    play(url, act)


def test_an_unchanged_source_of_any_size_writes_nothing(url: str) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await declare(store, clock, 600)
        before = store._shared.seq
        changes = Changes(some_jobs(600))
        await store.reconcile(SOURCE, "r1", "r2", changes, declared=keep, removed=untouched)
        assert store._shared.seq == before + 1

    play(url, act)


def test_the_planner_lives_a_day_on_it(url: str) -> None:
    """A life with the planner: claims, retries of nothing, pruning, and what is due is always found."""

    async def act(store: RedisStore, clock: ManualClock) -> None:
        jobs = some_jobs(20)
        await store.join(Node("a"))
        await store.reconcile(
            SOURCE, None, "r1", Changes((*jobs, a_job("last"))),
            declared=PlanDeclared(clock.now()), removed=lambda record: plan_removed(record, clock.now()),
        )  # fmt: skip
        for hour in range(24):
            await clock.advance(HOUR)
            await store.renew("a")
            runs = await start(store, clock, f"c{hour}", plan_due)
            assert len(runs) == 21
            endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
            assert (await store.finish("a", endings, clock.now(), plan_ended)).refused == ()
        assert len(await store.runs(RunQuery(limit=1000))) == 21 * 24
        assert (await store.overview()).open_attempts == 0

    play(url, act)
