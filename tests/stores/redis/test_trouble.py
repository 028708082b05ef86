"""Faults of the server: what was answered holds, what is refused is so as a whole, what is lost is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import NodeBuriedError, StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, RunQuery
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.stores.redis.durability import Server, refuse, tell
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import (
    HOUR,
    SOURCE,
    a_job,
    declare_at,
    end,
    keep,
    some_jobs,
    start_due,
    untouched,
)
from foliot.testing.servers import RedisServer

ROOM = {"default": 100}


def play(url: str, act: Callable[[RedisStore, ManualClock], Awaitable[None]], **facts: Any) -> None:
    async def opened() -> None:
        clock = ManualClock()
        async with asyncio.timeout(120), RedisStore(url, time=clock, **facts) as store:
            await act(store, clock)

    asyncio.run(opened())


async def declare(store: RedisStore, clock: ManualClock, count: int = 5, revision: str = "r1") -> None:
    base = await store.revision(SOURCE)
    declared = declare_at(clock.now(), clock.now())
    changes = Changes(some_jobs(count))
    await store.reconcile(SOURCE, base, revision, changes, declared=declared, removed=untouched)


async def start(
    store: RedisStore, clock: ManualClock, claim_id: str = "c", decide: Any = start_due
) -> list[Any]:
    return list((await store.claim("a", clock.now(), ROOM, decide, claim_id)).runs)


async def again(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Ask until the server answers."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await ask()
            except StoreUnavailableError:
                await asyncio.to_thread(lambda: None)


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


def test_a_server_that_lost_its_last_writes_is_told_of(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        await start(store, clock)
        server.stop()
        server.cut_tail(200)  # the claim is one script: a part of it that is missing takes all of it along
        server.start()
        told = await first_news(store)
        assert "writes that it had answered are gone" in told
        assert (await store.renew("a")).open_count == 0

    async def first_news(store: RedisStore) -> str:
        """What is told first, beside that the connection was cut."""
        async with asyncio.timeout(60):
            while True:
                try:
                    await store.renew("a")
                except StoreUnavailableError as error:
                    if "Redis says" not in str(error):
                        return str(error)
                else:
                    return "nothing"

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


# -- what a server promises ------------------------------------------------------------------------


def a_server(**facts: Any) -> Server:
    return Server("redis", (7, 0, 15), "master", "always", "noeviction")._replace(**facts)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"version": (6, 2)}, "too old"),
        ({"name": "valkey", "version": (7, 0)}, "too old"),
        ({"role": "slave"}, "takes no writes"),
        ({"eviction": "allkeys-lru"}, "throws away any key"),
    ],
)
def test_a_server_that_cannot_keep_jobs_is_refused(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(StoreError, match=words) as refused:
        refuse(a_server(**facts), read_address("redis://h"))
    assert refused.value.hint


def test_eviction_is_let_through_by_those_who_ask_for_it() -> None:
    refuse(a_server(eviction="allkeys-lru"), read_address("redis://h?unsafe=eviction"))
    refuse(a_server(eviction="volatile-lru"), read_address("redis://h"))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, []),
        ({"fsync": "everysec"}, ["store_loses_seconds"]),
        ({"fsync": "off"}, ["store_not_durable"]),
        ({"fsync": "no"}, ["store_not_durable"]),
        ({"fsync": "unknown"}, ["store_durability_unknown"]),
        ({"eviction": "volatile-ttl"}, ["store_evicts"]),
    ],
)
def test_what_a_crash_would_cost_is_told(
    facts: dict[str, Any], words: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "foliot"):
        tell(a_server(**facts))
    assert [record.getMessage().partition(" ")[0] for record in caplog.records] == words


def test_settings_are_read_from_the_server(server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    async def nothing(*_: object) -> None:
        pass

    with caplog.at_level(logging.INFO, "foliot"):
        play(server.url, nothing)
        assert caplog.records == []
        server.ask("CONFIG", "SET", "appendfsync", "everysec")
        play(server.url, nothing)
    assert [record.getMessage().partition(" ")[0] for record in caplog.records] == ["store_loses_seconds"]
    server.ask("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lfu")
    with pytest.raises(StoreError, match="allkeys-lfu"):
        play(server.url, nothing)


def test_a_store_of_a_newer_program_is_refused(url: str, shared: RedisServer) -> None:
    async def nothing(*_: object) -> None:
        pass

    shared.ask("HSET", f"{read_address(url).prefix}:meta", "schema", "2")
    with pytest.raises(StoreError, match="schema 2"):
        play(url, nothing)


# -- large revisions -------------------------------------------------------------------------------


def test_a_source_that_nobody_frees_goes_on_by_itself(url: str, shared: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        prefix = read_address(url).prefix
        till = f"dead {2**51}"  # by a clock that is ahead: it is held until somebody frees it
        shared.ask("HSET", f"{prefix}:frozen", SOURCE, till)
        assert await start(store, clock, "c1") == []
        shared.ask("HSET", f"{prefix}:frozen", SOURCE, "dead 1")
        assert len(await start(store, clock, "c2")) == 5

    play(url, act)


def test_a_revision_that_counts_is_applied_by_the_first_who_meets_it(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foliot.stores.redis.asking import Asking  # noqa: PLC0415

    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        with monkeypatch.context() as patched:
            patched.setattr(Asking, "apply", lambda *_: None)  # the writer dies at the point of no return
            await declare(store, clock, 700)
            assert await store.revision(SOURCE) == "r1"
        assert (await store.overview()).jobs == 700
        claimed = await store.claim("a", clock.now(), {"default": 700}, start_due, "c")
        assert len(claimed.runs) == 700

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
