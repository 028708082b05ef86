"""PostgreSQL as operators have it: rights, settings, encodings, and errors that say what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from foliot.clock import SystemClock
from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.decision import Decision
from foliot.model.state import Node, Record
from foliot.protocols import Changes, JobQuery, RunQuery
from foliot.stores.postgres import PostgresStore, connection
from foliot.stores.postgres.address import read_address
from foliot.testing.contract.sample import (
    SOURCE,
    a_job,
    count_one,
    declare_at,
    end,
    ending_of,
    some_jobs,
    start_due,
    untouched,
)
from foliot.testing.servers import PostgresServer, postgres_server
from stores.postgres.opening import fresh

CLOCK = SystemClock()


@pytest.fixture(scope="module")
def server(server_url: str) -> Iterator[PostgresServer]:
    """A server of this module's own, with roles and databases that only it needs."""
    del server_url  # who has none, skips
    with postgres_server() as server:
        yield server


def as_owner(server: PostgresServer, *statements: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as session:
        for sql in statements:
            session.execute(sql.encode())


def database(server: PostgresServer, name: str) -> str:
    return f"{server.url.rpartition('/')[0]}/{name}"


def as_role(server: PostgresServer, name: str, password: str) -> str:
    return f"postgresql://{name}:{password}@{server.url.partition('@')[2]}"


async def work(url: str, nodes: int = 1, jobs: int = 150) -> None:
    """Declare, claim and finish, on some nodes at once; everything once."""
    stores = [PostgresStore(url) for _ in range(nodes)]
    for store in stores:
        await store.open()

    async def take(number: int) -> int:
        store, node, count = stores[number], f"n{number}", 0
        await store.join(Node(node))
        for turn in range(100):
            now = CLOCK.now()
            claimed = await store.claim(node, now, {"default": 7}, start_due, f"{node}-{turn}")
            endings = [ending_of(attempt, now) for _, attempt in claimed.runs]
            assert (await store.finish(node, endings, now, end)).refused == ()
            count += len(endings)
            if not endings:
                return count
        raise AssertionError("it never ends")

    now, changes = CLOCK.now(), Changes(some_jobs(jobs))
    await stores[0].reconcile(SOURCE, None, "r1", changes, declared=declare_at(now, now), removed=untouched)
    assert sum(await asyncio.gather(*map(take, range(nodes)))) == jobs
    assert len(await stores[0].runs(RunQuery(outcome=Outcome.SUCCEEDED, limit=1000))) == jobs
    for store in stores:
        await store.close()


# -- settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"default_transaction_isolation": "serializable"},
        {"default_transaction_isolation": "repeatable read"},
        {"search_path": "nowhere", "timezone": "Asia/Kathmandu", "datestyle": "German, DMY"},
        {"array_nulls": "off"},
        {"bytea_output": "escape", "standard_conforming_strings": "off", "enable_indexscan": "off"},
    ],
    ids=lambda settings: next(iter(settings.values())),
)
def test_settings_of_a_role_do_not_matter(server: PostgresServer, settings: dict[str, str]) -> None:
    asyncio.run(work(fresh(with_settings(server, settings)), nodes=4))


def with_settings(server: PostgresServer, settings: dict[str, str]) -> str:
    """The server, for a role that has settings of its own."""
    role = f"role_{uuid4().hex}"
    as_owner(
        server,
        f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'x'",
        *(f"ALTER ROLE {role} SET {name} = '{value}'" for name, value in settings.items()),
    )
    return as_role(server, role, "x")


@pytest.mark.parametrize(
    "limit", ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
)
def test_time_limits_of_a_role_do_not_cut_short_what_takes_its_time(
    server: PostgresServer, limit: str
) -> None:
    a_while = timedelta(seconds=1.5)
    url = fresh(with_settings(server, {limit: "1s"}))

    def decide_slowly(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
        CLOCK.sleep(a_while.total_seconds())
        return start_due(record, now, node, most)

    async def act() -> None:
        async with PostgresStore(url) as store, PostgresStore(url) as other:
            await store.join(Node("a"))
            now = CLOCK.now()
            await store.reconcile(
                SOURCE, None, "r1", Changes(some_jobs(1)), declared=declare_at(now, now), removed=untouched
            )
            claim = asyncio.ensure_future(store.claim("a", now, {"default": 9}, decide_slowly, "c"))
            await CLOCK.wait(a_while / 5)  # it has the job's row now, and the other waits for it
            await other.update(f"{SOURCE}/job-0000", count_one)
            assert len((await claim).runs) == 1

    asyncio.run(act())


def test_a_session_that_the_server_ends_when_it_is_idle_is_made_anew(server: PostgresServer) -> None:
    async def act() -> None:
        async with PostgresStore(fresh(with_settings(server, {"idle_session_timeout": "500ms"}))) as store:
            await store.join(Node("a"))
            for _ in range(2):
                await CLOCK.wait(timedelta(milliseconds=800))
                await store.renew("a")

    asyncio.run(act())


def test_a_database_without_an_encoding_holds_every_text(server: PostgresServer) -> None:
    name = "plain"
    as_owner(server, f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'")

    async def act() -> None:
        now = CLOCK.now()
        job = a_job("größer → ✓")
        async with PostgresStore(database(server, name)) as store:
            await store.reconcile(
                SOURCE, None, "r1", Changes((job,)), declared=declare_at(now, now), removed=untouched
            )
            assert [view.key for view in await store.jobs(JobQuery())] == [job.key]

    asyncio.run(act())


def test_a_schema_may_be_called_like_a_word_of_the_language(server: PostgresServer) -> None:
    asyncio.run(work(f"{server.url}?schema=user", jobs=3))


def test_temporary_tables_of_a_session_do_not_hide_those_of_the_store(
    server: PostgresServer, monkeypatch: Any
) -> None:
    """A pool hands out sessions that other programs have used."""
    url = fresh(server.url)
    asyncio.run(work(url, jobs=1))
    schema = read_address(url).schema
    clean = PostgresStore._connect

    def used(store: PostgresStore) -> connection.Connection:
        session = clean(store)
        for table in ("jobs", "states", "attempts", "nodes"):
            session.execute(f"CREATE TEMPORARY TABLE {table} (LIKE {schema}.{table} INCLUDING ALL)".encode())
        return session

    async def act() -> None:
        async with PostgresStore(url) as store:
            assert [view.key for view in await store.jobs(JobQuery())] == [f"{SOURCE}/job-0000"]
            assert len(await store.runs(RunQuery())) == 1

    monkeypatch.setattr(PostgresStore, "_connect", used)
    asyncio.run(act())


# -- rights --------------------------------------------------------------------------------------------


def test_nodes_need_no_more_than_the_rights_that_the_documentation_names(server: PostgresServer) -> None:
    owned = fresh(server.url)
    asyncio.run(work(owned, jobs=3))
    schema = read_address(owned).schema
    as_owner(
        server,
        "CREATE ROLE worker LOGIN PASSWORD 'x'",
        f"GRANT USAGE ON SCHEMA {schema} TO worker",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO worker",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO worker",
    )

    async def act() -> None:
        async with PostgresStore(f"{as_role(server, 'worker', 'x')}?schema={schema}") as store:
            now = CLOCK.now()
            await store.join(Node("w"))
            await store.reconcile(
                SOURCE, "r1", "r2", Changes(some_jobs(200)), declared=declare_at(now, now), removed=untouched
            )
            claimed = await store.claim("w", now, {"default": 500}, start_due, "c")
            endings = [ending_of(attempt, now) for _, attempt in claimed.runs]
            assert len(endings) >= 197
            assert (await store.finish("w", endings, now, end)).refused == ()
            await store.prune(now, 1000)

    asyncio.run(act())


# -- errors that say what is wrong ---------------------------------------------------------------------


def refusal_of(url: str) -> StoreError:
    with pytest.raises(StoreError) as caught:
        asyncio.run(PostgresStore(url).open())
    password = url.partition("@")[0].rpartition(":")[2]
    assert password not in f"{caught.value} {caught.value.details} {caught.value.hint}"
    return caught.value


def test_a_wrong_password_and_a_missing_database_are_said(server: PostgresServer) -> None:
    wrong = refusal_of(as_role(server, "foliot", "not-the-password"))
    assert 'password authentication failed for user "foliot"' in str(wrong)
    missing = refusal_of(database(server, "nowhere"))
    assert 'database "nowhere" does not exist' in str(missing)
    assert isinstance(wrong, StoreUnavailableError), "somebody may yet mend it: nodes go on asking"


def test_missing_rights_are_said_with_what_is_needed(server: PostgresServer) -> None:
    owned = fresh(server.url)
    asyncio.run(work(owned, jobs=1))
    as_owner(server, "CREATE ROLE poor LOGIN PASSWORD 'for-the-poor'")
    poor = as_role(server, "poor", "for-the-poor")
    cannot_make = refusal_of(fresh(poor))
    assert "permission denied for database postgres" in str(cannot_make)
    assert "CREATE on the database" in (cannot_make.hint or "")
    cannot_use = refusal_of(f"{poor}?schema={read_address(owned).schema}")
    assert "permission denied for schema" in str(cannot_use)
    assert "USAGE on the schema" in (cannot_use.hint or "")


def test_a_server_that_is_too_old_is_refused(server: PostgresServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(connection, "OLDEST", 99)
    old = refusal_of(server.url)
    assert "which is too old" in str(old)
    assert old.hint == "PostgreSQL 99 or newer"
    assert not isinstance(old, StoreUnavailableError), "asking again does not help"


def test_a_database_that_cannot_hold_every_text_is_refused(server: PostgresServer) -> None:
    as_owner(server, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    refused = refusal_of(database(server, "latin"))
    assert "the database latin has the encoding LATIN1" in str(refused)
    assert "UTF8" in (refused.hint or "")
    assert not isinstance(refused, StoreUnavailableError), "asking again does not help"


def test_half_a_character_is_refused_and_nothing_else_suffers(server: PostgresServer) -> None:
    async def act() -> None:
        async with PostgresStore(fresh(server.url)) as store:
            with pytest.raises(StoreError, match=r"join: a text holds '\\udc80', which is no character"):
                await store.join(Node("a\udc80"))
            await store.join(Node("a"))

    asyncio.run(act())


def test_a_database_for_reading_only_is_said_to_be_one(server: PostgresServer) -> None:
    as_owner(server, "CREATE DATABASE fixed", "ALTER DATABASE fixed SET default_transaction_read_only = on")
    refused = refusal_of(database(server, "fixed"))
    assert "read-only transaction" in str(refused)
    assert "target_session_attrs=read-write" in (refused.hint or "")
    other = refusal_of(f"{database(server, 'fixed')}?target_session_attrs=read-write")
    assert "read-only" in str(other)
