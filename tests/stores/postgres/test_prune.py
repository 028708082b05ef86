"""Histories that are too long to be read at once are pruned by parts, and in the end as if they were not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from foliot.model.policy import Keep
from foliot.protocols import Store
from foliot.stores.sql import prune
from foliot.testing.clock import ManualClock
from foliot.testing.contract import HistoryContract, Sharing
from stores import by_parts
from stores.postgres.opening import open_postgres


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "MOST_MOMENTS", by_parts.MOST)


@pytest.mark.parametrize("keep", by_parts.KEEPS.values(), ids=by_parts.KEEPS)
@pytest.mark.parametrize("limit", [4, 1000])
@pytest.mark.parametrize("is_in_order", [True, False])
def test_by_parts_the_same_is_forgotten(url: str, keep: Keep, limit: int, *, is_in_order: bool) -> None:
    async def act() -> None:
        async with open_postgres(url, ManualClock(by_parts.NOW)) as store:
            await by_parts.check_that_the_same_is_forgotten(store, keep, limit, is_in_order=is_in_order)

    asyncio.run(act())


def test_a_long_history_of_which_nothing_is_forgotten_is_not_in_the_way_of_others(url: str) -> None:
    async def act() -> None:
        async with open_postgres(url, ManualClock(by_parts.NOW)) as store:
            await by_parts.check_that_others_are_looked_at(store)

    asyncio.run(act())


@pytest.mark.parametrize(
    "check",
    [by_parts.check_that_a_place_is_of_one_job, by_parts.check_that_a_moment_that_came_again_is_no_place],
)
def test_a_place_in_a_history_that_has_changed_is_given_up(
    url: str, check: Callable[[Store], Awaitable[None]]
) -> None:
    async def act() -> None:
        async with open_postgres(url, ManualClock(by_parts.NOW)) as store:
            await check(store)

    asyncio.run(act())


class TestHistoryByParts(HistoryContract):
    @pytest.fixture(autouse=True)
    def _short_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(prune, "MOST_MOMENTS", 100)

    @pytest.fixture
    def sharing(self, url: str) -> Sharing:
        return Sharing(open_postgres, url)
