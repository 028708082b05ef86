"""Primaries that are killed or stale, and reads that lag: nothing runs twice, nothing answered is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest

from doors.documents.recording import until
from foliot.errors import StoreUnavailableError
from foliot.model.attempt import Ending, Outcome
from foliot.model.run import Run
from foliot.model.state import Node
from foliot.protocols import RunQuery
from foliot.stores.mongodb import MongoStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import end, ending_of, start_due
from foliot.testing.servers import MongoSet
from real_mongodb_set import a_set, frozen, kill_primary, others_of
from stores.mongodb.opening import fresh
from stores.mongodb.playing import ROOM, again, declare, play, start

pytestmark = pytest.mark.prove
SHORT = timedelta(seconds=8)  # a lease, so that calls are given up after 2 s


@pytest.fixture(scope="module")
def three() -> Iterator[MongoSet]:
    """A replica set of three; a test leaves its members at work."""
    with a_set(3) as found:
        yield found


def test_what_was_answered_outlives_the_primary(three: MongoSet) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await again(lambda: store.join(Node("a")))
        await again(partial(declare, store, clock, 60))
        runs = await again(lambda: start(store, clock))
        await again(lambda: store.finish("a", _ends(runs[:20], clock), clock.now(), end))
        killed = await asyncio.to_thread(kill_primary, three)
        try:
            lease = await again(lambda: store.renew("a"))
            assert lease.open_count == 40
            await again(lambda: store.finish("a", _ends(runs[20:], clock), clock.now(), end))
        finally:
            await asyncio.to_thread(killed.start)
        found = await again(lambda: store.runs(RunQuery(limit=1000)))
        assert [one.outcome for one in found] == [Outcome.SUCCEEDED] * 60
        assert len({one.key for one in found}) == 60

    play(fresh(three.url), act, lease=SHORT)


def _ends(runs: list[Run], clock: ManualClock) -> list[Ending]:
    return [ending_of(run.attempt, clock.now()) for run in runs]


class Freezer:
    """Freezes all members but the primary, right before a claim writes its jobs, once it is armed."""

    def __init__(self, three: MongoSet) -> None:
        self.primary = three.primary()
        self.others = others_of(three, self.primary)
        self.is_armed = False

    def __call__(self, step: str) -> None:
        if step == "claim:before_commit" and self.is_armed:
            self.is_armed = False
            for other in self.others:
                other.pause()

    def thaw(self) -> None:
        for other in self.others:
            other.resume()


def test_what_a_stale_primary_took_is_held_once(three: MongoSet) -> None:
    url, freezer = fresh(three.url), Freezer(three)

    async def act(store: MongoStore, clock: ManualClock) -> None:
        async with MongoStore(url, time=clock, lease=SHORT) as other:
            await again(lambda: store.join(Node("a")))
            await again(lambda: other.join(Node("b")))
            await again(partial(declare, store, clock))
            freezer.is_armed = True
            with frozen(freezer.primary):
                try:
                    freezer.primary.resume()
                    with pytest.raises(StoreUnavailableError):
                        await start(store, clock, "mine")  # written where no majority is
                finally:
                    freezer.primary.pause()
                    freezer.thaw()
                await until(lambda: any(one.is_primary() for one in freezer.others))
                # What the stale one wrote last may have reached them: then there is nothing left to start.
                ids = map(str, range(2))
                taken = [await again(partial(other.claim, "b", clock.now(), ROOM, start_due, n)) for n in ids]
            await until(lambda: sum(one.is_primary() for one in three.members) == 1)
            mine = await again(lambda: start(store, clock, "mine"))
            held = await again(lambda: store.held("a"))
            theirs = await again(lambda: other.held("b"))
        assert {run.attempt for claimed in taken for run in claimed.runs} <= set(theirs)
        assert {run.attempt for run in mine} <= set(held)
        keys = [one.key for one in (*held, *theirs)]
        assert len(set(keys)) == len(keys) == 5, "each occurrence is held once"

    play(url, act, lease=SHORT, failpoint=freezer)


def test_what_no_majority_knows_is_not_told_and_is_found_when_it_does(three: MongoSet) -> None:
    freezer = Freezer(three)

    async def told(store: MongoStore) -> int:
        try:
            return len(await store.held("a"))
        except StoreUnavailableError:
            return 0

    async def act(store: MongoStore, clock: ManualClock) -> None:
        await again(lambda: store.join(Node("a")))
        await again(partial(declare, store, clock))
        freezer.is_armed = True
        try:
            with pytest.raises(StoreUnavailableError):
                await start(store, clock, "mine")
            assert await told(store) == 0, "the primary has it, and no majority"
        finally:
            freezer.thaw()
        mine = await again(lambda: start(store, clock, "mine"))
        rest = await again(lambda: start(store, clock, "another"))
        held = await again(lambda: store.held("a"))
        # A replay may tell less than there is: then the heartbeat counts more, and the engine ends the rest.
        assert {run.attempt for run in (*mine, *rest)} <= set(held)
        assert len({one.key for one in held}) == len(held) == 5
        assert (await again(lambda: store.renew("a"))).open_count == 5

    play(fresh(three.url), act, lease=SHORT / 4, failpoint=freezer)
