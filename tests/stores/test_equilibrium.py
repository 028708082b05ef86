"""OWN-15: with a full history a run takes little more work than with an empty one, pruning included.

Work is counted, not timed: steps of SQLite's machine, and calls of Python functions.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fire import equilibrium

from foliot.stores.memory import MemoryStore
from foliot.stores.sqlite import SqliteStore, connection
from foliot.testing.clock import ManualClock

pytestmark = pytest.mark.prove

JOBS = 60
ROUNDS = equilibrium.KEEP  # all are cut once


async def work_of(store: Any, clock: ManualClock, counted: Callable[[], int]) -> tuple[float, float]:
    """How much is counted for a run, with nothing behind it and in equilibrium."""
    field = equilibrium._Field(store, clock, JOBS)
    await field.declare()
    found = []
    for is_full in (False, True):
        if is_full:
            await field.age()
            await field.measure(ROUNDS)
        before = counted()
        await field.measure(ROUNDS)
        found.append((counted() - before) / (JOBS * ROUNDS))
    return found[0], found[1]


@pytest.mark.req("OWN-15")
def test_a_run_takes_little_more_steps_of_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    real = connection.connect

    def count() -> None:
        nonlocal steps
        steps += 1

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made = real(*arguments, **options)
        made.set_progress_handler(count, 10)
        return made

    monkeypatch.setattr("foliot.stores.sqlite.store.connect", connect)

    async def act() -> tuple[float, float]:
        clock = ManualClock(equilibrium._BEGIN)
        async with SqliteStore(tmp_path / "jobs.db", clock, lease=equilibrium.LEASE) as store:
            return await work_of(store, clock, lambda: steps)

    empty, full = asyncio.run(act())
    assert empty > 1
    assert full < 2 * empty, "it was fifty times as much"


@pytest.mark.req("OWN-15")
def test_a_run_takes_few_more_calls_in_memory() -> None:
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    async def act() -> tuple[float, float]:
        clock = ManualClock(equilibrium._BEGIN)
        return await work_of(MemoryStore(clock, lease=equilibrium.LEASE), clock, lambda: calls)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        empty, full = asyncio.run(act())
    finally:
        sys.setprofile(before)
    assert empty > 1
    assert full < equilibrium.GOAL * empty
