"""A page asks each question once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from foliot.dashboard.one_look import OneLook
from foliot.protocols import JobQuery
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock


class Listening(MemoryStore):
    """Notes what it is asked."""

    def __init__(self) -> None:
        super().__init__(clock=ManualClock())
        self.asked: list[Any] = []

    async def now(self) -> Any:
        self.asked.append("now")
        return await super().now()

    async def jobs(self, query: JobQuery) -> Any:
        self.asked.append(query)
        return await super().jobs(query)

    async def renew(self, node: Any) -> Any:
        self.asked.append("renew")
        return await super().renew(node)


@pytest.mark.req("OWN-12")
def test_the_same_question_is_asked_once_and_another_one_again() -> None:
    async def act() -> list[Any]:
        store = Listening()
        look = OneLook(store)
        assert await look.now() == await look.now()
        first, other = JobQuery(source="ops"), JobQuery(source="api")
        for query in (first, first, other):
            assert await look.jobs(query) == ()
        return store.asked

    assert asyncio.run(act()) == ["now", JobQuery(source="ops"), JobQuery(source="api")]


def test_the_next_page_asks_anew() -> None:
    async def act() -> list[Any]:
        store = Listening()
        for _ in range(2):
            await OneLook(store).now()
        return store.asked

    assert asyncio.run(act()) == ["now", "now"]
