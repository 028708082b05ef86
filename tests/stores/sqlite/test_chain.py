"""The history of one job is found, whatever order it was written and pruned in."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.errors import CommandRefusedError
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.policy import Keep, Policy
from foliot.protocols import Changes, DecideCommand, JobQuery, RunQuery
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, a_job, change, declare_at, forget, untouched

CLOCK = ManualClock()
KEY = f"{SOURCE}/job"

moments = st.builds(
    lambda hours: CLOCK.now() - timedelta(hours=hours),
    st.integers(0, 60),
)


def an_attempt(at: datetime, number: int, request: str | None, outcome: Outcome | None) -> Attempt:
    """One of the past, or, without an outcome, one that waits. A request is made at one moment only."""
    return Attempt(
        KEY, number, Trigger.BACKFILL, AttemptState.ENDED if outcome else AttemptState.PENDING, at,
        request=request and f"{request}-{at:%d-%H}", finished_at=at if outcome else None, outcome=outcome,
    )  # fmt: skip


attempts = st.builds(
    an_attempt,
    moments,
    st.integers(1, 3),
    st.sampled_from([None, None, "a", "b"]),
    st.sampled_from([*Outcome, None, None]),
)
steps = st.lists(st.one_of(st.lists(attempts, max_size=5), st.integers(1, 20)), max_size=12)
keeps = st.builds(
    Keep, last=st.sampled_from([None, 1, 3]), days=st.sampled_from([None, 1]), problems_only=st.booleans()
)


@settings(max_examples=100)
@given(keep=keeps, steps=steps)
def test_the_chain_has_all_that_is_stored(keep: Keep, steps: list[list[Attempt] | int]) -> None:
    async def act(path: Path) -> None:
        async with SqliteStore(path, CLOCK, synchronous="OFF") as store:
            await store.reconcile(
                SOURCE, None, "r1", Changes((a_job(policy=Policy(keep=keep)), a_job("other"))),
                declared=declare_at(None, CLOCK.now()), removed=untouched,
            )  # fmt: skip
            for step in steps:
                if isinstance(step, int):
                    await store.prune(CLOCK.now(), step)
                else:
                    await write(store, step)
                shown = [attempt.key for attempt in await store.runs(RunQuery(job=KEY, limit=1000))]
                everything = [attempt.key for attempt in await store.runs(RunQuery(limit=1000))]
                assert sorted(shown) == sorted(everything)
                assert len(set(shown)) == len(shown)
            await store.update(KEY, forget)
            with closing(sqlite3.connect(path)) as connection:
                assert connection.execute("SELECT count(*) FROM attempts").fetchone() == (0,)

    with TemporaryDirectory() as folder:
        asyncio.run(act(Path(folder, "jobs.db")))


async def write(store: SqliteStore, wanted: list[Attempt]) -> None:
    """As any decision may: attempts that are there and have ended stay ended."""
    ended = {a.key for a in await store.runs(RunQuery(job=KEY, is_open=False, limit=1000))}
    good = tuple(a for a in wanted if not (a.is_open and a.key in ended))
    last = {a.key: a for a in good}
    await store.update(KEY, lambda record: change()(record)._replace(attempts=tuple(last.values())))


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
