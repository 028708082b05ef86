"""A migration to a newer major version waits for what is under way; afterwards every verb is refused."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from foliot.clock import SystemClock
from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.decision import Decision
from foliot.model.state import Node, Record
from foliot.protocols import Changes, JobQuery
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import read_address
from foliot.stores.sqlite import SqliteStore
from foliot.testing.contract.sample import (
    SOURCE,
    count_one,
    declare_at,
    some_jobs,
    start_due,
    untouched,
)
from foliot.wiring import schema_of
from upgrade.test_rolling import MAJOR, store_for

CLOCK = SystemClock()
WAITING = """
    SELECT count(*) FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
    WHERE c.relname = 'foliot_steps' AND c.relnamespace = %s::regnamespace
    AND l.mode = 'AccessExclusiveLock' AND NOT l.granted
"""
MIGRATE = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from program import plant_future
from foliot.clock import SystemClock
from foliot.wiring import open_store
from datetime import timedelta

async def main():
    plant_future(sys.argv[3], int(sys.argv[4]))
    async with open_store(sys.argv[2], SystemClock(), lease=timedelta(seconds=30)):
        pass

asyncio.run(main())
"""


def migrate(kind: str, url: str) -> subprocess.Popen[bytes]:
    """As a newer release would."""
    arguments = [str(Path(__file__).parent), url, kind, str(MAJOR)]
    return subprocess.Popen([sys.executable, "-c", MIGRATE, *arguments])  # noqa: S603 - our own program


async def declare(store: Any) -> None:
    now = CLOCK.now()
    await store.reconcile(
        SOURCE, None, "r1", Changes(some_jobs(3)), declared=declare_at(now, now), removed=untouched
    )


def test_a_claim_under_way_is_waited_for_and_counts(tmp_path: Path) -> None:
    url = store_for("postgres", tmp_path)
    may_end, is_deciding = threading.Event(), threading.Event()

    def decide_at_leisure(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
        is_deciding.set()
        may_end.wait(20)
        return start_due(record, now, node, most)

    async def act() -> None:
        async with PostgresStore(url, lease=timedelta(minutes=2)) as store:
            await store.join(Node("a"))
            await declare(store)
            now = CLOCK.now()
            claim = asyncio.ensure_future(store.claim("a", now, {"default": 9}, decide_at_leisure, "c"))
            await asyncio.to_thread(is_deciding.wait, 20)
            migration = migrate("postgres", url)
            await asyncio.to_thread(wait_until_it_waits, url)
            may_end.set()
            try:
                claimed = await claim
            except StoreUnavailableError:
                pytest.skip("this machine was too busy for a claim of 5 seconds")
            assert claimed.runs, "what it had begun to decide"
            assert await asyncio.to_thread(migration.wait, 30) == 0
            with pytest.raises(StoreError, match=f"schema {MAJOR}"):
                await store.claim("a", now, {"default": 9}, start_due, "c2")

    asyncio.run(act())


def wait_until_it_waits(url: str) -> None:
    """The migration wants the table of steps for itself, and somebody else still has it."""
    server, schema = read_address(url)
    with psycopg.connect(server, autocommit=True) as connection:
        for _ in range(2000):
            if connection.execute(WAITING, (schema,)).fetchone() == (1,):
                return
            CLOCK.sleep(0.01)
    raise AssertionError("the migration did not wait")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_after_it_every_verb_is_refused_and_nothing_is_written(kind: str, tmp_path: Path) -> None:
    url = store_for(kind, tmp_path)

    async def act() -> None:
        store: Any = (
            SqliteStore(Path(url.removeprefix("sqlite:///")), CLOCK)
            if kind == "sqlite"
            else PostgresStore(url)
        )
        async with store:
            await store.join(Node("a"))
            await declare(store)
            assert await asyncio.to_thread(migrate(kind, url).wait, 30) == 0
            now = CLOCK.now()
            for call in (
                store.claim("a", now, {"default": 9}, start_due, "c"),
                store.renew("a"),
                store.join(Node("b")),
                store.update(f"{SOURCE}/job-0000", count_one),
                declare(store),
                store.overview(),
                store.jobs(JobQuery()),
            ):
                with pytest.raises(StoreError, match=f"the store has schema {MAJOR}") as caught:
                    await call
                assert not isinstance(caught.value, StoreUnavailableError), "asking again does not help"

    asyncio.run(act())
    with pytest.raises(StoreError, match=f"schema {MAJOR}"):
        schema_of(url)
