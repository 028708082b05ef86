"""Goal P3 on SQLite: claim and finish through the store, beside a bare loop on `sqlite3`; see `batches`.

Both work on a copy of the same file. The bare loop is written as fast as we know: statements of its own, each
of which writes all rows of a batch.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.fire.bare import END, GIVEN, MOVE, START
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
from foliot.clock import SystemClock
from foliot.stores.sqlite import SqliteStore

BATCH = 1_000
ROUNDS = 5

_NODE = 1
_READ = """
    SELECT s.job_no, j.key, s.token, s.fired_count, s.newest_at, s.served_until, s.next_at, j.frame, j.data,
        j.policy_no
    FROM states AS s JOIN jobs AS j ON j.job_no = s.job_no
    WHERE s.lane_no = 1 AND s.wake_at <= ? AND s.damage IS NULL ORDER BY s.wake_at, s.job_no LIMIT ?
"""
_REMEMBER = "INSERT INTO claims (claim_no, claim_id, node_no, kept_until) VALUES (?, ?, ?, ?)"


def measure_store(
    runs: int, on_progress: OnProgress, *, batch: int = BATCH, rounds: int = ROUNDS
) -> StoreSpeed:
    """Both in turns, on fresh copies."""
    with TemporaryDirectory(prefix="foliot-bench-") as folder:
        master, copy = Path(folder) / "master.db", Path(folder) / "copy.db"
        asyncio.run(_prepare(master, runs))

        def on_a_copy(work: Callable[[Path, int, int], float]) -> float:
            for suffix in ("-wal", "-shm"):
                copy.with_name(copy.name + suffix).unlink(missing_ok=True)
            shutil.copy(master, copy)
            return work(copy, runs, batch)

        works = {STORE: lambda: on_a_copy(_through_the_store), BARE: lambda: on_a_copy(_bare)}
        return in_turns(works, runs, batch, rounds, on_progress)


async def _prepare(path: Path, runs: int) -> None:
    async with SqliteStore(path, SystemClock()) as store:
        await declare_all(store, runs)


def _through_the_store(path: Path, runs: int, batch: int) -> float:
    async def work() -> float:
        async with SqliteStore(path, SystemClock(), lease=LEASE) as store:
            return await claim_and_finish(store, runs, batch)

    return asyncio.run(work())


def _bare(path: Path, runs: int, batch: int) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -16000")
    begin, done, claim_no = perf_counter(), 0, 0
    while done < runs:
        claim_no += 1
        rows = _claim(connection, batch, claim_no)
        _finish(connection, rows)
        if not rows:
            raise ValueError(f"{done} of {runs} runs, and no more")
        done += len(rows)
    took = perf_counter() - begin
    connection.close()
    return took


def _claim(connection: sqlite3.Connection, batch: int, claim_no: int) -> list[Any]:
    connection.execute("BEGIN IMMEDIATE")
    rows = connection.execute(_READ, (NOW, batch)).fetchall()
    moved = [(number, run_key(key)) for number, key, *_ in rows]
    connection.execute(_about(START, len(rows)), [*chain.from_iterable(moved), claim_no, _NODE, NOW, DUE])
    connection.execute(_about(MOVE, len(rows)), [*chain.from_iterable(moved), claim_no, _NODE, NOW, DUE])
    connection.execute(_REMEMBER, (claim_no, str(claim_no), _NODE, NOW))
    connection.execute("COMMIT")
    return rows


def _finish(connection: sqlite3.Connection, rows: list[Any]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    ended = [(row[0], row[2] + 1) for row in rows]
    connection.execute(_about(END, len(rows)), [*chain.from_iterable(ended), 0, _NODE, NOW, DUE])
    connection.execute("COMMIT")


def _about(sql: str, count: int) -> str:
    rows = ", ".join(["(?, ?)"] * count)
    return f"WITH v (job_no, other) AS (VALUES {rows}), g ({GIVEN}) AS (VALUES (?, ?, ?, ?)) {sql}"
