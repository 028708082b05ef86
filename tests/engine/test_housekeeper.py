"""Housekeeping goes on beside the runs: what goes wrong with the past stops no job."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.engine.housekeeper import Housekeeper
from foliot.engine.listeners import Listeners
from foliot.engine.settings import Settings
from foliot.engine.store_clock import StoreClock
from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.policy import Keep, Policy
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, Pruned
from foliot.stores.memory import MemoryStore
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.history import ended, write_down
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, untouched

SETTINGS = Settings(slots={"default": 1})


class Troubles:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.seen: list[StoreError] = []

    def on_events(self, events: object) -> None:
        """Nothing of it."""

    def on_trouble(self, error: StoreError) -> None:
        self.seen.append(error)


class Failing(MemoryStore):
    error: StoreError = StoreError("one row is damaged")

    async def prune(self, now: object, limit: int) -> Pruned:  # noqa: ARG002 - it fails
        raise self.error


def a_housekeeper(store: MemoryStore, troubles: Troubles, clock: ManualClock) -> Housekeeper:
    def tell(_: object) -> None:
        """Nobody listens."""

    store_clock = StoreClock(clock, SETTINGS.longest_gap)
    listeners = Listeners([troubles], [])
    return Housekeeper(store, clock, SETTINGS, store_clock, listeners, tell, asyncio.Event())


def test_a_fault_of_the_past_is_told_and_pruning_tried_again_later() -> None:
    async def act() -> None:
        clock, troubles = ManualClock(), Troubles()
        store = Failing(clock)
        keeper = a_housekeeper(store, troubles, clock)
        await store.join(Node("a"))
        assert await keeper.prune() == SETTINGS.prune
        assert troubles.seen == [store.error]
        store.error = StoreUnavailableError("prune", "away")
        with pytest.raises(StoreUnavailableError):  # its loop knows what to do about that
            await keeper.prune()

    asyncio.run(act())


def test_a_damaged_history_is_not_in_the_way_of_others(tmp_path: Path) -> None:
    """Each number of a history may be wrong; other histories are forgotten, and jobs are shown."""

    async def act() -> None:
        clock = ManualClock()
        now = clock.now()
        async with SqliteStore(tmp_path / "jobs.db", clock) as store:
            jobs = tuple(a_job(name, policy=Policy(keep=Keep(last=2, days=None))) for name in "ab")
            await store.reconcile(
                SOURCE, None, "r1", Changes(jobs), declared=declare_at(None, now), removed=untouched
            )
            for name in "ab":
                past = [
                    ended(now - timedelta(hours=n))._replace(job=f"{SOURCE}/{name}") for n in range(9, 0, -1)
                ]
                await store.update(f"{SOURCE}/{name}", write_down(past))
            with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection, connection:
                connection.execute(
                    "UPDATE attempts SET seq = 'x', finished_at = 9e30 WHERE job_no = 1 AND seq = 5"
                )
                connection.execute(
                    "UPDATE attempts SET finished_at = ? WHERE job_no = 1 AND seq = 9", (2**62,)
                )
            for _ in range(5):
                await store.prune(now, 100)
            with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
                sql = "SELECT count(*) FROM attempts WHERE job_no = 2"
                assert connection.execute(sql).fetchone() == (2,)
            assert not (await store.prune(now, 100)).more
            assert [view.key for view in await store.jobs(JobQuery())] == [f"{SOURCE}/a", f"{SOURCE}/b"]

    asyncio.run(act())
