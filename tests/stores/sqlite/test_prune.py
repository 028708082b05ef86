"""Histories that are too long to be read at once are pruned by parts, and in the end as if they were not."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from foliot.model.attempt import Outcome
from foliot.model.policy import Keep
from foliot.protocols import RunQuery, Store
from foliot.stores.sql import prune
from foliot.stores.sql.codes import whole
from foliot.testing.clock import ManualClock
from foliot.testing.contract import HistoryContract, Sharing
from foliot.testing.contract.history import ended
from foliot.testing.contract.sample import SOURCE
from stores import by_parts
from stores.sqlite.opening import open_sqlite


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "MOST_MOMENTS", by_parts.MOST)


@pytest.mark.parametrize("keep", by_parts.KEEPS.values(), ids=by_parts.KEEPS)
@pytest.mark.parametrize("limit", [4, 1000])
@pytest.mark.parametrize("is_in_order", [True, False])
def test_by_parts_the_same_is_forgotten(tmp_path: Path, keep: Keep, limit: int, *, is_in_order: bool) -> None:
    async def act() -> None:
        async with open_sqlite(str(tmp_path / "jobs.db"), ManualClock(by_parts.NOW)) as store:
            await by_parts.check_that_the_same_is_forgotten(store, keep, limit, is_in_order=is_in_order)

    asyncio.run(act())


def test_a_long_history_of_which_nothing_is_forgotten_is_not_in_the_way_of_others(tmp_path: Path) -> None:
    async def act() -> None:
        async with open_sqlite(str(tmp_path / "jobs.db"), ManualClock(by_parts.NOW)) as store:
            await by_parts.check_that_others_are_looked_at(store)

    asyncio.run(act())


@pytest.mark.parametrize(
    "check",
    [by_parts.check_that_a_place_is_of_one_job, by_parts.check_that_a_moment_that_came_again_is_no_place],
)
def test_a_place_in_a_history_that_has_changed_is_given_up(
    tmp_path: Path, check: Callable[[Store], Awaitable[None]]
) -> None:
    async def act() -> None:
        async with open_sqlite(str(tmp_path / "jobs.db"), ManualClock(by_parts.NOW)) as store:
            await check(store)

    asyncio.run(act())


async def fill_and_damage(path: Path, keep: Keep, damage: str, hours: int) -> set[tuple[str, int]]:
    """A past in which few runs were good, damaged at an hour, and pruned; what of it can be read."""
    key = f"{SOURCE}/a"
    past = [
        ended(at(h), Outcome.SUCCEEDED if h in (2, 12, 15) else Outcome.FAILED)._replace(job=key)
        for h in range(20, 0, -1)
    ]
    async with open_sqlite(str(path), ManualClock(by_parts.NOW)) as store:
        await by_parts.fill(store, keep, {key: past})
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(damage.replace("?", str(whole(at(hours)))))
        await by_parts.prune_all(store, 1000)
        return {attempt.key for attempt in await store.runs(RunQuery(limit=99))}


def at(hours: int) -> datetime:
    return by_parts.NOW - timedelta(hours=hours)


@pytest.mark.parametrize("hours", [3, 7, 8])  # in the middle of a part, and where it ends
def test_a_damaged_moment_does_not_end_the_reading_by_parts(tmp_path: Path, hours: int) -> None:
    damage = """
        UPDATE attempts SET previous_at = 'x' WHERE previous_at = ?;
        UPDATE attempts SET scheduled_for = 'x' WHERE scheduled_for = ?;
    """
    keep = by_parts.KEEPS["for long"]
    assert len(asyncio.run(fill_and_damage(tmp_path / "jobs.db", keep, damage, hours))) == 19


def test_a_success_that_cannot_be_read_does_not_stand_for_one_that_can(tmp_path: Path) -> None:
    damage = "UPDATE attempts SET finished_at = 'x' WHERE scheduled_for = ?"
    left = asyncio.run(fill_and_damage(tmp_path / "jobs.db", by_parts.KEEPS["few"], damage, 2))
    assert ended(at(12))._replace(job=f"{SOURCE}/a").key in left


class TestHistoryByParts(HistoryContract):
    @pytest.fixture(autouse=True)
    def _short_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(prune, "MOST_MOMENTS", 100)

    @pytest.fixture
    def sharing(self, tmp_path: Path) -> Sharing:
        return Sharing(open_sqlite, str(tmp_path / "jobs.db"))
