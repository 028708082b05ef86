"""Totals of lists are counted when they are needed, and not for every page."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from api.stage import PIPELINE, Stage
from foliot.api.pipeline_answers import MOST_COUNTED
from foliot.api.totals import REMEMBERED, Totals
from foliot.testing.clock import ManualClock


class Counter:
    """Counts how often it is asked to count. `during`: what happens meanwhile."""

    def __init__(self) -> None:
        self.counts, self.total = 0, 7
        self.during: Any = None

    async def __call__(self) -> int | None:
        total = self.total
        self.counts += 1
        if self.during is not None:
            self.during()
        return total


def test_a_total_is_remembered_for_a_while() -> None:
    async def act() -> None:
        clock, count = ManualClock(), Counter()
        totals = Totals(clock)
        assert [await totals.of("jobs", count) for _ in range(3)] == [7, 7, 7]
        assert (count.counts, await totals.of("runs", count), count.counts) == (1, 7, 2)
        await clock.advance(timedelta(seconds=REMEMBERED))
        count.total = 8
        assert (await totals.of("jobs", count), count.counts) == (8, 3)

    asyncio.run(act())


def test_what_changes_is_counted_anew_also_if_it_changes_meanwhile() -> None:
    async def act() -> None:
        count = Counter()
        totals = Totals(ManualClock())
        count.during = totals.forget
        assert await totals.of("jobs", count) == 7
        count.total, count.during = 8, None
        assert await totals.of("jobs", count) == 8
        totals.forget()
        count.total = 9
        assert await totals.of("jobs", count) == 9

    asyncio.run(act())


def test_many_questions_are_remembered_but_not_all() -> None:
    async def act() -> None:
        count = Counter()
        totals = Totals(ManualClock())
        for n in range(300):
            await totals.of(n, count)
        assert len(totals._known) == 100

    asyncio.run(act())


@pytest.mark.req("RAT-01")
def test_pages_of_one_list_are_counted_once(alone: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = alone.post("/pipelines", PIPELINE, code=201)["id"]
    for name in "abcd":
        alone.post("/pipelines", {**PIPELINE, "name": name}, code=201)
        alone.post("/schedules", {"pipeline_id": pipeline, "cron": f"{ord(name) % 60} 4 * * *"}, code=201)
    looks: list[int] = []
    store = alone.server.application.service.store
    ask = store.pipelines

    async def noted(query: Any) -> Any:
        looks.append(query.limit)
        return await ask(query)

    monkeypatch.setattr(store, "pipelines", noted)
    for path, total in (("pipelines", 5), ("schedules", 4)):
        cursor: str | None = None
        for _ in range(total):
            page = alone.get(f"/{path}", params={"limit": 1, **({"cursor": cursor} if cursor else {})})
            assert page["total"] == total
            cursor = page["next"]
        assert cursor is None
    assert sorted(looks) == [1, 1, 1, 1, 1, MOST_COUNTED]
    alone.post("/pipelines", {**PIPELINE, "name": "e"}, code=201)
    assert alone.get("/pipelines?limit=1")["total"] == 6, "what is made is counted at once"
