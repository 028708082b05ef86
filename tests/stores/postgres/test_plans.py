"""The statements of the hot path find their rows by an index, whatever the planner believes of the tables."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from foliot.stores.postgres import PostgresStore, statement
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.connection import WRITE, begin, connect
from foliot.stores.postgres.dialect import _MANY, _about, _for_many, _translated
from foliot.stores.postgres.insert import insert_of
from foliot.stores.sql import herd, upsert
from foliot.stores.sql.entry import FIRST
from stores.shared_statements import SHARED, VALUES

HOT: dict[str, tuple[str, Sequence[Any] | dict[str, Any], list[str]]] = {
    "what is due": (statement.LOCK_DUE, ("{1}", "{9}", 0, *FIRST), ["states_due"]),
    "how it is spread": (
        statement.SPREAD,
        {"lanes": "{1,2}", "now": 0, "at": FIRST.wake_at, "after": FIRST.job_no, "count": 9},
        ["states_due"],
    ),
    "jobs to lock by key": (statement.LOCK_BY_KEY, ('{"a"}',), ["jobs_key_key", "states_pkey"]),
    "states to lock": (statement.LOCK_BY_NUMBER, ("{1}",), ["states_pkey"]),
    "definitions": (statement.DEFINITIONS, ("{1}",), ["jobs_pkey"]),
    "what a claim begins with": (
        statement.BEGIN_CLAIM,
        {"present": None, "claim": "c", "queues": '{"default"}', "node": "a"},
        ["node_names_id_key", "nodes_pkey", "claims_claim_id_key", "lanes_queue_kind_key"],
    ),
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
    sql, _, wanted = SHARED[name]
    asked = _for_many(sql)[0] if any(f"IN :{mark}" in sql for mark in _MANY) else sql
    values = {**VALUES, "these": "{1}", "texts": "{a}"}
    plan = [line for (line,) in connection.execute(f"EXPLAIN {_translated(asked)}".encode(), values)]
    tables = r"Seq Scan on (states|jobs|attempts|skips|nodes|node_names|claims)\b"
    assert [line for line in plan if re.search(tables, line)] == [], plan
    for index in wanted:
        assert any(index in line for line in plan), plan


@pytest.mark.parametrize(
    ("sql", "columns", "shared"),
    [
        (herd.START, herd.STARTED, ("now", "node_no")),
        (herd.MOVE, herd.MOVED, ("now",)),
        (herd.MOVE_FIRST, herd.MOVED_FIRST, ("now",)),
        (herd.QUIET, herd.ENDING, ("node_no",)),
        (herd.END, herd.ENDING, ("node_no",)),
        (herd.FIND_STARTED, ("at", "job_no"), ()),
    ],
    ids=["start", "move", "move first", "quiet", "end", "find started"],
)
def test_herds_are_written_row_by_row_of_the_batch(
    connection: psycopg.Connection[tuple[Any, ...]],
    sql: str,
    columns: tuple[str, ...],
    shared: tuple[str, ...],
) -> None:
    values = {f"v_{name}": "{1}" for name in columns} | dict.fromkeys(shared, "1")
    plan = [
        line for (line,) in connection.execute(f"EXPLAIN {_about(sql, columns, shared)}".encode(), values)
    ]
    assert [line for line in plan if re.search(r"Seq Scan on (states|attempts)", line)] == [], plan
    assert any("_pkey" in line for line in plan), plan
    assert not any("attempts_held" in line or "Join Filter" in line for line in plan), plan


@pytest.mark.parametrize("what", [upsert.PUT_ATTEMPT, upsert.PUT_STATE])
def test_rows_are_written_without_looking_for_them(
    connection: psycopg.Connection[tuple[Any, ...]], what: upsert.Upsert
) -> None:
    sql = insert_of(what).sql
    values = ["{}"] * sql.count("%s")
    plan = [line for (line,) in connection.execute(f"EXPLAIN {sql}".encode(), values)]
    assert not any("Join" in line or "Loop" in line or "Seq Scan" in line for line in plan), plan
