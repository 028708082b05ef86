"""Faults of the server: what was answered holds, what is refused is so as a whole, what is lost is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from foliot.engine.plan_definition import PlanDeclared
from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import NodeBuriedError, StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.policy import Keep, Policy
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, RunQuery
from foliot.stores.redis import RedisStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import (
    HOUR,
    SOURCE,
    end,
    some_jobs,
    start_due,
    untouched,
)
from foliot.testing.servers import RedisServer
from stores.redis.playing import ROOM, again, declare, play, start

# -- scripts that are gone -------------------------------------------------------------------------


def test_scripts_that_the_server_has_forgotten_are_sent_again(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        server.ask("SCRIPT", "FLUSH")
        await declare(store, clock)
        server.ask("SCRIPT", "FLUSH")
        runs = await start(store, clock)
        server.ask("SCRIPT", "FLUSH")
        endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
        assert (await store.finish("a", endings, clock.now(), end)).refused == ()
        server.ask("SCRIPT", "FLUSH")
        await store.renew("a")
        assert len(await store.runs(RunQuery(is_open=False))) == len(runs) == 5

    play(server.url, act)


# -- data that is gone -----------------------------------------------------------------------------


def test_a_store_that_was_emptied_is_told_of_once_and_begins_anew(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        await start(store, clock)
        server.ask("FLUSHALL")
        with pytest.raises(StoreUnavailableError, match="gone back in time"):
            await store.renew("a")
        with pytest.raises(NodeBuriedError):
            await store.renew("a")
        await store.join(Node("b"))
        assert await store.jobs(JobQuery()) == ()
        await declare(store, clock)
        claimed = await store.claim("b", clock.now(), ROOM, start_due, "c2")
        assert len(claimed.runs) == 5, "frames and lanes were sent again, too"

    play(server.url, act)


@pytest.mark.parametrize("verb", ["claim", "finish", "reconcile", "update", "recover"])
def test_every_verb_that_writes_notices_an_emptied_store(server: RedisServer, verb: str) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        runs = await start(store, clock)
        endings = [runs[0].ending(Outcome.SUCCEEDED, clock.now(), clock.now())]
        asked: dict[str, Callable[[], Awaitable[Any]]] = {
            "claim": lambda: start(store, clock, "c2"),
            "finish": lambda: store.finish("a", endings, clock.now(), end),
            "reconcile": lambda: declare(store, clock, revision="r2"),
            "update": lambda: store.update(f"{SOURCE}/job-0000", untouched),
            "recover": lambda: store.recover(10, clock.now(), lambda *_: pytest.fail("nothing is lost")),
        }
        server.ask("FLUSHALL")
        with pytest.raises(StoreError):
            await asked[verb]()

    play(server.url, act)


@pytest.mark.parametrize("immediate", [True, False])
def test_what_was_answered_outlives_a_server_that_syncs_always(
    server: RedisServer, *, immediate: bool
) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 300)
        runs = await start(store, clock)
        endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs[:50]]
        await store.finish("a", endings, clock.now(), end)
        server.restart(immediate=immediate)
        lease = await again(lambda: store.renew("a"))
        assert lease.open_count == 50
        assert len(await again(lambda: store.runs(RunQuery(is_open=False, limit=1000)))) == 50
        assert {run.attempt for run in runs[50:]} == set(await again(lambda: store.held("a")))

    play(server.url, act)


# -- a server that is full, hangs, or is away ------------------------------------------------------


def test_a_server_without_memory_refuses_writes_whole_and_nodes_live_on(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        (run, *_) = await start(store, clock)
        before = await store.jobs(JobQuery())
        server.ask("CONFIG", "SET", "maxmemory", "1mb")
        with pytest.raises(StoreUnavailableError, match="maxmemory") as refused:
            await declare(store, clock, 20, "r2")
        assert "maxmemory" in str(refused.value.hint)
        ending = run.ending(Outcome.SUCCEEDED, clock.now(), clock.now())
        with pytest.raises(StoreUnavailableError):
            await store.finish("a", [ending], clock.now(), end)
        assert (await store.renew("a")).open_count == 5
        assert await store.jobs(JobQuery()) == before
        assert await store.revision(SOURCE) == "r1"
        server.ask("CONFIG", "SET", "maxmemory", "0")
        assert (await store.finish("a", [ending], clock.now(), end)).refused == ()

    play(server.url, act)


def test_a_server_without_memory_still_forgets_what_need_not_be_kept(server: RedisServer) -> None:
    """Otherwise it would never have room again."""

    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        jobs = Changes(some_jobs(3, policy=Policy(keep=Keep(last=1))))
        await store.reconcile(
            SOURCE, None, "r1", jobs, declared=PlanDeclared(clock.now()), removed=untouched
        )  # fmt: skip
        for hour in range(6):
            await clock.advance(HOUR)
            await store.renew("a")
            runs = await start(store, clock, f"c{hour}", plan_due)
            endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
            await store.finish("a", endings, clock.now(), plan_ended)
        before = len(await store.runs(RunQuery(limit=100)))
        server.ask("CONFIG", "SET", "maxmemory", "1")
        assert (await store.prune(clock.now(), 100)).forgotten == before - 3 > 0
        assert len(await store.runs(RunQuery(limit=100))) == 3

    play(server.url, act, lease=2 * HOUR)


def test_a_server_that_hangs_is_given_up_in_time_and_asked_again(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        server.pause()
        try:
            with pytest.raises(StoreUnavailableError):
                await start(store, clock, "the same")
        finally:
            server.resume()
        runs = await again(lambda: start(store, clock, "the same"))
        held = await again(lambda: store.held("a"))
        assert {run.attempt for run in runs} <= set(held)
        assert len({attempt.key for attempt in held}) == len(held) == 5

    play(server.url, act, lease=timedelta(seconds=4))


def test_no_server_is_told_without_the_password() -> None:
    async def act() -> None:
        async with RedisStore("redis://u:hush@127.0.0.1:1/0"):
            pytest.fail("nobody is there")

    with pytest.raises(StoreUnavailableError) as refused:
        asyncio.run(act())
    assert "hush" not in f"{refused.value}{refused.value.details}"


def test_a_wrong_password_is_told_as_such(shared: RedisServer) -> None:
    async def act() -> None:
        async with RedisStore(f"redis://:hush@127.0.0.1:{shared.port}/0"):
            pytest.fail("that is not its password")

    with pytest.raises(StoreUnavailableError) as refused:
        asyncio.run(act())
    assert "password" in str(refused.value.hint)
    assert "hush" not in f"{refused.value}{refused.value.details}"
