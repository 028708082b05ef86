"""What a node costs the server: few connections while little happens, and a heartbeat that reads no runs."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import psycopg
import pytest

from foliot.clock import SystemClock
from foliot.engine.planner import plan_due
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery
from foliot.stores.postgres import PostgresStore, worker
from foliot.stores.postgres.address import read_address
from foliot.stores.sql import node_rows
from foliot.stores.sql.rows import read_those_that_can_be
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched

ROOM = {"default": 500}
A_MOMENT = timedelta(milliseconds=50)


def connections_of(url: str) -> int:
    server, schema = read_address(url)
    with psycopg.connect(server) as connection:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        row = connection.execute(sql, (f"foliot {schema}",)).fetchone()
        return row[0] if row else 0


def test_connections_without_work_are_given_back(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "REST", 0.2)

    async def act() -> None:
        async with PostgresStore(url) as store:
            await store.join(Node("a"))
            await store.claim("a", await store.now(), ROOM, plan_due, "c")
            await store.finish("a", [], await store.now(), lambda *_: pytest.fail("nothing ended"))
            await store.jobs(JobQuery())
            async with asyncio.timeout(30):
                while connections_of(url) > 3:  # of claims, of ends, and of heartbeats
                    await SystemClock().wait(A_MOMENT)
            assert await store.jobs(JobQuery()) == (), "the next question brings one back"

    asyncio.run(act())


def test_a_heartbeat_counts_what_a_node_holds_and_reads_none_of_it(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    def reading(rows, names):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - as the real one
        found = list(rows)
        read.extend(found)
        return read_those_that_can_be(found, names)

    async def act() -> None:
        async with PostgresStore(url) as store:
            now = await store.now()
            await store.join(Node("a"))
            await store.reconcile(
                SOURCE, None, "r1", Changes(some_jobs(300)),
                declared=declare_at(now, now), removed=untouched,
            )  # fmt: skip
            claimed = await store.claim("a", now, ROOM, start_due, "c")
            assert len(claimed.runs) == 300
            monkeypatch.setattr(node_rows, "read_those_that_can_be", reading)
            lease = await store.renew("a")
            assert lease.open_count == 300
            assert read == []

    asyncio.run(act())
