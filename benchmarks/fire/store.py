"""Goal P3: claim and finish through the store, beside a bare loop on `sqlite3` that touches the same rows.

Both work on a copy of the same file with the same jobs, all due at once, in batches of 1,000: read what is
due with its definition, insert the attempts, write the states, commit; write the ends, commit. The bare
loop decides nothing and builds no objects; it is what the driver costs.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.fire.child import OnProgress
from benchmarks.fire.effort import Effort
from foliot.clock import SystemClock
from foliot.engine.plan_definition import plan_declared
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import Changes
from foliot.schedules import Once
from foliot.stores.sqlite import SqliteStore

GOAL = 0.5
BATCH = 1_000
_ROUNDS = 5
_DUE = datetime(2026, 3, 2, 9, tzinfo=UTC)
_NOW = _DUE + timedelta(milliseconds=20)
_PAGE = 10_000
_LEASE = timedelta(hours=1)

_READ = """
    SELECT s.*, j.key, j.frame, j.data, j.policy_no FROM states AS s JOIN jobs AS j ON j.job_no = s.job_no
    WHERE s.lane_no = 1 AND s.wake_at <= ? AND s.damage IS NULL ORDER BY s.wake_at, s.job_no LIMIT ?
"""
_START = """
    INSERT INTO attempts (
        scheduled_for, job_no, request, number, ordinal, claim_no, trigger, state, node_no, token, claimed_at,
        reason, retries, losses
    ) VALUES (?, ?, '', 1, 0, 1, 0, 1, 1, 2, ?, 'its occurrence has come', 0, 0)
"""
_MOVE = """
    UPDATE states SET token = 2, wake_at = NULL, next_at = NULL, served_until = ?, fired_count = 1,
        last_attempt_at = ?, last_run = ?, newest_at = ? WHERE job_no = ?
"""
_END = """
    UPDATE attempts SET state = 3, started_at = ?, finished_at = ?, outcome = 1
    WHERE scheduled_for = ? AND job_no = ? AND request = '' AND number = 1
"""


@dataclass(frozen=True, slots=True)
class StoreSpeed:
    """Runs per second, through the store and bare: the median of the rounds."""

    runs: int
    store: float
    bare: float

    @property
    def ratio(self) -> float:
        """How much of the bare speed is left."""
        return self.store / self.bare

    @property
    def meets_goal(self) -> bool:
        return self.ratio >= GOAL


def measure_store(effort: Effort, on_progress: OnProgress) -> StoreSpeed:
    """Both in turns, on fresh copies."""
    seen: dict[str, list[float]] = {"store": [], "bare": []}
    works: dict[str, Callable[[Path, int], float]] = {
        "store": lambda path, runs: asyncio.run(_through_the_store(path, runs)),
        "bare": _bare,
    }
    with TemporaryDirectory(prefix="foliot-bench-") as folder:
        master, copy = Path(folder) / "master.db", Path(folder) / "copy.db"
        asyncio.run(_prepare(master, effort.runs))
        for turn in range(_ROUNDS):
            for name in sorted(works, reverse=bool(turn % 2)):
                for suffix in ("-wal", "-shm"):
                    copy.with_name(copy.name + suffix).unlink(missing_ok=True)
                shutil.copy(master, copy)
                seen[name].append(effort.runs / works[name](copy, effort.runs))
            on_progress((turn + 1) / _ROUNDS)
    return StoreSpeed(effort.runs, median(seen["store"]), median(seen["bare"]))


async def _prepare(path: Path, runs: int) -> None:
    declared_at = _DUE - timedelta(hours=1)
    rule = Once(_DUE)
    jobs = [
        Job(
            source="bench",
            name=f"user-{number}",
            schedule=rule,
            action=Action(kind="bench", data={"user": number}),
        )
        for number in range(runs)
    ]
    async with SqliteStore(path, SystemClock()) as store:
        base = None
        for start in range(0, runs, _PAGE):
            revision = f"r{start}"
            await store.reconcile(
                "bench",
                base,
                revision,
                Changes(declared=tuple(jobs[start : start + _PAGE])),
                declared=lambda job, record: plan_declared(job, record, declared_at),
                removed=lambda _: plan_declared(jobs[0], None, declared_at),
            )
            base = revision


async def _through_the_store(path: Path, runs: int) -> float:
    ids = count()
    async with SqliteStore(path, SystemClock(), lease=_LEASE) as store:
        await store.join(Node("node"))
        begin, done = perf_counter(), 0
        while done < runs:
            claimed = await store.claim("node", _NOW, {"default": BATCH}, plan_due, str(next(ids)))
            finished = await store.finish("node", [_end(a) for _, a in claimed.attempts], _NOW, plan_ended)
            if not claimed.attempts or finished.refused:
                raise ValueError(f"{done} of {runs} runs, and no more: {finished.refused[:1]}")
            done += len(claimed.attempts)
        return perf_counter() - begin


def _end(attempt: Attempt) -> Ending:
    return Ending(attempt.job, attempt.run_key, attempt.number, attempt.token, Outcome.SUCCEEDED, _NOW, _NOW)


def _bare(path: Path, runs: int) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -16000")
    due, now = (int(at.timestamp()) * 1_000_000 for at in (_DUE, _NOW))
    begin, done = perf_counter(), 0
    while done < runs:
        connection.execute("BEGIN IMMEDIATE")
        rows = connection.execute(_READ, (now, BATCH)).fetchall()
        keys = [(f"{row[-4]}@2026-03-02T09:00:00Z", row[0]) for row in rows]
        connection.executemany(_START, [(due, number, now) for _, number in keys])
        connection.executemany(_MOVE, [(due, now, key, due, number) for key, number in keys])
        connection.execute("COMMIT")
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_END, [(now, now, due, number) for _, number in keys])
        connection.execute("COMMIT")
        if not rows:
            raise ValueError(f"{done} of {runs} runs, and no more")
        done += len(rows)
    took = perf_counter() - begin
    connection.close()
    return took
