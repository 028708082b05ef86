"""A node that is to stop does so in bounded time, whatever its store does, and tells what it can."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from engine.stage import LEASE, MINUTE, SECOND, Stage, job, staged
from foliot.engine.engine import Engine
from foliot.errors import StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.protocols import Claimed

DRAIN = timedelta(seconds=20)
CALL = timedelta(seconds=5)
AGES = timedelta(days=36_500)  # the declarative door drains for as long as it takes


class Ailing:
    """A store some of whose verbs fail, or never answer, or answer too late, from when the test says so."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.traits = store.traits
        self.failing: set[str] = set()
        self.hanging: set[str] = set()
        self.is_away = False
        self.calls: Counter[str] = Counter()

    def __getattr__(self, verb: str) -> Any:
        real = getattr(self._store, verb)

        async def call(*args: Any, **options: Any) -> Any:
            self.calls[verb] += 1
            if verb in self.hanging:
                await asyncio.Event().wait()
            if self.is_away or verb in self.failing:
                raise StoreUnavailableError(verb, "not now")
            return await real(*args, **options)

        return call


async def _stop(stage: Stage, engine: Engine, within: timedelta) -> None:
    engine.stop()
    await _ends(stage, within)


async def _ends(stage: Stage, within: timedelta) -> None:
    await stage.clock.advance(within)
    ended = [life.done() for _, life in stage._lives]
    if not all(ended):
        await stage.kill_all()
    assert all(ended), "the node did not end"


@pytest.mark.parametrize("drain", [DRAIN, AGES], ids=["20s", "ages"])
def test_a_node_whose_claims_keep_failing_stops_at_once(drain: timedelta) -> None:
    """A locked table, a damaged index: the lease is renewed all the time."""

    @staged
    async def life(stage: Stage) -> None:
        store = Ailing(stage.store)
        store.failing = {"claim"}
        await stage.declare(job())
        engine = await stage.start(store, drain=drain)
        await stage.clock.advance(3 * MINUTE)
        assert store.calls["claim"] > 10

        await _stop(stage, engine, SECOND)
        assert (await stage.store.overview()).nodes == ()

    life()


@pytest.mark.parametrize("drain", [DRAIN, AGES], ids=["20s", "ages"])
def test_a_node_whose_claim_hangs_stops_in_bounded_time(drain: timedelta) -> None:
    @staged
    async def life(stage: Stage) -> None:
        store = Ailing(stage.store)
        store.hanging = {"claim"}
        await stage.declare(job())
        engine = await stage.start(store, drain=drain)
        await stage.clock.advance(3 * MINUTE)

        await _stop(stage, engine, min(drain, LEASE) + SECOND)
        assert (await stage.store.overview()).nodes == ()

    life()


@pytest.mark.parametrize("verb", ["renew", "join", "recover", "prune", "finish", "leave", "wakes", "held"])
def test_no_call_that_hangs_holds_up_the_end(verb: str) -> None:
    @staged
    async def life(stage: Stage) -> None:
        store = Ailing(stage.store)
        await stage.declare(job())
        engine = await stage.start(store, drain=DRAIN)
        await stage.clock.advance(MINUTE + SECOND / 2)
        store.hanging = {verb}
        await stage.clock.advance(2 * MINUTE)

        await _stop(stage, engine, DRAIN + 4 * CALL)

    life()


@staged
async def test_a_node_that_hangs_before_it_has_joined_stops_when_a_call_should_have_been_answered(
    stage: Stage,
) -> None:
    store = Ailing(stage.store)
    store.hanging = {"join"}
    engine = await stage.start(store, drain=DRAIN)
    await stage.clock.advance(MINUTE)

    await _stop(stage, engine, CALL + SECOND)


@staged
async def test_a_node_whose_store_is_away_stops_within_the_time_to_drain(stage: Stage) -> None:
    store = Ailing(stage.store)
    stage.takes = 5 * SECOND
    await stage.declare(job())
    engine = await stage.start(store, drain=DRAIN)
    await stage.clock.advance(MINUTE + SECOND)
    store.is_away = True
    await stage.clock.advance(SECOND)

    await _stop(stage, engine, DRAIN)


@staged
async def test_a_last_report_is_told_again_until_it_arrives(stage: Stage) -> None:
    store = Ailing(stage.store)
    await stage.declare(job(rule="1 0 * * *"))
    engine = await stage.start(store, drain=DRAIN)
    await stage.clock.advance(MINUTE + SECOND / 2)
    assert len(stage.starts) == 1
    store.is_away = True
    engine.stop()
    await stage.clock.advance(DRAIN - 5 * SECOND)
    store.is_away = False

    await _ends(stage, 3 * SECOND)

    [attempt] = await stage.runs()
    assert attempt.outcome is Outcome.SUCCEEDED
    assert (await stage.store.overview()).nodes == ()


@staged
async def test_a_report_that_hangs_is_told_again_too(stage: Stage) -> None:
    store = Ailing(stage.store)
    await stage.declare(job(rule="1 0 * * *"))
    engine = await stage.start(store, drain=DRAIN)
    await stage.clock.advance(MINUTE + SECOND / 2)
    store.hanging = {"finish"}
    await stage.clock.advance(SECOND)
    engine.stop()
    await stage.clock.advance(SECOND)
    store.hanging = set()

    await _ends(stage, 2 * CALL)

    [attempt] = await stage.runs()
    assert attempt.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("drain", [DRAIN, AGES], ids=["20s", "ages"])
def test_what_cannot_be_told_is_said_in_the_log(drain: timedelta, caplog: pytest.LogCaptureFixture) -> None:
    @staged
    async def life(stage: Stage) -> None:
        store = Ailing(stage.store)
        await stage.declare(job("a", "1 0 * * *"), job("b", "1 0 * * *"), job("c", "1 0 * * *"))
        engine = await stage.start(store, drain=drain)
        await stage.clock.advance(MINUTE + SECOND / 2)
        store.is_away = True
        await _stop(stage, engine, min(drain, LEASE) + 2 * SECOND)

    with caplog.at_level(logging.ERROR, "foliot"):
        life()
    assert [r.getMessage() for r in caplog.records] == ["ends_not_stored runs=3"]


@staged
async def test_a_node_that_was_buried_meanwhile_does_not_go_on_telling(stage: Stage) -> None:
    store = Ailing(stage.store)
    await stage.declare(job(rule="1 0 * * *"))
    engine = await stage.start(store, drain=AGES)
    await stage.clock.advance(MINUTE + SECOND / 2)
    store.failing = {"finish"}
    engine.stop()
    await stage.clock.advance(3 * SECOND)
    await stage.store.leave(engine.node)  # somebody else declared it dead
    store.failing = set()

    await _ends(stage, 3 * SECOND)


@staged
async def test_what_a_claim_started_whose_answer_never_came_is_left_to_others_at_the_stop(
    stage: Stage,
) -> None:
    class Mute(Ailing):
        """Claims, and does not say so."""

        async def claim(self, *args: Any) -> Any:
            if (await self._store.claim(*args)).runs:
                await asyncio.Event().wait()
            return Claimed()

    await stage.declare(job(rule="1 0 * * *"))
    engine = await stage.start(Mute(stage.store), drain=DRAIN)
    await stage.clock.advance(MINUTE + SECOND)
    await _stop(stage, engine, DRAIN + SECOND)
    stage._lives.clear()

    await stage.start()
    await stage.clock.advance(LEASE)

    assert [number for _, _, number in stage.starts] == [2]
    assert [a.outcome for a in await stage.runs()] == [Outcome.LOST, Outcome.SUCCEEDED]


@staged
async def test_a_claim_that_is_answered_after_the_stop_is_carried_out(stage: Stage) -> None:
    """It was under way, and the store says that its runs are this node's: they are drained as others are."""
    answer = asyncio.Event()

    class Slow(Ailing):
        async def claim(self, *args: Any) -> Any:
            claimed = await self._store.claim(*args)
            if claimed.runs:
                await answer.wait()
            return claimed

    await stage.declare(job(rule="1 0 * * *"))
    engine = await stage.start(Slow(stage.store), drain=DRAIN)
    await stage.clock.advance(MINUTE + SECOND)
    engine.stop()
    await stage.clock.advance(SECOND)
    answer.set()
    await _ends(stage, 3 * SECOND)

    [attempt] = await stage.runs()
    assert attempt.outcome is Outcome.SUCCEEDED


@staged
async def test_ending_now_does_not_wait_for_a_store_that_is_away(stage: Stage) -> None:
    store = Ailing(stage.store)
    await stage.declare(job(rule="1 0 * * *"))
    engine = await stage.start(store, drain=AGES)
    await stage.clock.advance(MINUTE + SECOND / 2)
    store.is_away = True
    engine.stop()
    await stage.clock.advance(5 * SECOND)
    engine.end_now()

    await _ends(stage, 2 * SECOND)
