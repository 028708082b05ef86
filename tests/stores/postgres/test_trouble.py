"""Trouble with the server: calls answer in time, nothing is done by halves, all goes on by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from foliot.clock import SystemClock
from foliot.errors import NodeBuriedError, StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.decision import Decision
from foliot.model.state import Node, Record
from foliot.protocols import Changes, RunQuery
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.session import PostgresSession
from foliot.stores.sql.store import Lane
from foliot.testing.contract.sample import (
    SOURCE,
    change,
    count_one,
    declare_at,
    end,
    ending_of,
    lose,
    some_jobs,
    start_due,
    untouched,
)
from foliot.testing.servers import PostgresServer, postgres_server
from stores.postgres.opening import fresh

CLOCK = SystemClock()
LEASE = timedelta(seconds=2)
IN_TIME = LEASE.total_seconds() / 4 + 0.5  # what a busy machine adds


@pytest.fixture(scope="module")
def server(server_url: str) -> Iterator[PostgresServer]:
    """A server of this module's own, to be mistreated."""
    del server_url  # who has none, skips
    with postgres_server() as server:
        yield server


async def declare(store: PostgresStore, count: int, base: str | None = None, revision: str = "r1") -> None:
    now = CLOCK.now()
    await store.reconcile(
        SOURCE, base, revision, Changes(some_jobs(count)), declared=declare_at(now, now), removed=untouched
    )


async def claim(store: PostgresStore, claim_id: str, room: int = 100) -> list[Any]:
    claimed = await store.claim("a", CLOCK.now(), {"default": room}, start_due, claim_id)
    return [attempt for _, attempt in claimed.runs]


async def seconds_of(call: Coroutine[Any, Any, Any]) -> float:
    """How long a call takes to say that nobody answers."""
    start = CLOCK.monotonic()
    with pytest.raises(StoreUnavailableError):
        await call
    return CLOCK.monotonic() - start


async def until_it_works(store: PostgresStore) -> float:
    """Try as an engine does; how long it takes."""
    start = CLOCK.monotonic()
    while True:
        try:
            await store.renew("a")
        except StoreUnavailableError:
            assert CLOCK.monotonic() - start < 30
        else:
            return CLOCK.monotonic() - start


# -- a server that is away -------------------------------------------------------------------------


def test_a_crash_of_the_server_loses_nothing_that_was_answered(server: PostgresServer) -> None:
    async def act() -> None:
        async with PostgresStore(fresh(server.url)) as store:
            await store.join(Node("a"))
            await declare(store, 50)
            first = await claim(store, "first", 20)
            await asyncio.to_thread(server.restart, immediate=True)
            assert await until_it_works(store) < 5
            again = await claim(store, "first", 20)
            assert [a.key for a in again] == [a.key for a in first], "the same claim, the same answer"
            second = await claim(store, "second")
            assert len(second) == 30
            endings = [ending_of(attempt, CLOCK.now()) for attempt in (*first, *second)]
            assert not (await store.finish("a", endings, CLOCK.now(), end)).refused
            assert len(await store.runs(RunQuery(outcome=Outcome.SUCCEEDED))) == 50

    asyncio.run(act())


def test_a_server_that_is_down_is_said_to_be_away_without_its_password(server: PostgresServer) -> None:
    async def act() -> None:
        url = fresh(server.url)
        async with PostgresStore(url) as store:
            await store.join(Node("a"))
            await asyncio.to_thread(server.stop)
            try:
                with pytest.raises(StoreUnavailableError) as caught:
                    await store.revision(SOURCE)
                with pytest.raises(StoreUnavailableError) as at_open:
                    await PostgresStore(url).open()
            finally:
                await asyncio.to_thread(server.start)
            password = url.partition("@")[0].rpartition(":")[2]
            for error in (caught.value, at_open.value):
                assert password not in f"{error}{error.details}{error.hint}"
            assert await until_it_works(store) < 5

    asyncio.run(act())


def test_a_server_that_hangs_is_given_up_in_time_and_taken_up_again(server: PostgresServer) -> None:
    async def act() -> None:
        async with PostgresStore(fresh(server.url), lease=LEASE) as store:
            await store.join(Node("a"))
            await declare(store, 10)
            server.pause()
            try:
                calls = [
                    store.renew("a"),
                    claim(store, "lost", 5),
                    store.revision(SOURCE),
                    store.overview(),
                    store.update(f"{SOURCE}/job-0000", count_one),
                ]
                took = await asyncio.gather(*(seconds_of(call) for call in calls))
                # A second time: now there is no connection, and none can be made.
                took += await asyncio.gather(seconds_of(store.renew("a")), seconds_of(store.overview()))
            finally:
                server.resume()
            assert max(took) < IN_TIME
            assert await until_it_works(store) < 5
            again = await claim(store, "lost", 5)
            held = {attempt.key for attempt in await store.held("a")}
            assert {attempt.key for attempt in again} == held, "whether it had taken effect or not"
            assert len(held) == 5

    asyncio.run(act())


# -- others in the way -----------------------------------------------------------------------------


def test_a_row_that_somebody_keeps_locked_is_waited_for_in_time_only(url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url, lease=LEASE) as store:
            await store.join(Node("a"))
            await declare(store, 3)
            with other_session(url) as other:
                other.execute("SELECT 1 FROM states ORDER BY job_no LIMIT 1 FOR UPDATE")
                assert await seconds_of(store.update(f"{SOURCE}/job-0000", count_one)) < IN_TIME
                assert len(await claim(store, "rest")) == 2, "the others are claimed all the same"
                await store.renew("a")
            await store.update(f"{SOURCE}/job-0000", count_one)

    asyncio.run(act())


def other_session(url: str) -> psycopg.Connection[Any]:
    server, schema = read_address(url)
    return psycopg.connect(server, options=f"-csearch_path={schema}")


def test_whoever_hangs_inside_a_transaction_is_ended_by_the_server(url: str) -> None:
    """Otherwise its jobs would be out of reach for as long as it hangs, and its node could not be buried."""

    async def act() -> None:
        async with PostgresStore(url, lease=LEASE) as store, PostgresStore(url, lease=LEASE) as other:
            await store.join(Node("a"))
            await declare(store, 3)

            def hang(record: Record, *_: object) -> Decision:
                # As if the process had been stopped in the middle of deciding.
                asyncio.run(CLOCK.wait(LEASE * 0.75))
                return start_due(record, CLOCK.now(), "a")

            with pytest.raises(StoreUnavailableError):
                await store.claim("a", CLOCK.now(), {"default": 1}, hang, "hangs")
            await asyncio.to_thread(wait_until_all_are_free, url)
            await other.join(Node("b"))
            claimed = await other.claim("b", CLOCK.now(), {"default": 9}, start_due, "b's")
            assert len(claimed.runs) == 3

    asyncio.run(act())


def wait_until_all_are_free(url: str) -> None:
    with other_session(url) as other:
        other.execute("SET statement_timeout = 5000")
        other.execute("SELECT 1 FROM states ORDER BY job_no FOR UPDATE")


def test_claims_that_stand_in_each_others_way_take_everything_once(url: str) -> None:
    async def act() -> None:
        stores = [PostgresStore(url) for _ in range(8)]
        for store in stores:
            await store.open()
            await store.join(Node(f"n{id(store)}"))
        await declare(stores[0], 200)

        async def take(store: PostgresStore) -> list[Any]:
            found: list[Any] = []
            for number in range(300):
                claimed = await store.claim(
                    f"n{id(store)}", CLOCK.now(), {"default": 3}, start_due, f"{id(store)}-{number}"
                )
                if not claimed.runs:
                    return found
                found += (attempt.key for _, attempt in claimed.runs)
            raise AssertionError("it never ends")

        taken = [key for keys in await asyncio.gather(*map(take, stores)) for key in keys]
        assert len(taken) == len(set(taken)) == 200
        for store in stores:
            await store.close()

    asyncio.run(act())


# -- time ------------------------------------------------------------------------------------------


def test_a_lease_runs_out_by_the_servers_time(url: str) -> None:
    async def act() -> None:
        short = timedelta(seconds=2)  # a call may take a quarter of it, also on a busy machine
        async with PostgresStore(url, lease=short) as store, PostgresStore(url) as other:
            lease = await store.join(Node("a"))
            assert lease.until - lease.store_now == short
            assert abs(lease.store_now - CLOCK.now()) < timedelta(seconds=5), "one host, one time"
            await other.join(Node("b"))
            await declare(other, 3)
            assert len(await claim(store, "in time", 1)) == 1
            await CLOCK.wait(short * 1.05)
            assert await claim(store, "too late") == []
            assert len((await other.recover(9, CLOCK.now(), lose)).events) == 1
            with pytest.raises(NodeBuriedError):
                await store.renew("a")
            assert (await other.overview()).nodes == ("b",)

    asyncio.run(act())


# -- what stays ------------------------------------------------------------------------------------


def test_nothing_is_left_in_a_session(url: str) -> None:
    """So a pooler may give every transaction to another connection."""

    async def act() -> None:
        async with PostgresStore(url) as store:
            await store.join(Node("a"))
            await declare(store, 300)
            attempts = await claim(store, "some")
            await store.finish("a", [ending_of(a, CLOCK.now()) for a in attempts], CLOCK.now(), end)
            await store.overview()
            with store._connect() as untouched_one:
                wanted = left_in(untouched_one)
            sessions = [worker._session for worker in store._workers.values()]
            used = [session for session in sessions if session is not None]
            assert len(used) == len(Lane) - 2  # no command was given, and a glance is part of the health
            assert all(left_in(session.connection) == wanted for session in used)

    asyncio.run(act())


def left_in(connection: psycopg.Connection[Any]) -> list[Any]:
    """What a session has beside a fresh one: settings, prepared statements, locks, temporary tables."""
    return connection.execute(
        """
        SELECT name, setting FROM pg_settings WHERE source = 'session'
        UNION ALL SELECT 'prepared', name FROM pg_prepared_statements
        UNION ALL SELECT 'lock', locktype FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'
        UNION ALL SELECT 'table', relname FROM pg_class WHERE pg_my_temp_schema() = relnamespace
        """
    ).fetchall()


def test_each_call_may_come_by_another_connection(url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url) as store:
            equip, used = store._equip, []

            def equip_anew() -> PostgresSession:
                used.append(1)
                return equip()

            async def forget_connections() -> None:
                for worker in store._workers.values():
                    worker._equip = equip_anew
                    if worker._session is not None:
                        worker._session.connection.close()

            await forget_connections()
            await store.join(Node("a"))
            await forget_connections()
            await declare(store, 5)
            await forget_connections()
            attempts = await claim(store, "all")
            await forget_connections()
            finished = await store.finish(
                "a", [ending_of(a, CLOCK.now()) for a in attempts], CLOCK.now(), end
            )
            assert (len(attempts), finished.refused) == (5, ())
            assert len(used) >= 4

    asyncio.run(act())


def test_a_closed_store_says_so(url: str) -> None:
    async def act() -> None:
        store = PostgresStore(url)
        await store.open()
        with pytest.raises(StoreError, match="opened once"):
            await store.open()
        await store.close()
        with pytest.raises(StoreError, match="not open"):
            await store.overview()

    asyncio.run(act())


# -- hints -----------------------------------------------------------------------------------------


def test_a_hint_comes_when_a_job_wakes_earlier_and_not_for_claims(url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url) as store, PostgresStore(url) as other:
            await store.join(Node("a"))
            async with asyncio.timeout(30):
                await other.changed()  # it listens now: what came before is not known
                await declare(store, 2)
                await other.changed()
                attempts = await claim(store, "all")
                await store.finish("a", [ending_of(attempts[0], CLOCK.now())], CLOCK.now(), end)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await other.changed()
            async with asyncio.timeout(30):
                await store.update(f"{SOURCE}/job-0000", change(wake_at=CLOCK.now()))
                await other.changed()

    asyncio.run(act())
