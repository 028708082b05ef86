"""Shared statements, as SQLite gets them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from foliot.stores.sql.codes import whole
from foliot.stores.sqlite.dialect import SqliteDialect
from foliot.testing.clock import ManualClock

CLOCK = ManualClock()


@pytest.fixture
def dialect() -> Iterator[SqliteDialect]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"n{n}") for n in range(2000)])
        yield SqliteDialect(connection, CLOCK)


@pytest.mark.parametrize("count", [0, 1, 2, 8, 9, 64, 65, 400, 401, 1000])
def test_many_values_are_each_asked_for_once(dialect: SqliteDialect, count: int) -> None:
    wanted = list(range(count))
    rows = dialect.among("SELECT n FROM t WHERE n IN :these AND n < :most", wanted, most=1500).fetchall()
    assert sorted(rows) == [(n,) for n in wanted]
    texts = [f"n{n}" for n in wanted]
    assert len(dialect.among("SELECT n FROM t WHERE name IN :texts", texts).fetchall()) == count


def test_what_is_written_about_many_is_written_about_all(dialect: SqliteDialect) -> None:
    dialect.among("UPDATE t SET name = :name WHERE n IN :these", range(900), name="same")
    assert dialect.run("SELECT count(*) FROM t WHERE name = 'same'").fetchone() == (900,)


@pytest.mark.parametrize("missing", [0, 3])
def test_rows_that_are_changed_are_told_and_no_others(dialect: SqliteDialect, missing: int) -> None:
    dialect.run("UPDATE t SET name = 'other' WHERE n < :missing", missing=missing)
    condition = "FROM v CROSS JOIN g CROSS JOIN t AS o WHERE o.n = v.job_no AND o.name = 'n' || v.job_no"
    change = f"""
        INSERT INTO t (n, name) SELECT v.job_no, v.name {condition}
        ON CONFLICT (n) DO UPDATE SET name = excluded.name
    """
    columns: dict[str, list[Any]] = {"job_no": list(range(700)), "name": ["new"] * 700}
    found = dialect.change_rows(change, f"SELECT v.job_no {condition}", columns, one=1)
    assert sorted(found) == list(range(missing, 700))
    assert dialect.run("SELECT count(*) FROM t WHERE name = 'new'").fetchone() == (700 - missing,)
    assert dialect.run("SELECT count(*) FROM t WHERE name = 'other'").fetchone() == (missing,)


LOCKS = ("FOR UPDATE", "FOR UPDATE OF t SKIP LOCKED", "FOR KEY SHARE OF t", "FOR NO KEY UPDATE SKIP LOCKED")


@pytest.mark.parametrize("lock", LOCKS)
def test_nothing_is_locked(dialect: SqliteDialect, lock: str) -> None:
    assert dialect.run(f"SELECT n FROM t WHERE n = :n {lock}", n=7).fetchall() == [(7,)]  # noqa: S608 - above


def test_the_present_is_that_of_the_clock(dialect: SqliteDialect) -> None:
    assert dialect.run("SELECT :present + :more", more=1).fetchone() == (whole(CLOCK.now()) + 1,)
