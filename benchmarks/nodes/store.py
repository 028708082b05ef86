"""Goal P3 on PostgreSQL: claim and finish through the store, beside a bare loop on `psycopg`; see `batches`.

Both work in the same schema, which is made anew for each: the same rows, freshly written, vacuumed, and a
checkpoint behind them. The bare loop is written as fast as we know: statements about whole batches, arrays as
literals, statements that travel together, rows in binary form, plans by index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Any

import psycopg

from benchmarks.fire import store as sqlite
from benchmarks.fire.bare import GIVEN, MOVE, START
from benchmarks.fire.batches import (
    BARE,
    DUE,
    LEASE,
    NOW,
    STORE,
    StoreSpeed,
    claim_and_finish,
    declare_all,
    in_turns,
    run_key,
)
from benchmarks.fire.child import OnProgress
from benchmarks.nodes.effort import Effort
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.arrays import numbers, texts

POSTGRES, SQLITE = "PostgreSQL", "SQLite"
Connection = psycopg.Connection[tuple[Any, ...]]

# ruff: noqa: S608 - made of constants only

_SCHEMA = "bench_store"
_NODE = 1
_OPTIONS = " ".join(
    f"-c {name}"
    for name in (
        f"search_path={_SCHEMA}",
        "enable_seqscan=off",
        "enable_bitmapscan=off",
        "enable_hashjoin=off",
        "enable_mergejoin=off",
        "enable_sort=off",
        "jit=off",
    )
)
_READ = """
    SELECT s.job_no, j.key, s.token, s.fired_count, s.newest_at, s.served_until, s.next_at, j.frame, j.data,
        j.policy_no
    FROM states AS s JOIN jobs AS j ON j.job_no = s.job_no
    WHERE s.lane_no = 1 AND s.wake_at <= %s AND s.damage IS NULL ORDER BY s.wake_at, s.job_no LIMIT %s
    FOR UPDATE OF s SKIP LOCKED
"""
# Each attempt is looked up by its key. In a plain join, PostgreSQL compares each job with each attempt.
_END = """
    UPDATE attempts SET state = 3, outcome = 1, started_at = f.now, finished_at = f.now
    FROM (
        SELECT a.place, g.now FROM v CROSS JOIN g CROSS JOIN LATERAL (
            SELECT ctid AS place FROM attempts
            WHERE scheduled_for = g.due AND job_no = v.job_no AND request = '' AND number = 1
            AND state + 0 = 1 AND node_no + 0 = g.node_no AND token = v.other
            OFFSET 0
        ) AS a
    ) AS f
    WHERE attempts.ctid = f.place
"""
_REMEMBER = "INSERT INTO claims (claim_no, claim_id, node_no, kept_until) VALUES (%s, %s, %s, %s)"
_KEEP = "CREATE TABLE states_master AS TABLE states"
_ANEW = (
    "TRUNCATE attempts, claims, nodes, node_names, states",
    "INSERT INTO states SELECT * FROM states_master ORDER BY job_no",
    "VACUUM (ANALYZE) states, attempts, jobs",
    "CHECKPOINT",
)


def measure_stores(
    url: str, effort: Effort, on_step: Callable[[str], OnProgress]
) -> dict[str, list[StoreSpeed]]:
    """Both stores, each with its bare loop, for each size of batches."""
    asyncio.run(_prepare(f"{url}?schema={_SCHEMA}", effort.runs))
    found: dict[str, list[StoreSpeed]] = {POSTGRES: [], SQLITE: []}
    with psycopg.connect(url, autocommit=True, options=_OPTIONS) as connection:
        connection.execute(_KEEP)
        for batch in effort.batches:
            on_progress = on_step(f"store: {POSTGRES}, {effort.runs:,} runs, {batch:,} at a time")
            found[POSTGRES].append(_measure(url, connection, effort, batch, on_progress))
        connection.execute(f"DROP SCHEMA {_SCHEMA} CASCADE")
    for batch in effort.batches:
        on_progress = on_step(f"store: {SQLITE}, {effort.runs:,} runs, {batch:,} at a time")
        speed = sqlite.measure_store(effort.runs, on_progress, batch=batch, rounds=effort.turns)
        found[SQLITE].append(speed)
    return found


async def _prepare(url: str, runs: int) -> None:
    async with PostgresStore(url) as store:
        await declare_all(store, runs)


def _measure(
    url: str, connection: Connection, effort: Effort, batch: int, on_progress: OnProgress
) -> StoreSpeed:
    def through_the_store() -> float:
        _begin_anew(connection)
        return asyncio.run(_through_the_store(f"{url}?schema={_SCHEMA}", effort.runs, batch))

    def bare() -> float:
        _begin_anew(connection)
        return _bare(url, effort.runs, batch)

    works = {STORE: through_the_store, BARE: bare}
    return in_turns(works, effort.runs, batch, effort.turns, on_progress)


def _begin_anew(connection: Connection) -> None:
    for sql in _ANEW:
        connection.execute(sql.encode())


async def _through_the_store(url: str, runs: int, batch: int) -> float:
    async with PostgresStore(url, lease=LEASE) as store:
        return await claim_and_finish(store, runs, batch)


def _bare(url: str, runs: int, batch: int) -> float:
    with psycopg.connect(url, autocommit=True, prepare_threshold=None, options=_OPTIONS) as connection:
        begin, done, claim_no = perf_counter(), 0, 0
        while done < runs:
            claim_no += 1
            rows = _claim(connection, batch, claim_no)
            _finish(connection, rows)
            if not rows:
                raise ValueError(f"{done} of {runs} runs, and no more")
            done += len(rows)
        return perf_counter() - begin


def _claim(connection: Connection, batch: int, claim_no: int) -> list[Any]:
    with connection.pipeline():
        connection.execute("BEGIN")
        rows = connection.execute(_READ, (NOW, batch), binary=True).fetchall()
        jobs, keys = numbers(row[0] for row in rows), texts(run_key(row[1]) for row in rows)
        given = (jobs, keys, claim_no, _NODE, NOW, DUE)
        connection.execute(_about(START, "text"), given)
        connection.execute(_about(MOVE, "text"), given)
        connection.execute(_REMEMBER, (claim_no, str(claim_no), _NODE, NOW))
        connection.execute("COMMIT")
    return rows


def _finish(connection: Connection, rows: list[Any]) -> None:
    with connection.pipeline():
        connection.execute("BEGIN")
        jobs, tokens = numbers(row[0] for row in rows), numbers(row[2] + 1 for row in rows)
        connection.execute(_about(_END, "bigint"), (jobs, tokens, 0, _NODE, NOW, DUE))
        connection.execute("COMMIT")


def _about(sql: str, kind: str) -> bytes:
    return f"""
        WITH v (job_no, other) AS (SELECT * FROM unnest(%s::bigint[], %s::{kind}[])),
        g ({GIVEN}) AS (SELECT %s::bigint, %s::bigint, %s::bigint, %s::bigint) {sql}
    """.encode()
