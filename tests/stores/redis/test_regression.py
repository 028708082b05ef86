"""A server that has lost what it had answered: noticed, told, and healed as far as processes remember."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from foliot import Foliot
from foliot.errors import NodeBuriedError, StoreError, StoreUnavailableError
from foliot.executors.python import JobRun
from foliot.model.attempt import Attempt, Outcome
from foliot.model.decision import Decision
from foliot.model.state import Node, Record
from foliot.observability import Metrics
from foliot.protocols import Finished, JobQuery, Recovered, RunQuery
from foliot.stores.redis import RedisStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, count_one, end, ending_of, start_due
from foliot.testing.contract.sample import lose as lose_attempts
from foliot.testing.servers import RedisServer
from stores.redis.playing import ROOM, again, declare, play, server_time

Do = Callable[[], Awaitable[object]]
META = "{foliot}:meta"
LONG = 4_500_000  # microseconds for which lost data is written again, at most
LEASE = timedelta(seconds=30)


async def lose(server: RedisServer, act: Do) -> None:
    """Do something of which the server, which crashes then, knows nothing afterwards."""
    before = server.file_size
    await act()
    server.stop(immediate=True)
    server.cut_tail(server.file_size - before)
    server.start()


async def claim(store: RedisStore, clock: ManualClock, node: str, most: int = 100) -> list[Attempt]:
    claimed = await again(
        lambda: store.claim(node, clock.now(), {"default": most}, start_due, f"{node}{most}")
    )
    return [run.attempt for run in claimed.runs]


async def first_claim(store: RedisStore, clock: ManualClock, node: str) -> list[Attempt]:
    """What a node gets as soon as it may claim again."""
    async with asyncio.timeout(60):
        while not (found := await claim(store, clock, node)):
            pass
    return found


@asynccontextmanager
async def opened(server: RedisServer, clock: ManualClock, node: str) -> AsyncIterator[RedisStore]:
    async with RedisStore(server.url, time=clock) as store:
        await store.join(Node(node))
        yield store


def with_two(
    server: RedisServer, act: Callable[[RedisStore, RedisStore, ManualClock], Awaitable[None]]
) -> None:
    """Two processes, of which each has a node."""

    async def both() -> None:
        clock = ManualClock()
        async with (
            asyncio.timeout(120),
            opened(server, clock, "a") as one,
            opened(server, clock, "b") as other,
        ):
            await act(one, other, clock)

    asyncio.run(both())


def paused(record: Record) -> Decision:
    return Decision(record.state._replace(paused_at=record.state.created_at))


# -- healed ----------------------------------------------------------------------------------------


def test_a_claim_that_the_server_has_lost_is_written_again(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        started: list[Attempt] = []

        async def start() -> None:
            started.extend(await claim(store, clock, "a"))

        await lose(server, start)
        assert (await again(lambda: store.renew("a"))).open_count == len(started) == 5
        assert set(await store.held("a")) == set(started)
        assert await claim(store, clock, "a", 99) == [], "nothing of it is claimed a second time"
        endings = [
            view_run.ending(Outcome.SUCCEEDED, clock.now(), clock.now())
            for view_run in (await store.claim("a", clock.now(), ROOM, start_due, "a100")).runs
        ]
        assert (await store.finish("a", endings, clock.now(), end)).refused == ()
        health = await store.health()
        assert health.regressions == 1
        assert "1 of them were written again" in health.last_regression

    play(server.url, act)


def test_all_that_became_of_a_run_is_written_again(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 300)

        async def run() -> None:
            runs = (await store.claim("a", clock.now(), ROOM, start_due, "c")).runs
            endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
            await store.finish("a", endings, clock.now(), end)
            await store.update(f"{SOURCE}/job-0000", paused)

        await lose(server, run)
        assert (await again(lambda: store.renew("a"))).open_count == 0
        assert len(await store.runs(RunQuery(is_open=False, limit=1000))) == 100
        (first, *_) = await store.jobs(JobQuery())
        assert first.record is not None
        assert first.record.state.paused_at is not None
        assert len(await first_claim(store, clock, "a")) == 100, "the others are due still"
        assert len(await store.runs(RunQuery(limit=1000))) == 200

    play(server.url, act)


def test_a_revision_and_a_node_that_the_server_has_lost_come_back(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await declare(store, clock, 5)

        async def more() -> None:
            await store.join(Node("a"))
            await declare(store, clock, 20, "r2")
            await claim(store, clock, "a", 3)

        await lose(server, more)
        assert (await again(lambda: store.renew("a"))).open_count == 3
        assert await store.revision(SOURCE) == "r2"
        assert len(await store.jobs(JobQuery())) == 20

    play(server.url, act)


def test_two_processes_heal_together_and_nothing_runs_twice(server: RedisServer) -> None:
    async def act(one: RedisStore, other: RedisStore, clock: ManualClock) -> None:
        await declare(one, clock, 50)
        mine: list[Attempt] = []
        theirs: list[Attempt] = []

        async def start() -> None:
            mine.extend(await claim(one, clock, "a", 20))
            theirs.extend(await claim(other, clock, "b", 10))

        await lose(server, start)
        assert await claim(other, clock, "b", 99) == [], "nobody claims until all could write again"
        assert (await again(lambda: one.renew("a"))).open_count == len(mine) == 20
        assert (await again(lambda: other.renew("b"))).open_count == len(theirs) == 10
        rest = await first_claim(other, clock, "b")
        assert {attempt.run_key for attempt in rest}.isdisjoint(attempt.run_key for attempt in mine + theirs)
        assert len(rest) == 20

    with_two(server, act)


def test_a_write_waits_for_the_one_before_it_which_another_process_has(server: RedisServer) -> None:
    async def act(one: RedisStore, other: RedisStore, clock: ManualClock) -> None:
        await declare(one, clock, 1)

        async def start_and_pause() -> None:
            await claim(one, clock, "a")
            await other.update(f"{SOURCE}/job-0000", paused)

        await lose(server, start_and_pause)
        await again(lambda: other.renew("b"))  # what it wrote rests on the claim, which is not there yet
        await again(lambda: one.renew("a"))
        await other.renew("b")
        ((view,), held) = await other.jobs(JobQuery()), await one.held("a")
        assert view.record is not None
        assert view.record.state.paused_at is not None
        assert view.record.attempts == held
        assert len(held) == 1

    with_two(server, act)


# -- nothing else is written meanwhile -------------------------------------------------------------


@asynccontextmanager
async def held(server: RedisServer, call: Do) -> AsyncIterator[asyncio.Task[Any]]:
    """Call something while lost data is written again, which here takes until the block ends."""
    server.ask("HSET", META, "hold_until", str(server_time(server) + LONG))
    called = asyncio.create_task(again(call))
    await asyncio.wait((called,), timeout=0.3)
    assert not called.done(), "it must wait for all who may have to write something again"
    yield called
    server.ask("HDEL", META, "hold_until")


def test_a_command_does_not_change_a_job_before_its_lost_claim_is_there_again(server: RedisServer) -> None:
    async def act(one: RedisStore, other: RedisStore, clock: ManualClock) -> None:
        await declare(one, clock, 1)

        async def start() -> None:
            await claim(one, clock, "a")

        await lose(server, start)
        await again(lambda: other.renew("b"))
        async with held(server, lambda: other.update(f"{SOURCE}/job-0000", paused)) as told:
            assert (await again(lambda: one.renew("a"))).open_count == 1
        await told
        (view,) = await other.jobs(JobQuery())
        assert view.record is not None
        assert view.record.state.paused_at is not None
        assert view.record.attempts == await one.held("a")
        assert len(view.record.attempts) == 1

    with_two(server, act)


def test_an_end_waits_for_its_lost_claim_which_rests_on_a_write_of_another(server: RedisServer) -> None:
    async def act(one: RedisStore, other: RedisStore, clock: ManualClock) -> None:
        await declare(one, clock, 1)
        started: list[Attempt] = []

        async def change_and_start() -> None:
            await other.update(f"{SOURCE}/job-0000", count_one)
            started.extend(await claim(one, clock, "a"))

        await lose(server, change_and_start)
        assert (await again(lambda: one.renew("a"))).open_count == 0, "its claim is not there yet"
        endings = [ending_of(attempt, clock.now()) for attempt in started]
        async with held(server, lambda: one.finish("a", endings, clock.now(), end)) as ended:
            await again(lambda: other.renew("b"))
        assert (await ended).refused == ()
        (run,) = await one.runs(RunQuery())
        assert run.outcome is Outcome.SUCCEEDED

    with_two(server, act)


def test_a_node_whose_heartbeat_is_lost_is_not_buried_before_it_could_beat_again(server: RedisServer) -> None:
    async def act(one: RedisStore, other: RedisStore, clock: ManualClock) -> None:
        await declare(one, clock, 1)

        async def live_on() -> None:
            await clock.advance(LEASE * 0.9)
            await other.renew("b")
            await claim(other, clock, "b")
            await clock.advance(LEASE * 0.9)

        await lose(server, live_on)
        await again(lambda: one.renew("a"))
        server.ask("HSET", META, "hold_until", str(server_time(server) + LONG))
        assert await one.recover(100, clock.now(), lose_attempts) == Recovered()
        assert (await again(lambda: other.renew("b"))).open_count == 1
        server.ask("HDEL", META, "hold_until")
        assert await one.recover(100, clock.now(), lose_attempts) == Recovered()
        assert len(await other.held("b")) == 1

    with_two(server, act)


def test_an_end_is_not_confirmed_if_the_server_was_replaced_before_its_answer_was_read(
    server: RedisServer,
) -> None:
    answered, may_go_on = threading.Event(), threading.Event()

    def failpoint(step: str) -> None:
        if step == "finish:after_commit":
            answered.set()
            may_go_on.wait(60)

    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 1)
        endings = [ending_of(attempt, clock.now()) for attempt in await claim(store, clock, "a")]
        finishes: list[asyncio.Task[Finished]] = []

        async def finish() -> None:
            finishes.append(asyncio.create_task(again(lambda: store.finish("a", endings, clock.now(), end))))
            await asyncio.to_thread(answered.wait, 60)

        await lose(server, finish)
        assert (await again(lambda: store.renew("a"))).open_count == 1, "the end is lost"
        may_go_on.set()
        assert (await finishes[0]).refused == ()
        (run,) = await store.runs(RunQuery())
        assert run.outcome is Outcome.SUCCEEDED
        assert (await store.health()).regressions <= 1

    play(server.url, act, failpoint=failpoint)


# -- not lost --------------------------------------------------------------------------------------


def test_a_restart_that_loses_nothing_is_no_regression(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        started = await claim(store, clock, "a", 2)
        server.restart(immediate=True)
        assert len(await claim(store, clock, "a")) == 3, "a node that is alone need not wait"
        assert len(await store.held("a")) == len(started) + 3
        assert (await store.health()).regressions == 0

    play(server.url, act)


# -- emptied ---------------------------------------------------------------------------------------


def test_nothing_is_written_again_to_a_store_that_was_emptied(server: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        await claim(store, clock, "a")
        server.ask("FLUSHALL")
        with pytest.raises(StoreUnavailableError, match="gone back in time"):
            await store.renew("a")
        with pytest.raises(NodeBuriedError):
            await store.renew("a")
        assert await store.jobs(JobQuery()) == ()
        assert (await store.health()).regressions == 1

    play(server.url, act)


@pytest.mark.req("BAN-15")
def test_jobs_that_run_when_first_seen_do_not_run_again_after_a_flush(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    metrics = Metrics()

    async def act() -> None:
        app = Foliot(server.url, name="shop", lease="3s", metrics=metrics)

        @app.job("0 0 1 1 *", first_seen="now")
        async def report(run: JobRun) -> None:
            seen.append(run.key)

        async with app, asyncio.timeout(120):
            while not seen:
                await asyncio.to_thread(lambda: None)
            server.ask("FLUSHALL")
            while not told() or not await jobs_of(app):
                await asyncio.to_thread(lambda: None)
            assert not await app.history("report")

    async def jobs_of(app: Foliot) -> int:
        try:
            return len(await app.jobs())
        except StoreError:
            return 0

    def told() -> bool:
        return metrics.registry.get_sample_value("foliot_store_regressions_total") == 1

    with caplog.at_level(logging.ERROR, "foliot"):
        asyncio.run(act())
    assert len(seen) == 1
    (line,) = [record for record in caplog.records if "store_regressed" in record.getMessage()]
    assert line.levelname == "ERROR"
    assert "its data is gone" in line.getMessage()
