"""A store that was away for longer than the lease: who lives is not buried for it, and nobody spins."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from engine.stage import LEASE, MINUTE, SECOND, Stage, Watch, job, staged
from foliot.engine.settings import Settings
from foliot.engine.store_clock import StoreClock
from foliot.errors import StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.state import Lease
from foliot.protocols import Claimed

BEAT = timedelta(seconds=10)
PATIENCE = Settings(slots={}).patience
READS = ("wakes",)


class Cable:
    """A store behind a cable that can be pulled: for all verbs, or for those that write."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.traits = store.traits
        self.is_pulled = False
        self.still_answers: tuple[str, ...] = ()
        self.calls: Counter[str] = Counter()

    def __getattr__(self, verb: str) -> Any:
        real = getattr(self._store, verb)

        async def call(*args: Any, **options: Any) -> Any:
            self.calls[verb] += 1
            if self.is_pulled and verb not in self.still_answers:
                raise StoreUnavailableError(verb, "the cable is out")
            return await real(*args, **options)

        return call


@staged
async def test_after_an_outage_the_living_renew_before_anybody_buries(stage: Stage) -> None:
    stage.takes = 2 * MINUTE
    cable, watches = Cable(stage.store), (Watch(), Watch())
    first = await stage.start(cable, monitors=watches[:1])
    await stage.start(cable, monitors=watches[1:])
    await stage.declare(job())
    first.wake()
    await stage.clock.advance(MINUTE + SECOND)
    assert len(stage.starts) == 1

    cable.is_pulled = True
    await stage.clock.advance(LEASE + 5 * SECOND)
    cable.is_pulled = False
    await stage.clock.advance(2 * MINUTE)

    assert [watch.lost for watch in watches] == [[], []], "nobody was buried"
    ended = (await stage.runs())[0]
    assert (ended.number, ended.outcome) == (1, Outcome.SUCCEEDED), "what ran went on, and was reported"


@staged
async def test_nor_after_one_that_has_cost_only_some_of_them_their_lease(stage: Stage) -> None:
    stage.takes = 2 * MINUTE
    cables, watches = (Cable(stage.store), Cable(stage.store)), (Watch(), Watch())
    await stage.declare(job())
    await stage.start(cables[0], monitors=watches[:1])
    await stage.clock.advance(BEAT - SECOND)
    await stage.start(cables[1], monitors=watches[1:])  # renews nine seconds after the other
    await stage.clock.advance(6 * BEAT + SECOND / 2)
    assert len(stage.starts) == 1

    for cable in cables:
        cable.is_pulled = True
    await stage.clock.advance(LEASE - BEAT + 3 * SECOND)
    for cable in reversed(cables):  # whose lease lasts is the first to be heard again
        cable.is_pulled = False
        await stage.clock.advance(PATIENCE - SECOND)
    await stage.clock.advance(2 * MINUTE)

    assert [watch.lost for watch in watches] == [[], []], "nobody was buried"
    assert (await stage.runs())[0].outcome is Outcome.SUCCEEDED


@staged
async def test_who_died_in_the_outage_is_buried_all_the_same(stage: Stage) -> None:
    stage.takes = 2 * MINUTE
    doomed = await stage.start()
    await stage.declare(job())
    doomed.wake()
    await stage.clock.advance(MINUTE + SECOND)
    cable = Cable(stage.store)
    cable.is_pulled = True
    await stage.kill_all()
    cable.is_pulled = False
    await stage.start(cable)
    await stage.clock.advance(SECOND)
    cable.is_pulled = True
    await stage.clock.advance(LEASE + SECOND)
    cable.is_pulled = False
    await stage.clock.advance(BEAT + 5 * SECOND)
    assert (await stage.runs())[0].outcome is Outcome.LOST
    assert len(stage.starts) > 1, "and its run was started again"


@pytest.mark.parametrize("seconds", range(0, 10, 3))
def test_a_run_whose_node_died_is_found_within_its_lease_and_five_seconds(seconds: int) -> None:
    @staged
    async def life(stage: Stage) -> None:
        stage.takes = 2 * MINUTE
        doomed = await stage.start()
        await stage.declare(job())
        doomed.wake()
        await stage.clock.advance(MINUTE)
        assert len(stage.starts) == 1
        await stage.start()  # somebody who is there from just before, and looks from another moment on
        await stage.clock.advance(seconds * SECOND)
        await stage.kill(doomed)
        await stage.clock.advance(LEASE + 5 * SECOND)
        assert [number for _, _, number in stage.starts] == [1, 2]

    life()


@staged
async def test_a_store_that_can_only_be_read_is_not_asked_all_the_time(stage: Stage) -> None:
    cable = Cable(stage.store)
    engine = await stage.start(cable)
    await stage.declare(job())
    engine.wake()
    await stage.clock.advance(SECOND)
    cable.is_pulled, cable.still_answers = True, READS
    await stage.clock.advance(LEASE + MINUTE)
    cable.calls.clear()
    await stage.clock.advance(MINUTE)
    assert cable.calls["wakes"] <= 60


@staged
async def test_what_is_due_and_cannot_be_had_is_asked_for_less_and_less_often(stage: Stage) -> None:
    class Greedy(Cable):
        """Others have everything at hand."""

        async def claim(self, *_: Any) -> Claimed:
            self.calls["claim"] += 1
            return Claimed()

    cable = Greedy(stage.store)
    await stage.declare(job())
    await stage.start(cable)
    await stage.clock.advance(2 * MINUTE)
    cable.calls.clear()
    await stage.clock.advance(MINUTE)
    assert 30 <= cable.calls["claim"] <= 70


@staged
async def test_steady_from_the_first_lease_on_but_not_at_once_after_a_gap(stage: Stage) -> None:
    clock, store_clock = stage.clock, StoreClock(stage.clock, BEAT + SECOND, is_steady_at_first=True)

    def take() -> None:
        store_clock.take(Lease(clock.now(), clock.now() + LEASE, 0), clock.monotonic())

    assert not store_clock.is_steady(BEAT)
    take()
    assert store_clock.is_steady(BEAT), "who begins may bury at once: a lock may prove a death"
    await clock.advance(LEASE + SECOND)
    assert not store_clock.is_steady(BEAT)
    take()
    assert not store_clock.is_steady(BEAT)
    await clock.advance(BEAT)
    assert store_clock.is_steady(BEAT)


@staged
async def test_nor_after_a_gap_in_which_others_may_have_lost_their_lease_and_this_one_has_not(
    stage: Stage,
) -> None:
    clock, store_clock = stage.clock, StoreClock(stage.clock, BEAT + SECOND, is_steady_at_first=True)

    def take() -> None:
        store_clock.take(Lease(clock.now(), clock.now() + LEASE, 0), clock.monotonic())

    for _ in range(3):
        take()
        await clock.advance(BEAT)
        assert store_clock.is_steady(PATIENCE)
    take()
    await clock.advance(2 * BEAT)
    assert store_clock.is_sure
    assert not store_clock.is_steady(PATIENCE), "the store has not answered for longer than it should"
    take()
    assert not store_clock.is_steady(PATIENCE), "nor has it, perhaps, answered others yet"
    await clock.advance(PATIENCE)
    assert store_clock.is_steady(PATIENCE)


@staged
async def test_slow_answers_are_no_gap(stage: Stage) -> None:
    clock, store_clock = stage.clock, StoreClock(stage.clock, BEAT + SECOND, is_steady_at_first=True)
    for _ in range(4):
        asked_at = clock.monotonic()
        await clock.advance(2 * SECOND)
        store_clock.take(Lease(clock.now(), clock.now() + LEASE, 0), asked_at)
        assert store_clock.is_steady(PATIENCE)
        await clock.advance(2 * SECOND)
        store_clock.note_answer()  # the answer to something else
        await clock.advance(BEAT)
        assert store_clock.is_steady(PATIENCE), "the next question may be under way"
