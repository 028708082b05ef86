"""What cannot be read of a dead node keeps nobody from burying it, nor from what it held."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from foliot.engine.planner import plan_lost
from foliot.model.state import Node
from foliot.protocols import Changes
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import read_address
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched

CLOCK = ManualClock()


async def recovered_after(store: SqliteStore | PostgresStore, damage: Callable[[], None]) -> int:
    """How many attempts of a damaged dead node are recovered."""
    now = CLOCK.now()
    await store.join(Node("dead"))
    await store.reconcile(
        SOURCE, None, "r1", Changes(some_jobs(3)), declared=declare_at(now, now), removed=untouched
    )
    assert len((await store.claim("dead", now, {"default": 5}, start_due, "c")).runs) == 3
    damage()
    await CLOCK.advance(timedelta(hours=1))
    await store.join(Node("alive"))
    recovered = await store.recover(100, CLOCK.now(), plan_lost)
    assert [view.node.id for view in await store.nodes()] == ["alive"]
    return sum(event.attempt is not None and not event.attempt.is_open for event in recovered.events)


@pytest.mark.parametrize(
    "change", ["queues = 'not JSON'", "kinds = '{'", "lease_until = 'soon'", "lease_until = x'00'"]
)
def test_on_a_file(tmp_path: Path, change: str) -> None:
    def damage() -> None:
        with closing(sqlite3.connect(tmp_path / "jobs.db")) as other, other:
            other.execute(f"UPDATE nodes SET {change}")  # noqa: S608 - our own words

    async def act() -> int:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            return await recovered_after(store, damage)

    assert asyncio.run(act()) == 3


@pytest.mark.parametrize("change", ["queues = 'not JSON'", "kinds = '{'", "lease_until = 0"])
def test_on_a_server(url: str, change: str) -> None:
    def damage() -> None:
        server, schema = read_address(url)
        with psycopg.connect(server, options=f"-csearch_path={schema}") as other:
            other.execute(f"UPDATE nodes SET {change}".encode())  # noqa: S608 - our own words

    async def act() -> int:
        async with PostgresStore(url, time=CLOCK) as store:
            return await recovered_after(store, damage)

    assert asyncio.run(act()) == 3
