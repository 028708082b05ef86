"""A herd leaves in the server what jobs leave that are decided about one by one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from foliot.engine.planner import plan_due
from foliot.stores.mongodb import MongoStore
from foliot.stores.mongodb.herd import MongoHerdStarts
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import HOUR
from stores.herd_life import decide_one_by_one, live
from stores.mongodb.opening import fresh
from stores.mongodb.playing import inside

COLLECTIONS = ("jobs", "history", "skips", "alerts", "writes")


def stored(url: str) -> dict[str, list[Any]]:
    """All that the server has of a store, but for the names of marks and the places of claims."""
    found: dict[str, list[Any]] = {}
    with inside(url) as jobs:
        for name in COLLECTIONS:
            found[name] = list(jobs.database[name].find().sort("_id", 1))
    for job in found["jobs"]:
        job["m"] = "a mark"
        for held in job.get("c", ()):
            held["p"] = "a place"
    return found


def test_a_herd_leaves_in_the_server_what_one_by_one_leaves(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    take = MongoHerdStarts.take

    def noted(starts: MongoHerdStarts, rows: Any) -> Any:
        taken.append(len(rows))
        return take(starts, rows)

    monkeypatch.setattr(MongoHerdStarts, "take", noted)

    def lived(decide: Any) -> list[Any]:
        place = fresh(mongodb_url)

        async def opened() -> list[Any]:
            clock = ManualClock()
            async with MongoStore(place, time=clock, lease=HOUR) as store:
                return await live(store, clock, decide, lambda: stored(place))

        return asyncio.run(opened())

    expected = lived(decide_one_by_one)
    assert taken == []
    found = lived(plan_due)
    assert sum(taken) > 20, "many were started without a look"
    for one, other in zip(found, expected, strict=True):
        assert one == other
