"""Histories that are too long to be read at once are pruned by parts, and in the end as if they were not."""

from __future__ import annotations

import asyncio

import pytest

from foliot.model.policy import Keep
from foliot.stores.sql import look
from foliot.testing.clock import ManualClock
from foliot.testing.contract import HistoryContract, Sharing
from stores import long_past
from stores.postgres.opening import open_postgres


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "MOST_WALKED", long_past.MOST)


@pytest.mark.parametrize("keep", long_past.KEEPS.values(), ids=long_past.KEEPS)
@pytest.mark.parametrize("limit", [4, 1000])
@pytest.mark.parametrize("is_in_order", [True, False])
def test_by_parts_the_same_is_forgotten(url: str, keep: Keep, limit: int, *, is_in_order: bool) -> None:
    async def act() -> None:
        async with open_postgres(url, ManualClock(long_past.NOW)) as store:
            await long_past.check_that_the_same_is_forgotten(store, keep, limit, is_in_order=is_in_order)

    asyncio.run(act())


class TestHistoryByParts(HistoryContract):
    @pytest.fixture(autouse=True)
    def _short_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(look, "MOST_WALKED", 100)

    @pytest.fixture
    def sharing(self, url: str) -> Sharing:
        return Sharing(open_postgres, url)
