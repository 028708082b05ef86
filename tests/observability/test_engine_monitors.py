"""What an engine tells of itself: turns, heartbeats, lost leases, jumps of the clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from engine.stage import LEASE, MINUTE, SECOND, Stage, job, staged
from foliot.engine.engine import Engine
from foliot.protocols import Pulse
from foliot.stores.memory import MemoryStore


class Watch:
    """A monitor that remembers."""

    def __init__(self) -> None:
        self.turns: list[tuple[str, timedelta, int]] = []
        self.pulses: list[Pulse] = []
        self.lost: list[str] = []

    def on_turn(self, what: str, took: timedelta, held: int) -> None:
        self.turns.append((what, took, held))

    def on_pulse(self, pulse: Pulse) -> None:
        self.pulses.append(pulse)

    def on_lease_lost(self, node: str) -> None:
        self.lost.append(node)


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
    engine = await stage.start(**settings)
    engine._monitors = (watch,)  # the stage has no word for it
    return engine, watch


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
    assert len(watch.pulses) == 6
    assert {pulse[2:] for pulse in watch.pulses} == {(nothing, nothing, nothing, 0)}
    assert {pulse.node for pulse in watch.pulses} == {engine.node}
    assert watch.pulses[-1].at == stage.clock.now()
    assert watch.lost == []


@staged
async def test_what_is_due_and_finds_no_free_slot_is_overdue(stage: Stage) -> None:
    stage.takes = 10 * MINUTE
    await stage.declare(*(job(f"job-{number}", "1 0 * * *") for number in range(5)))
    _, watch = await watched(stage, slots=1)

    await stage.clock.advance(3 * MINUTE)

    assert (watch.pulses[0].overdue, watch.pulses[0].backlog) == (timedelta(0), 0)
    assert (watch.pulses[-1].overdue, watch.pulses[-1].backlog) == (2 * MINUTE, 4)


@staged
async def test_a_jump_of_the_store_s_clock_is_told_once(stage: Stage) -> None:
    time = Shifted(stage)
    stage.store = MemoryStore(time, lease=LEASE)
    _, watch = await watched(stage)
    await stage.clock.advance(MINUTE)

    time.offset = 5 * SECOND
    await stage.clock.advance(MINUTE)

    assert [pulse.jump for pulse in watch.pulses if pulse.jump] == [5 * SECOND]
    assert watch.pulses[-1].skew == -5 * SECOND


@staged
async def test_a_node_that_was_buried_tells_so_once(stage: Stage) -> None:
    engine, watch = await watched(stage)
    dead = engine.node

    await stage.store.leave(dead)
    await stage.clock.advance(MINUTE)

    assert watch.lost == [dead]
    assert watch.pulses[-1].node == engine.node != dead


@staged
async def test_a_jump_that_is_found_when_a_node_rises_again_is_told_with_its_first_pulse(
    stage: Stage,
) -> None:
    time = Shifted(stage)
    stage.store = MemoryStore(time, lease=LEASE)
    engine, watch = await watched(stage)
    await stage.clock.advance(MINUTE)

    time.offset = 5 * MINUTE
    await stage.store.leave(engine.node)
    await stage.clock.advance(MINUTE)

    assert [pulse.jump for pulse in watch.pulses if pulse.jump] == [5 * MINUTE]
    assert len(watch.lost) == 1
