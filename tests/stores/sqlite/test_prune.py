"""Histories that are too long to be read at once are pruned by parts, and in the end as if they were not."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from foliot.model.attempt import Outcome
from foliot.model.policy import Keep
from foliot.protocols import RunQuery
from foliot.stores.sql import look
from foliot.stores.sql.codes import whole
from foliot.testing.clock import ManualClock
from foliot.testing.contract import HistoryContract, Sharing
from foliot.testing.contract.history import ended
from foliot.testing.contract.sample import SOURCE
from stores import long_past
from stores.sqlite.opening import open_sqlite


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "MOST_WALKED", long_past.MOST)


@pytest.mark.parametrize("keep", long_past.KEEPS.values(), ids=long_past.KEEPS)
@pytest.mark.parametrize("limit", [4, 1000])
@pytest.mark.parametrize("is_in_order", [True, False])
def test_by_parts_the_same_is_forgotten(tmp_path: Path, keep: Keep, limit: int, *, is_in_order: bool) -> None:
    async def act() -> None:
        async with open_sqlite(str(tmp_path / "jobs.db"), ManualClock(long_past.NOW)) as store:
            await long_past.check_that_the_same_is_forgotten(store, keep, limit, is_in_order=is_in_order)

    asyncio.run(act())


async def fill_and_damage(path: Path, keep: Keep, damage: str, hours: int) -> set[tuple[str, int]]:
    """A past in which few runs were good, damaged at an hour, and pruned; what of it can be read."""
    key = f"{SOURCE}/a"
    past = [
        ended(at(h), Outcome.SUCCEEDED if h in (2, 12, 15) else Outcome.FAILED)._replace(job=key)
        for h in range(20, 0, -1)
    ]
    async with open_sqlite(str(path), ManualClock(long_past.NOW)) as store:
        await long_past.fill(store, keep, {key: past})
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(damage.replace("?", str(whole(at(hours)))))
        await long_past.prune_all(store, 1000)
        return {attempt.key for attempt in await store.runs(RunQuery(limit=99))}


def at(hours: int) -> datetime:
    return long_past.NOW - timedelta(hours=hours)


@pytest.mark.parametrize("hours", [3, 7, 8])  # in the middle of a part, and where it ends
def test_a_damaged_instant_does_not_end_the_forgetting(tmp_path: Path, hours: int) -> None:
    damage = """
        UPDATE attempts SET previous_at = 'x' WHERE previous_at = ?;
        UPDATE attempts SET scheduled_for = 'x' WHERE scheduled_for = ?;
    """
    keep = long_past.KEEPS["for long"]
    assert len(asyncio.run(fill_and_damage(tmp_path / "jobs.db", keep, damage, hours))) == 19


def test_a_time_that_cannot_be_read_is_no_age(tmp_path: Path) -> None:
    damage = "UPDATE attempts SET finished_at = 'x' WHERE scheduled_for = ?"
    left = asyncio.run(fill_and_damage(tmp_path / "jobs.db", long_past.KEEPS["by age"], damage, 2))
    assert len(left) == 19, "that one cannot be shown"


class TestHistoryByParts(HistoryContract):
    @pytest.fixture(autouse=True)
    def _short_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(look, "MOST_WALKED", 100)

    @pytest.fixture
    def sharing(self, tmp_path: Path) -> Sharing:
        return Sharing(open_sqlite, str(tmp_path / "jobs.db"))
