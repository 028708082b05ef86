"""`foliot store check | migrate` and a few questions, on PostgreSQL."""

from __future__ import annotations

import asyncio
import json

import psycopg

from cli.calls import call
from foliot.model.state import Node
from foliot.protocols import Changes
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.migration import steps
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, untouched

NEWEST = steps()[-1].number


async def furnish(url: str) -> None:
    now = ManualClock().now()
    async with PostgresStore(url) as store:
        await store.join(Node("a"))
        await store.reconcile(
            SOURCE, None, "r1", Changes(some_jobs(3)), declared=declare_at(now, now), removed=untouched
        )


def test_a_store_is_made_found_sound_and_found_damaged(url: str) -> None:
    assert call("store", "check", "--store", url).code == 6, "nobody has made it"
    made = call("store", "migrate", "--store", url)
    assert (made.code, made.out) == (0, f"ok: the store was created, with schema {NEWEST}\n")
    asyncio.run(furnish(url))
    sound = call("store", "check", "--store", url, "-o", "json")
    assert sound.code == 0, sound
    assert json.loads(sound.out)["jobs"] == 3
    server, schema = read_address(url)
    with psycopg.connect(server) as connection:
        connection.execute("SELECT set_config('search_path', %s, false)", (schema,))
        connection.execute("UPDATE jobs SET frame = '{' WHERE key = %s", (f"{SOURCE}/job-0001",))
    damaged = call("store", "check", "--store", url)
    assert damaged.code == 9
    assert f"{SOURCE}/job-0001 cannot be read" in damaged.out


def test_jobs_are_listed(url: str) -> None:
    asyncio.run(furnish(url))
    shown = call("job", "list", "--store", url)
    assert shown.code == 0, shown
    assert shown.out.count(f"{SOURCE}/job-") == 3


def test_a_server_that_is_not_there_is_unreachable_and_its_password_is_not_shown() -> None:
    result = call("job", "list", "--store", "postgresql://u:secret@127.0.0.1:1/db")
    assert result.code == 6
    assert "secret" not in result.out + result.err
