"""A job that ran every minute for a long time: what is asked costs by the answer, and so does its removal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from foliot.model.attempt import Outcome
from foliot.model.policy import Keep, Policy
from foliot.protocols import Changes, JobQuery, Output, RunQuery, SkipQuery
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.connection import WRITE, begin, connect
from foliot.stores.postgres.definition_cache import DefinitionCache
from foliot.stores.postgres.inspection import find_flaws
from foliot.stores.postgres.session import PostgresSession
from foliot.stores.sql import declare, history_links, history_queries, job_queries, run_queries
from foliot.stores.sql.codes import whole
from foliot.stores.sql.prune import Pruner
from foliot.testing.clock import ManualClock
from foliot.testing.contract.history import KEY, ended, write_down
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, forget, untouched

NOW = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
A_WHILE = timedelta(seconds=60)
SHORT, LONG = 2000, 12_000  # both longer than is forgotten at once
# An attempt a minute, all of them good, and a skip beside each.
FILL = """
    INSERT INTO attempts (
        scheduled_for, job_no, request, number, ordinal, previous_at, trigger, state, token, claimed_at,
        started_at, finished_at, outcome, reason, retries, losses
    )
    SELECT at, 1, '', 1, 0, lag(at) OVER (ORDER BY at), 0, 3, 1, 1, 1, at + 1, 1, '', 0, 0
    FROM generate_series(%s::bigint, %s::bigint, %s::bigint) AS at
"""
READ = """
    SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
    FROM pg_stat_xact_user_tables WHERE schemaname = current_schema()
"""
WRITTEN = """
    SELECT relname, n_tup_ins + n_tup_del
    FROM pg_stat_xact_user_tables WHERE schemaname = current_schema()
"""
QUESTIONS: dict[str, Callable[[PostgresSession], object]] = {
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


def ask(url: str, sql: str, *values: object) -> list[Any]:
    server, schema = read_address(url)
    with psycopg.connect(server, options=f"-csearch_path={schema}") as connection:
        cursor = connection.execute(sql.encode(), values)
        return cursor.fetchall() if cursor.description else []


async def furnish(url: str, count: int, keep: Keep) -> None:
    async with PostgresStore(url, time=ManualClock(NOW)) as store:
        job = a_job("job", policy=Policy(keep=keep))
        await store.reconcile(
            SOURCE, None, "r1", Changes((job,)), declared=declare_at(None, NOW), removed=untouched
        )
    ask(url, FILL, whole(NOW - (count - 1) * MINUTE), whole(NOW), MINUTE // timedelta(microseconds=1))
    ask(url, "INSERT INTO skips SELECT 1, scheduled_for + 7, scheduled_for + 7, '' FROM attempts")
    ask(url, "UPDATE states SET newest_at = %s, look_at = 0", whole(NOW))


@contextmanager
def at_work(url: str) -> Iterator[PostgresSession]:
    """A session in the middle of a transaction that is undone."""
    address = read_address(url)
    with connect(address, A_WHILE) as connection:
        begin(connection, WRITE, address.schema, A_WHILE)
        yield PostgresSession(
            connection, address.schema, DefinitionCache(), ManualClock(), lease=A_WHILE, silence=A_WHILE
        )
        connection.execute("ROLLBACK")


@pytest.fixture(scope="module")
def urls(server_url: str) -> list[str]:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")  # each has a schema of its own
    found = [f"{server_url}?schema=long_history_{worker}{count}" for count in (SHORT, LONG)]
    for url, count in zip(found, (SHORT, LONG), strict=True):
        asyncio.run(furnish(url, count, Keep(last=None, days=None)))
    return found


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_long_history_costs_no_more_than_a_short_one(urls: list[str], name: str) -> None:
    costs = []
    for url in urls:
        with at_work(url) as session:
            QUESTIONS[name](session)
            (cost,) = session.connection.execute(READ).fetchone() or (0,)
            costs.append(cost)
    assert costs[1] <= costs[0] * 1.1 + 20


def test_a_job_that_only_fails_is_not_read_back_to_its_beginning(
    urls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_queries, "FAR", 500)
    with at_work(urls[1]) as session:
        session.connection.execute("UPDATE attempts SET outcome = 2")
        (before,) = session.connection.execute(READ).fetchone() or (0,)
        assert job_queries.jobs(session, JobQuery()).views[0].last_success_at is None
        (after,) = session.connection.execute(READ).fetchone() or (0,)
        assert after - before < SHORT


def rows_of(url: str) -> list[int]:
    tables = ("jobs", "states", "attempts", "skips", "remains")
    return [ask(url, f"SELECT count(*) FROM {table}")[0][0] for table in tables]  # noqa: S608 - above


def test_what_a_removed_job_leaves_is_forgotten_in_batches(url: str) -> None:
    async def act() -> None:
        await furnish(url, SHORT, Keep(last=None, days=None))
        async with PostgresStore(url, time=ManualClock(NOW)) as store:
            await store.update(KEY, forget)
            assert await store.jobs(JobQuery(with_removed=True)) == ()
            assert await store.runs(RunQuery()) == ()
            assert rows_of(url)[2] > 0, "there was too much of it"
            assert find_flaws(url) == (), "it is known to whom they belonged"
            batches = []
            while (pruned := await store.prune(NOW, 300)).forgotten:
                batches.append(pruned)
            assert max(forgotten for forgotten, _ in batches) <= 300
            assert rows_of(url) == [0, 0, 0, 0, 0]

    asyncio.run(act())


def test_a_job_of_the_same_name_has_a_history_of_its_own(url: str) -> None:
    new, old = ended(NOW - 1500 * MINUTE), ended(NOW - 1600 * MINUTE)

    async def act() -> None:
        await furnish(url, SHORT, Keep(last=None, days=None))
        async with PostgresStore(url, time=ManualClock(NOW)) as store:
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
    assert rows_of(url) == [1, 1, 1, 0, 0]


def test_what_a_removed_job_wrote_is_not_shown_as_what_another_wrote(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_links, "AT_ONCE", 5)
    old = ended(NOW - 20 * MINUTE)

    async def act() -> None:
        await furnish(url, 30, Keep(last=None, days=None))
        async with PostgresStore(url, time=ManualClock(NOW)) as store:
            await store.write_outputs([Output(KEY, *old.key, "of the old one")])
            await store.update(KEY, forget)
            assert await store.output(*old.key) is None
            job = Changes((a_job("job"),))
            await store.reconcile(SOURCE, "r1", "r2", job, declared=declare_at(None, NOW), removed=untouched)
            assert rows_of(url)[4] == 1, "its history is still there"
            await store.update(KEY, write_down([old], last_run=old.run_key))
            assert await store.output(*old.key) is None
            while (await store.prune(NOW, 1000)).forgotten:
                pass
            assert await store.output(*old.key) is None

    asyncio.run(act())


def test_of_a_moment_that_was_tried_often_no_more_is_forgotten_than_was_asked_for(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_links, "AT_ONCE", 7)

    async def act() -> None:
        await furnish(url, 1, Keep(last=None, days=None))
        past = [ended(NOW - n * MINUTE, Outcome.FAILED, number) for n in (1, 2, 3) for number in range(1, 6)]
        async with PostgresStore(url, time=ManualClock(NOW)) as store:
            await store.update(KEY, write_down(past))
            await store.update(KEY, forget)
            assert [(await store.prune(NOW, 3)).forgotten for _ in range(5)] == [3, 3, 3, 1, 0]
            assert rows_of(url) == [0, 0, 0, 0, 0]

    asyncio.run(act())


def test_a_short_history_leaves_nothing_behind(url: str) -> None:
    asyncio.run(furnish(url, 9, Keep(last=None, days=None)))
    with at_work(url) as session:
        declare.update(session, KEY, forget)
        written: dict[str, int] = dict(session.connection.execute(WRITTEN).fetchall())
    assert written["attempts"] > 0
    assert written["remains"] == 0


def test_a_part_of_a_long_history_is_forgotten_at_a_time(url: str) -> None:
    async def act() -> None:
        await furnish(url, SHORT, Keep(last=None, days=1))
        async with PostgresStore(url, time=ManualClock(NOW)) as store:
            skips = await store.skips(SkipQuery(KEY, limit=SHORT))
            while (pruned := await store.prune(NOW, 100)).forgotten:
                assert pruned.forgotten <= 100
            minutes_of_a_day = 24 * 60
            assert len(await store.runs(RunQuery(job=KEY, limit=SHORT))) == minutes_of_a_day + 1
            assert await store.skips(SkipQuery(KEY, limit=SHORT)) == skips[: minutes_of_a_day + 1]

    asyncio.run(act())
