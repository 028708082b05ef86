"""A decision that cannot be written in full leaves nothing of it behind: the job is set aside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from foliot.model.decision import Decision
from foliot.model.state import Node, Record, Skip
from foliot.protocols import Changes, JobQuery, RunQuery, SkipQuery, Store
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.history import ended, write_down
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched
from real_postgres import shared_url
from stores.postgres.opening import open_postgres

CLOCK = ManualClock()
BAD = f"{SOURCE}/job-0001"
Open = Callable[[], AbstractAsyncContextManager[Store]]


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "jobs.db", CLOCK)
    url = f"{shared_url()}?schema=half_{tmp_path.name.replace('-', '_')}"
    return lambda: open_postgres(url, CLOCK)


def half(record: Record, now: datetime, node: str, most: int) -> Decision:
    """For one of the jobs: the first attempt can be written, the second cannot."""
    decision = start_due(record, now, node, most)
    if record.job.key != BAD:
        return decision
    good = decision.attempts[0]
    bad = good._replace(number=2, scheduled_for="no time at all")  # type: ignore[arg-type]  # that is the point
    skip = Skip(BAD, now, now, "never written")
    return decision._replace(attempts=(good, bad), skips=(skip,))


def test_nothing_is_left_of_a_decision_that_cannot_be_written(open_store: Open) -> None:
    async def act() -> None:
        async with open_store() as store:
            now = CLOCK.now()
            await store.join(Node("a"))
            jobs = Changes(some_jobs(3))
            await store.reconcile(SOURCE, None, "r1", jobs, declared=declare_at(now, now), removed=untouched)
            claimed = await store.claim("a", now, {"default": 9}, half, "c")
            assert sorted(attempt.job for _, attempt in claimed.runs) == [
                f"{SOURCE}/job-0000",
                f"{SOURCE}/job-0002",
            ]
            assert {attempt.job for attempt in await store.runs(RunQuery())} == {
                f"{SOURCE}/job-0000",
                f"{SOURCE}/job-0002",
            }
            assert await store.skips(SkipQuery(BAD)) == ()
            views = {view.key: view for view in await store.jobs(JobQuery())}
            assert [key for key, view in views.items() if view.damage] == [BAD]

    asyncio.run(act())


def test_a_history_stays_whole_beside_a_decision_that_cannot_be_written(open_store: Open) -> None:
    async def act() -> None:
        async with open_store() as store:
            now = CLOCK.now()
            await store.join(Node("a"))
            jobs = Changes(some_jobs(3))
            await store.reconcile(SOURCE, None, "r1", jobs, declared=declare_at(now, now), removed=untouched)
            hours = [now - timedelta(hours=n) for n in range(20, 0, -1)]
            await store.update(BAD, write_down([ended(at)._replace(job=BAD) for at in hours]))

            def fill_in(record: Record, now: datetime, node: str, most: int) -> Decision:
                decision = start_due(record, now, node, most)
                old = ended(now - timedelta(days=9))._replace(job=BAD)
                bad = old._replace(number=2, outcome="no outcome")  # type: ignore[arg-type]  # that is the point
                return decision._replace(attempts=(old, bad)) if record.job.key == BAD else decision

            await store.claim("a", now, {"default": 9}, fill_in, "c")
            assert len(await store.runs(RunQuery(job=BAD))) == 20

    asyncio.run(act())
