"""Replica sets: the whole contract on a set of one; step-downs and frozen members on three."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

import pytest

from foliot.errors import StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import RunQuery
from foliot.stores.mongodb import MongoStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract import Damage, Sharing
from foliot.testing.contract.sample import end, ending_of, start_due
from foliot.testing.servers import MongoSet
from real_mongodb_set import a_set, frozen, others_of, step_down
from stores.mongodb.opening import fresh, open_mongodb
from stores.mongodb.playing import again, declare, inside, play, start
from stores.mongodb.test_contract import TestMongoStore as OnStandalone
from stores.mongodb.test_contract import damage_by

pytestmark = pytest.mark.prove


@pytest.fixture(scope="module")
def set_url() -> Iterator[str]:
    """A replica set of one, for all cases of this file that stop nothing."""
    with a_set(1) as found:
        yield found.url


@pytest.fixture(scope="module")
def three() -> Iterator[MongoSet]:
    """A replica set of three; a test leaves its members at work."""
    with a_set(3) as found:
        yield found


class TestOnSetOfOne(OnStandalone):
    @pytest.fixture
    def sharing(self, set_url: str) -> Sharing:
        return Sharing(open_mongodb, fresh(set_url))

    @pytest.fixture
    def damage(self, sharing: Sharing) -> Damage:
        return partial(damage_by, "a body that is no JSON", sharing.where)


del OnStandalone  # it is not to run once more


def test_work_goes_on_while_primaries_step_down(three: MongoSet) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await again(lambda: store.join(Node("a")))
        await again(lambda: declare(store, clock, 100))
        for number in range(3):
            stepping = asyncio.create_task(asyncio.to_thread(step_down, three))
            await again(partial(declare, store, clock, 100, f"r{number + 2}", queue=f"q{number}"))
            await stepping
        room = {"q2": 200}
        claimed = await again(lambda: store.claim("a", clock.now(), room, start_due, "the same"))
        held = await again(lambda: store.held("a"))
        assert {run.attempt for run in claimed.runs} <= set(held)
        assert len({one.key for one in held}) == len(held) == 100
        stepping = asyncio.create_task(asyncio.to_thread(step_down, three))
        ended = [ending_of(one, clock.now()) for one in held]
        await again(lambda: store.finish("a", ended, clock.now(), end))
        await stepping
        runs = await again(lambda: store.runs(RunQuery(limit=1000)))
        assert [one.outcome for one in runs] == [Outcome.SUCCEEDED] * 100, "each ended once"

    play(fresh(three.url), act)


def test_a_write_that_no_majority_confirms_starts_nothing_until_it_does(three: MongoSet) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await again(lambda: store.join(Node("a")))
        await again(lambda: declare(store, clock))
        with frozen(*others_of(three, three.primary())), pytest.raises(StoreUnavailableError):
            await start(store, clock, "the same")
        runs = await again(lambda: start(store, clock, "the same"))
        held = await again(lambda: store.held("a"))
        assert {run.attempt for run in runs} <= set(held)
        assert len({one.key for one in held}) == len(held)

    play(fresh(three.url), act)


def test_a_lease_tells_the_election_of_the_primary_that_stamped_it(three: MongoSet) -> None:
    url = fresh(three.url)

    def term() -> str:
        with inside(url, "nodes") as nodes:
            return str((nodes.find_one({"_id": "a"}) or {})["term"])

    async def act(store: MongoStore, _: ManualClock) -> None:
        await again(lambda: store.join(Node("a")))
        before = term()
        assert before
        await asyncio.to_thread(step_down, three)
        await again(lambda: store.renew("a"))
        assert term() > before

    play(url, act)
