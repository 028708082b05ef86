"""A job that ran every minute for a long time: what is asked costs by the answer, and so does its removal."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from foliot.model.attempt import Outcome
from foliot.model.policy import Keep, Policy
from foliot.protocols import Changes, JobQuery, Output, RunQuery, SkipQuery
from foliot.stores.sql import declare, history_links, history_queries, job_queries, run_queries
from foliot.stores.sql.codes import whole
from foliot.stores.sql.definition import Reader, Writer
from foliot.stores.sql.prune import Pruner
from foliot.stores.sqlite import SqliteStore
from foliot.stores.sqlite.connection import Connection
from foliot.stores.sqlite.lease_clock import LeaseClock
from foliot.stores.sqlite.lock_file import LockFiles
from foliot.stores.sqlite.session import SqliteSession
from foliot.testing.clock import ManualClock
from foliot.testing.contract.history import KEY, ended, write_down
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, forget, untouched

NOW = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
A_WHILE = timedelta(seconds=60)
SHORT, LONG = 2000, 12_000  # both longer than is forgotten at once
# An attempt a minute, all of them good, and a skip beside each.
FILL = """
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
    INSERT INTO attempts (
        scheduled_for, job_no, request, number, ordinal, previous_at, trigger, state, token, claimed_at,
        started_at, finished_at, outcome, reason, retries, losses
    )
    SELECT :first + i * :step, 1, '', 1, 0, CASE WHEN i > 1 THEN :first + (i - 1) * :step END, 0, 3, i, 1,
        1, :first + i * :step + 1, 1, '', 0, 0
    FROM n
"""
QUESTIONS: dict[str, Callable[[SqliteSession], object]] = {
    "jobs, and when they last succeeded": lambda session: job_queries.jobs(session, JobQuery()),
    "the newest runs": lambda session: run_queries.runs(session, RunQuery(job=KEY, limit=20)),
    "runs since a time": lambda session: run_queries.runs(session, RunQuery(job=KEY, since=NOW - 9 * MINUTE)),
    "runs that failed": lambda session: run_queries.runs(session, RunQuery(job=KEY, outcome=Outcome.FAILED)),
    "open runs": lambda session: run_queries.runs(session, RunQuery(job=KEY, is_open=True)),
    "the newest skips": lambda session: run_queries.skips(session, SkipQuery(KEY, limit=20)),
    "whether anything is to be forgotten": lambda session: Pruner(
        session.dialect, session.interned, NOW, 1000
    ).prune(),
    "removal": lambda session: declare.update(session, KEY, forget),
}


async def furnish(path: Path, count: int, keep: Keep) -> None:
    async with SqliteStore(path, ManualClock(NOW), synchronous="OFF") as store:
        job = a_job("job", policy=Policy(keep=keep))
        await store.reconcile(
            SOURCE, None, "r1", Changes((job,)), declared=declare_at(None, NOW), removed=untouched
        )
    step = MINUTE // timedelta(microseconds=1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(FILL, {"count": count, "first": whole(NOW) - count * step, "step": step})
        connection.execute(
            "INSERT INTO skips SELECT 1, scheduled_for + 7, scheduled_for + 7, '' FROM attempts"
        )
        connection.execute("UPDATE states SET newest_at = ?, look_at = 0", (whole(NOW),))


@contextmanager
def counted(path: Path) -> Iterator[tuple[SqliteSession, list[int]]]:
    """A session, and how many steps SQLite takes for it."""
    steps = [0]

    def count() -> None:
        steps[0] += 1

    with closing(sqlite3.connect(path, isolation_level=None, factory=Connection)) as connection:
        connection.set_progress_handler(count, 10)
        clock = ManualClock()
        leases, locks = LeaseClock(clock, A_WHILE), LockFiles(path)
        yield SqliteSession(connection, (Reader(), Writer()), clock, leases, locks), steps


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_long_history_costs_no_more_than_a_short_one(tmp_path: Path, name: str) -> None:
    costs = []
    for count in (SHORT, LONG):
        path = tmp_path / f"{count}.db"
        asyncio.run(furnish(path, count, Keep(last=None, days=None)))
        with counted(path) as (session, steps):
            QUESTIONS[name](session)
            costs.append(steps[0])
    assert costs[1] < costs[0] * 1.1 + 20


def test_a_job_that_only_fails_is_not_read_back_to_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_queries, "FAR", 500)
    costs = []
    for count in (SHORT, LONG):
        path = tmp_path / f"{count}.db"
        asyncio.run(furnish(path, count, Keep(last=None, days=None)))
        with counted(path) as (session, steps):
            session.connection.execute("UPDATE attempts SET outcome = 2")
            before = steps[0]
            assert job_queries.jobs(session, JobQuery()).views[0].last_success_at is None
            costs.append(steps[0] - before)
    assert costs[1] < costs[0] * 1.1 + 20


def rows_of(path: Path) -> list[int]:
    tables = ("jobs", "states", "attempts", "skips", "remains")
    with closing(sqlite3.connect(path)) as connection:
        return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]  # noqa: S608 - above


def test_what_a_removed_job_leaves_is_forgotten_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"

    async def act() -> None:
        await furnish(path, SHORT, Keep(last=None, days=None))
        async with SqliteStore(path, ManualClock(NOW), synchronous="OFF") as store:
            await store.update(KEY, forget)
            assert await store.jobs(JobQuery(with_removed=True)) == ()
            assert await store.runs(RunQuery()) == ()
            assert rows_of(path)[2] > 0, "there was too much of it"
            batches = []
            while (pruned := await store.prune(NOW, 300)).forgotten:
                batches.append(pruned)
            assert max(forgotten for forgotten, _ in batches) <= 300
            assert rows_of(path) == [0, 0, 0, 0, 0]

    asyncio.run(act())


def test_a_job_of_the_same_name_has_a_history_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    new, old = ended(NOW - 1500 * MINUTE), ended(NOW - 1600 * MINUTE)

    async def act() -> None:
        await furnish(path, SHORT, Keep(last=None, days=None))
        async with SqliteStore(path, ManualClock(NOW), synchronous="OFF") as store:
            await store.write_outputs([Output(KEY, *attempt.key, "of the old one") for attempt in (new, old)])
            await store.update(KEY, forget)
            await store.reconcile(
                SOURCE,
                "r1",
                "r2",
                Changes((a_job("job"),)),
                declared=declare_at(None, NOW),
                removed=untouched,
            )
            await store.update(KEY, write_down([new], last_run=new.run_key))
            await store.write_outputs([Output(KEY, *new.key, "of the new one")])
            assert await store.runs(RunQuery(job=KEY)) == (new,)
            while (await store.prune(NOW, 1000)).forgotten:
                pass
            assert await store.runs(RunQuery()) == (new,)
            output = await store.output(*new.key)
            assert output is not None
            assert output.text == "of the new one"
            assert await store.output(*old.key) is None

    asyncio.run(act())
    assert rows_of(path) == [1, 1, 1, 0, 0]


def test_what_a_removed_job_wrote_is_not_shown_as_what_another_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_links, "AT_ONCE", 5)
    path = tmp_path / "jobs.db"
    old = ended(NOW - 20 * MINUTE)

    async def act() -> None:
        await furnish(path, 30, Keep(last=None, days=None))
        async with SqliteStore(path, ManualClock(NOW), synchronous="OFF") as store:
            await store.write_outputs([Output(KEY, *old.key, "of the old one")])
            await store.update(KEY, forget)
            assert await store.output(*old.key) is None
            job = Changes((a_job("job"),))
            await store.reconcile(SOURCE, "r1", "r2", job, declared=declare_at(None, NOW), removed=untouched)
            assert rows_of(path)[4] == 1, "its history is still there"
            await store.update(KEY, write_down([old], last_run=old.run_key))
            assert await store.output(*old.key) is None
            while (await store.prune(NOW, 1000)).forgotten:
                pass
            assert await store.output(*old.key) is None

    asyncio.run(act())


def test_of_a_moment_that_was_tried_often_no_more_is_forgotten_than_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_links, "AT_ONCE", 7)
    path = tmp_path / "jobs.db"

    async def act() -> None:
        await furnish(path, 1, Keep(last=None, days=None))
        past = [ended(NOW - n * MINUTE, Outcome.FAILED, number) for n in (1, 2, 3) for number in range(1, 6)]
        async with SqliteStore(path, ManualClock(NOW), synchronous="OFF") as store:
            await store.update(KEY, write_down(past))
            await store.update(KEY, forget)
            assert [(await store.prune(NOW, 3)).forgotten for _ in range(5)] == [3, 3, 3, 1, 0]
            assert rows_of(path) == [0, 0, 0, 0, 0]

    asyncio.run(act())


def test_a_short_history_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    asyncio.run(furnish(path, 9, Keep(last=None, days=None)))
    with counted(path) as (session, _):
        said: list[str] = []
        session.connection.set_trace_callback(said.append)
        declare.update(session, KEY, forget)
    assert any("FROM attempts" in words for words in said)
    assert not any("remains" in words for words in said)


def test_a_part_of_a_long_history_is_forgotten_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"

    async def act() -> None:
        await furnish(path, SHORT, Keep(last=None, days=1))
        async with SqliteStore(path, ManualClock(NOW), synchronous="OFF") as store:
            skips = await store.skips(SkipQuery(KEY, limit=SHORT))
            while (pruned := await store.prune(NOW, 100)).forgotten:
                assert pruned.forgotten <= 100
            minutes_of_a_day = 24 * 60
            assert len(await store.runs(RunQuery(job=KEY, limit=SHORT))) == minutes_of_a_day + 1
            assert await store.skips(SkipQuery(KEY, limit=SHORT)) == skips[: minutes_of_a_day + 1]

    asyncio.run(act())
