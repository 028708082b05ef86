"""Places of groups: a claim that dies after it took a place does not keep it for ever."""

from __future__ import annotations

import pytest

from foliot.model.state import Node
from foliot.stores.mongodb import MongoStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE
from stores.mongodb.playing import Crash, Fate, declare, inside, play, start

ONE = {"db": 1}


def test_a_place_that_was_taken_for_a_start_that_never_came_is_free_after_a_while(url: str) -> None:
    fate = Fate()

    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 2, group="db")
        fate.step = "claim:before_commit"
        with pytest.raises(Crash):
            await start(store, clock, "c1", limits=ONE)
        assert await start(store, clock, "c2", limits=ONE) == [], "it may be under way"
        assert await store.running("db") == 1
        with inside(url) as jobs:
            before = (jobs.find_one({"_id": f"{SOURCE}/job-0000"}) or {})["m"]
        with inside(url, "groups") as groups:
            groups.update_one({"_id": "db"}, {"$inc": {"a.$[].at": -11_000_000}})
        assert len(await start(store, clock, "c3", limits=ONE)) == 1
        with inside(url) as jobs:
            after = (jobs.find_one({"_id": f"{SOURCE}/job-0000"}) or {})["m"]
        assert after != before, "a write that comes late finds another mark"
        assert await store.running("db") == 1

    play(url, act, failpoint=fate)


def test_a_group_forgets_what_has_ended(url: str) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 3, group="db")
        for number in range(3):
            await start(store, clock, f"c{number}", limits=ONE)
            with inside(url) as jobs:
                jobs.delete_many({"c": {"$exists": True}})  # somebody has cleared away what runs
        with inside(url, "groups") as groups:
            assert len((groups.find_one({"_id": "db"}) or {})["a"]) == 1
        assert await store.running("db") == 0

    play(url, act)
