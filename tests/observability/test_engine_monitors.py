"""What an engine tells of itself: turns, heartbeats, lost leases, jumps of the clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from engine.stage import LEASE, MINUTE, SECOND, Stage, Watch, job, staged
from foliot.engine.engine import Engine
from foliot.model.state import Lease, Node
from foliot.stores.memory import MemoryStore


class Shifted:
    """The stage's clock as another host has it, or, for a store, as its server has it."""

    def __init__(self, stage: Stage) -> None:
        self.offset = timedelta(0)
        self._clock = stage.clock

    def now(self) -> datetime:
        return self._clock.now() + self.offset

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)


async def watched(stage: Stage, **settings: Any) -> tuple[Engine, Watch]:
    watch = Watch()
    return await stage.start(monitors=(watch,), **settings), watch


@staged
async def test_a_turn_tells_what_it_took_and_what_the_node_holds(stage: Stage) -> None:
    stage.takes = 10 * SECOND
    await stage.declare(*(job(f"job-{number}") for number in range(3)))
    _, watch = await watched(stage)

    await stage.clock.advance(MINUTE)
    assert ("claim", timedelta(0), 3) in watch.turns

    await stage.clock.advance(20 * SECOND)
    assert watch.turns[-2:] == [("report", timedelta(0), 0), ("claim", timedelta(0), 0)]


@staged
async def test_each_heartbeat_is_a_pulse_and_a_sound_node_has_nothing_to_tell(stage: Stage) -> None:
    engine, watch = await watched(stage)

    await stage.clock.advance(MINUTE)

    nothing = timedelta(0)
    assert len(watch.healths) == 7  # the first as it joined
    assert {health[2:] for health in watch.healths} == {(nothing, nothing, nothing, 0)}
    assert {health.node for health in watch.healths} == {engine.node}
    assert watch.healths[-1].at == stage.clock.now()
    assert watch.lost == []


@staged
async def test_what_is_due_and_finds_no_free_slot_is_overdue(stage: Stage) -> None:
    stage.takes = 10 * MINUTE
    await stage.declare(*(job(f"job-{number}", "1 0 * * *") for number in range(5)))
    _, watch = await watched(stage, slots=1)

    await stage.clock.advance(3 * MINUTE)

    assert (watch.healths[0].overdue, watch.healths[0].backlog) == (timedelta(0), 0)
    assert (watch.healths[-1].overdue, watch.healths[-1].backlog) == (2 * MINUTE, 4)


@staged
async def test_a_jump_of_the_store_s_clock_is_told_once(stage: Stage) -> None:
    time = Shifted(stage)
    stage.store = MemoryStore(time, lease=LEASE)
    _, watch = await watched(stage)
    await stage.clock.advance(MINUTE)

    time.offset = 5 * SECOND
    await stage.clock.advance(MINUTE)

    assert [health.jump for health in watch.healths if health.jump] == [5 * SECOND]
    assert watch.healths[-1].skew == -5 * SECOND


@staged
async def test_a_clock_that_is_off_is_told_to_whoever_asks_the_store(stage: Stage) -> None:
    time = Shifted(stage)
    stage.store = MemoryStore(time, lease=LEASE)
    seen = []
    joins = count()
    join = stage.store.join

    async def counted(node: Node) -> Lease:
        next(joins)
        return await join(node)

    stage.store.join = counted  # type: ignore[method-assign] # to count its calls
    await stage.start()
    for seconds in (0, 1, 20, 21, -3):
        time.offset = seconds * SECOND
        await stage.clock.advance(LEASE)
        [view] = await stage.store.nodes()
        seen.append(view.node.skew / SECOND)

    assert seen == [0, 0, -20, -20, 3]
    assert next(joins) == 3, "it is told when it changes, not with each heartbeat"


@staged
async def test_a_node_that_was_buried_tells_so_once(stage: Stage) -> None:
    engine, watch = await watched(stage)
    dead = engine.node

    await stage.store.leave(dead)
    await stage.clock.advance(MINUTE)

    assert watch.lost == [dead]
    assert watch.healths[-1].node == engine.node != dead


@staged
async def test_a_jump_that_is_found_when_a_node_rises_again_is_told_with_its_first_health(
    stage: Stage,
) -> None:
    time = Shifted(stage)
    stage.store = MemoryStore(time, lease=LEASE)
    engine, watch = await watched(stage)
    await stage.clock.advance(MINUTE)

    time.offset = 5 * MINUTE
    await stage.store.leave(engine.node)
    await stage.clock.advance(MINUTE)

    assert [health.jump for health in watch.healths if health.jump] == [5 * MINUTE]
    assert len(watch.lost) == 1
