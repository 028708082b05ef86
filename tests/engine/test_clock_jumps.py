"""The store's clock is set, ahead or back, under nodes that live: nobody is buried for it, the dead are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from engine.stage import LEASE, MINUTE, SECOND, Stage, Watch, job, staged
from foliot.engine.settings import Settings
from foliot.engine.store_clock import StoreClock
from foliot.model.attempt import Outcome
from foliot.model.state import CORRECTION, Lease
from foliot.protocols import Traits

HOUR = timedelta(hours=1)
BEAT = timedelta(seconds=10)
PATIENCE = Settings(slots={}).patience


class Server:
    """A store that proves no deaths: only leases tell."""

    traits = Traits()

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._store, verb)


async def two_nodes(stage: Stage, apart: timedelta, watches: tuple[Watch, Watch]) -> Any:
    """Both live, the second renews so much later than the first, and a run is under way."""
    stage.takes = 3 * MINUTE
    await stage.declare(job())
    first = await stage.start(Server(stage.store), monitors=watches[:1])
    await stage.clock.advance(apart)
    await stage.start(Server(stage.store), monitors=watches[1:])
    await stage.clock.advance(MINUTE + SECOND)
    assert len(stage.starts) == 1
    return first


@pytest.mark.parametrize("jump", [HOUR, 30 * 24 * HOUR, -HOUR, -(CORRECTION + HOUR)], ids=str)
@pytest.mark.parametrize("apart", [1, 5, 9])
def test_nobody_who_lives_is_buried(apart: int, jump: timedelta) -> None:
    @staged
    async def life(stage: Stage) -> None:
        watches = Watch(), Watch()
        await two_nodes(stage, apart * SECOND, watches)
        for _ in range(3):
            stage.clock.set_by(jump)
            await stage.clock.advance(2 * LEASE + apart * SECOND)

        assert [watch.lost for watch in watches] == [[], []]
        assert [watch.burials for watch in watches] == [[], []]
        (first,) = [attempt for attempt in await stage.runs() if attempt.run_key == stage.starts[0][1]]
        assert (first.number, first.outcome) == (1, Outcome.SUCCEEDED), "what ran went on, and was reported"

    life()


@pytest.mark.parametrize("apart", [1, 5, 9])
def test_nor_by_a_node_that_starts_right_after_the_jump(apart: int) -> None:
    @staged
    async def life(stage: Stage) -> None:
        watches = Watch(), Watch()
        await two_nodes(stage, apart * SECOND, watches)
        stage.clock.set_by(HOUR)
        late = Watch()
        await stage.start(Server(stage.store), monitors=[late])
        await stage.clock.advance(2 * LEASE)
        assert [watch.burials for watch in (*watches, late)] == [[], [], []]

    life()


@pytest.mark.parametrize("jump", [HOUR, -(CORRECTION + HOUR)], ids=str)
def test_who_dies_with_the_jump_is_found_within_two_leases(jump: timedelta) -> None:
    @staged
    async def life(stage: Stage) -> None:
        watches = Watch(), Watch()
        first = await two_nodes(stage, 5 * SECOND, watches)
        stage.clock.set_by(jump)
        await stage.kill(first)
        await stage.clock.advance(2 * LEASE + BEAT + PATIENCE)
        assert [dead.node.id for _, dead in watches[1].burials] == ["id-1"]

    life()


@staged
async def test_who_dies_when_the_clock_is_set_back_a_little_is_found_so_much_later(stage: Stage) -> None:
    watches = Watch(), Watch()
    first = await two_nodes(stage, 5 * SECOND, watches)
    stage.clock.set_by(-HOUR)
    await stage.kill(first)
    await stage.clock.advance(HOUR - LEASE)
    assert watches[1].burials == []
    await stage.clock.advance(2 * LEASE + BEAT)
    assert [dead.node.id for _, dead in watches[1].burials] == ["id-1"]


@staged
async def test_after_a_jump_ahead_all_leases_count_as_begun_anew(stage: Stage) -> None:
    clock, store_clock = stage.clock, StoreClock(stage.clock, BEAT + SECOND, is_steady_at_first=True)

    def take() -> bool:
        return store_clock.take(Lease(clock.now(), clock.now() + LEASE, 0), clock.monotonic())

    assert take(), "there was nothing before"
    assert store_clock.is_steady(PATIENCE)
    clock.set_by(HOUR)
    assert store_clock.now() == clock.now() - HOUR
    assert take()
    assert store_clock.now() == clock.now()
    assert store_clock.time_to_steady(PATIENCE) == LEASE + PATIENCE
    for _ in range(6):
        await clock.advance((LEASE + PATIENCE) / 6)
        assert not take()
    assert store_clock.is_steady(PATIENCE)
