"""The history of one job is found, whatever order it was written and pruned in."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings

from foliot.errors import CommandRefusedError
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.policy import Keep
from foliot.protocols import Changes, DecideCommand, JobQuery
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, a_job, change, declare_at, untouched
from stores.histories import CAME_AGAIN, CLOCK, KEY, an_attempt, check, keeps, steps


@settings(max_examples=100)
@given(keep=keeps, steps=steps)
@example(keep=Keep(last=None, days=1), steps=CAME_AGAIN)
def test_the_chain_has_all_that_is_stored(keep: Keep, steps: list[list[Attempt] | int]) -> None:
    async def act(path: Path) -> None:
        async with SqliteStore(path, CLOCK, synchronous="OFF") as store:
            await check(store, keep, steps)
            with closing(sqlite3.connect(path)) as connection:
                assert connection.execute("SELECT count(*) FROM attempts").fetchone() == (0,)

    with TemporaryDirectory() as folder:
        asyncio.run(act(Path(folder, "jobs.db")))


def open_one(attempt: Attempt) -> DecideCommand:
    return lambda record: change()(record)._replace(attempts=(attempt,))


def test_open_attempts_come_in_the_order_of_their_opening(tmp_path: Path) -> None:
    def at(hours: int) -> datetime:
        return CLOCK.now() + timedelta(hours=hours)

    def pending(hours: int, request: str | None = None) -> Attempt:
        return Attempt(KEY, 1, Trigger.MANUAL, AttemptState.PENDING, at(hours), request=request)

    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await store.reconcile(
                SOURCE, None, "r1", Changes((a_job(),)), declared=declare_at(None, at(0)), removed=untouched
            )
            opened = [pending(3, "z"), pending(1), pending(2, "y"), pending(1, "x")]
            for attempt in opened:
                await store.update(KEY, open_one(attempt))
            (view,) = await store.jobs(JobQuery())
            assert view.record is not None
            assert list(view.record.attempts) == opened

    asyncio.run(act())


def test_a_request_that_has_run_is_refused_whenever_it_is_made_again(tmp_path: Path) -> None:
    async def act() -> None:
        clock = ManualClock()
        async with SqliteStore(tmp_path / "jobs.db", clock) as store:
            await store.reconcile(
                SOURCE, None, "r1", Changes((a_job(),)),
                declared=declare_at(None, clock.now()), removed=untouched,
            )  # fmt: skip
            served = an_attempt(clock.now(), 1, "please", Outcome.SUCCEEDED)
            await store.update(KEY, open_one(served))
            again = served._replace(
                scheduled_for=served.scheduled_for + timedelta(days=1),
                state=AttemptState.PENDING,
                outcome=None,
            )
            with pytest.raises(CommandRefusedError):
                await store.update(KEY, open_one(again))

    asyncio.run(act())
