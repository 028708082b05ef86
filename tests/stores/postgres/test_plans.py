"""The statements of the hot path find their rows by an index, whatever the planner believes of the tables."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from foliot.stores.postgres import PostgresStore, history, life, question, run, statement
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.connection import WRITE, begin, connect
from foliot.stores.postgres.dialect import PostgresDialect, _translated
from foliot.stores.sql import cut, look, prune
from foliot.stores.sql import history as shared
from foliot.stores.sql.sweep import FIRST

HOT = {
    "what is due": (statement.LOCK_DUE, ("{1}", "{9}", 0, *FIRST), ["states_due"]),
    "how it is spread": (statement.SPREAD, ("{1,2}", 0, *FIRST, 9, 9), ["states_due"]),
    "the next wake": (statement.NEXT_WAKE, (), ["states_due"]),
    "jobs by key": (statement.BY_KEY, ('{"a"}',), ["jobs_key_key", "states_pkey"]),
    "jobs to lock by key": (statement.LOCK_BY_KEY, ('{"a"}',), ["jobs_key_key", "states_pkey"]),
    "open attempts by key": (statement.OPEN_BY_KEY, ('{"a"}',), ["jobs_key_key", "attempts_open"]),
    "jobs by number": (statement.BY_NUMBER, ("{1}",), ["jobs_pkey", "states_pkey"]),
    "a page of jobs": (
        statement.PAGE,
        ("a", "b", "b", False, None, None, 9),
        ["jobs_key_key", "states_pkey"],
    ),
    "the newest runs": (f"{question._RUNS} {question._NEWEST_FIRST}", (9,), ["attempts_pkey"]),
    "what nobody has written since": (statement.LOCK_MARKED, ("{1}", "{1}"), ["states_pkey"]),
    "open attempts that nobody has written since": (
        statement.OPEN_MARKED,
        ("{1}", "{1}"),
        ["attempts_open"],
    ),
    "states to lock": (statement.LOCK_BY_NUMBER, ("{1}",), ["states_pkey"]),
    "definitions": (statement.DEFINITIONS, ("{1}",), ["jobs_pkey"]),
    "open attempts": (statement.OPEN_BY_NUMBER, ("{1}",), ["attempts_open"]),
    "what a node holds": (statement.HELD, (1,), ["attempts_held"]),
    "how much a node holds": (life.COUNT_HELD, (1,), ["attempts_held"]),
    "cancels": (life.CANCELS, (1,), ["attempts_held"]),
    "who holds anything": (statement.HOLDERS, (), ["attempts_held"]),
    "what the dead held": (run._LOST, (1, 1), ["attempts_held", "states_pkey"]),
    "the newest of a job": (history.DESCENTS, ("{1}", "{1}", 9), ["attempts_pkey"]),
    "where descents begin": (history.HEADS, (1, 1), ["states_pkey", "attempts_rise"]),
    "when jobs last succeeded": (history.SUCCESSES, (9, 9, "{1}", "{1}"), ["attempts_pkey"]),
    "problems of a job": (question.PROBLEMS_OF_JOB, (1, 2, 0, 0, 9), ["attempts_trouble"]),
    "open runs of a job": (question.OPEN_OF_JOB, (1,), ["attempts_open"]),
    "a node that lives": (life._IS_LIVING, ("a",), ["node_names_id_key", "nodes_pkey"]),
    "what a claim begins with": (
        life.LIVING,
        (None, "c", '{"default"}', "a"),
        ["node_names_id_key", "nodes_pkey", "claims_claim_id_key", "lanes_queue_kind_key"],
    ),
}


THESE = "(SELECT unnest(CAST('{1}' AS bigint[])))"
SHARED: dict[str, tuple[str, list[str]]] = {
    "the history of a job": (shared.WALK, ["attempts_pkey"]),
    "what is behind cuts": (cut.BEHIND_CUTS.replace(":these", THESE), ["states_pkey", "attempts_pkey"]),
    "instants of a job": (shared.KNOWN.replace(":these", THESE), ["attempts_pkey"]),
    "skips": (look.SKIPS, ["skips_pkey"]),
    "a history worth a look": (prune.RIPE.format(ripe="", lock=PostgresDialect.lock), ["states_ripe"]),
    "a history that is old": (prune.OLD.format(old="", lock=PostgresDialect.lock), ["states_old"]),
    "its neighbours": (prune.NEIGHBOURS, ["states_pkey", "jobs_pkey"]),
    "jobs to look at": (
        prune.THESE.format(lock=PostgresDialect.lock).replace(":these", THESE),
        ["states_pkey", "jobs_pkey"],
    ),
    "the oldest of a long history": (prune.OLDEST, ["attempts_pkey"]),
}


@pytest.fixture(scope="module")
def connection(server_url: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """In the settings of a transaction that writes, on tables that nobody has analysed."""
    url = f"{server_url}?schema=plans"

    async def create() -> None:
        async with PostgresStore(url):
            pass

    asyncio.run(create())
    address = read_address(url)
    with connect(address, timedelta(seconds=5)) as connection:
        begin(connection, WRITE, address.schema, timedelta(seconds=60))
        yield connection


@pytest.mark.parametrize("name", HOT)
def test_rows_are_found_by_an_index(connection: psycopg.Connection[tuple[Any, ...]], name: str) -> None:
    sql, values, wanted = HOT[name]
    plan = [line for (line,) in connection.execute(f"EXPLAIN {sql}".encode(), values)]
    tables = r"Seq Scan on (states|jobs|attempts|skips|nodes|node_names|claims)\b"
    assert [line for line in plan if re.search(tables, line)] == [], plan
    for index in wanted:
        assert any(index in line for line in plan), plan


@pytest.mark.parametrize("name", SHARED)
def test_what_dialects_share_finds_its_rows_by_an_index(
    connection: psycopg.Connection[tuple[Any, ...]], name: str
) -> None:
    sql, wanted = SHARED[name]
    values = dict.fromkeys(("job", "most", "first", "now", "since"), 9)
    plan = [line for (line,) in connection.execute(f"EXPLAIN {_translated(sql)}".encode(), values)]
    tables = r"Seq Scan on (states|jobs|attempts|skips|nodes|node_names|claims)\b"
    assert [line for line in plan if re.search(tables, line)] == [], plan
    for index in wanted:
        assert any(index in line for line in plan), plan


@pytest.mark.parametrize(
    "put",
    [statement.START, statement.MOVE, statement.END, statement.PUT_ATTEMPT, statement.PUT_STATE],
)
def test_rows_are_written_without_looking_for_them(
    connection: psycopg.Connection[tuple[Any, ...]], put: statement.Insert
) -> None:
    values = ["{}"] * put.sql.count("%s")
    plan = [line for (line,) in connection.execute(f"EXPLAIN {put.sql}".encode(), values)]
    assert not any("Join" in line or "Loop" in line or "Seq Scan" in line for line in plan), plan
