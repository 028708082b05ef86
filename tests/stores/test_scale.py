"""No question reads a whole table: a million jobs, and five million attempts.

What is counted is work, not time: steps of SQLite's machine, rows that PostgreSQL reads.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from foliot.protocols import Changes
from foliot.stores.postgres import PostgresStore
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, untouched
from stores.postgres.test_long_history import READ, ask, at_work
from stores.scale import CHANGE, COPY_JOBS, COPY_STATES, FILL, JOBS, NOW, QUESTIONS, RUNS, SKIPS
from stores.sqlite.test_long_history import counted

pytestmark = pytest.mark.prove
STEPS_A_ROW = 60  # of SQLite, for a row that is looked at: with filters, and its job


async def declare_one(store: SqliteStore | PostgresStore) -> None:
    async with store:
        await store.reconcile(
            SOURCE, None, "r1", Changes((a_job("job-1"),)), declared=declare_at(NOW, NOW), removed=untouched
        )


def copied(columns: list[str]) -> dict[str, str]:
    values = ", ".join("n.n" if name == "job_no" else f"s.{name}" for name in columns)
    return {"columns": ", ".join(columns), "values": values}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("scale") / "jobs.db"
    asyncio.run(declare_one(SqliteStore(path, ManualClock(NOW), synchronous="OFF")))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TEMP TABLE n (n INTEGER PRIMARY KEY)")
        connection.execute(
            "INSERT INTO n WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?)"
            " SELECT n FROM c",
            (JOBS,),
        )
        connection.execute("CREATE TEMP TABLE r (r INTEGER PRIMARY KEY)")
        connection.executemany("INSERT INTO r VALUES (?)", [(n,) for n in range(RUNS, 0, -1)])
        columns = [row[1] for row in connection.execute("PRAGMA table_info(states)")]
        connection.execute(COPY_JOBS.format(numbers="n"))
        connection.execute(COPY_STATES.format(numbers="n", **copied(columns)))
        for sql in (FILL.format(runs="r"), SKIPS, *CHANGE):
            connection.execute(sql)
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def url(server_url: str) -> Iterator[str]:
    url = f"{server_url}?schema=scale"
    asyncio.run(declare_one(PostgresStore(url)))
    names = ask(
        url, "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'scale' AND table_name = 'states'",
    )  # fmt: skip
    numbers = f"generate_series(1, {JOBS}) AS n (n)"
    ask(url, COPY_JOBS.format(numbers=numbers))
    ask(url, COPY_STATES.format(numbers=numbers, **copied([name for (name,) in names])))
    for sql in (FILL.format(runs=f"generate_series(1, {RUNS}) AS r (r)"), SKIPS, *CHANGE):
        ask(url, sql.replace("%", "%%"))
    for table in ("jobs", "states", "attempts", "skips", "audit", "pipelines"):
        ask(url, f"ANALYZE {table}")
    yield url
    ask(url, "DROP SCHEMA scale CASCADE")


@pytest.mark.parametrize("name", QUESTIONS)
def test_sqlite_reads_what_it_shows(path: Path, name: str) -> None:
    question = QUESTIONS[name]
    with counted(path) as (session, steps):
        question.ask(session)
        assert 10 * steps[0] <= question.most * STEPS_A_ROW


@pytest.mark.parametrize("name", QUESTIONS)
def test_postgres_reads_what_it_shows(url: str, name: str) -> None:
    question = QUESTIONS[name]
    with at_work(url) as session:
        question.ask(session)
        (read,) = session.connection.execute(READ).fetchone() or (0,)
        assert read <= question.most
