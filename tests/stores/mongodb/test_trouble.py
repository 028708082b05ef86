"""Servers that hang, crash, are emptied or are away: what was answered is kept, nothing runs twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from pymongo.errors import BulkWriteError, WriteConcernError, WTimeoutError

from foliot.errors import NodeBuriedError, StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import RunQuery
from foliot.stores.mongodb import MongoStore
from foliot.stores.mongodb.connection import translated
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import end, lose, start_due
from foliot.testing.servers import MongoServer, shared_mongodb
from foliot.wiring import flaws_of
from stores.mongodb.playing import again, declare, inside, play, start


@pytest.mark.prove
def test_what_was_answered_outlives_a_crash_of_the_server(server: MongoServer) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 300)
        runs = await start(store, clock)
        endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs[:50]]
        await store.finish("a", endings, clock.now(), end)
        server.restart(immediate=True)
        lease = await again(lambda: store.renew("a"))
        assert lease.open_count == 50
        assert len(await again(lambda: store.runs(RunQuery(is_open=False, limit=1000)))) == 50
        assert {run.attempt for run in runs[50:]} == set(await again(lambda: store.held("a")))

    play(server.url, act)


@pytest.mark.prove
def test_a_server_that_hangs_is_given_up_in_time_and_asked_again(server: MongoServer) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        server.pause()
        try:
            with pytest.raises(StoreUnavailableError):
                await start(store, clock, "the same")
        finally:
            server.resume()
        runs = await again(lambda: start(store, clock, "the same"))
        held = await again(lambda: store.held("a"))
        assert {run.attempt for run in runs} <= set(held)
        assert len({attempt.key for attempt in held}) == len(held)

    play(server.url, act, lease=timedelta(seconds=4))


def test_a_store_that_was_emptied_is_made_anew_at_the_next_heartbeat(url: str) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        with inside(url) as jobs:
            jobs.database.client.drop_database(jobs.database.name)
        with pytest.raises(NodeBuriedError):
            await store.renew("a")
        await store.join(Node("b"))
        await declare(store, clock)
        assert len((await store.claim("b", clock.now(), {"default": 9}, start_due, "c")).runs) == 5
        with inside(url) as jobs:
            assert "q_w__id" in jobs.index_information()

    play(url, act)


def test_a_lease_of_another_primarys_clock_lasts_one_lease_longer(url: str) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        lease = timedelta(seconds=30)
        await store.join(Node("a"))
        with inside(url, "nodes") as nodes:
            nodes.update_one({"_id": "a"}, {"$set": {"term": "of another election"}})
        await clock.advance(lease * 1.5)
        assert (await store.recover(10, clock.now(), lose)).buried == (), "it only looks as if it were over"
        await clock.advance(lease)
        assert [one.node.id for one in (await store.recover(10, clock.now(), lose)).buried] == ["a"]

    play(url, act)


@pytest.mark.parametrize(
    "error",
    [
        BulkWriteError({"writeErrors": [], "writeConcernErrors": [{"code": 64, "errmsg": "timed out"}]}),
        WriteConcernError("waiting for replication timed out", 64),
        WTimeoutError("waiting for replication timed out", 64),
        WriteConcernError("of another kind", 100),
    ],
)
def test_a_write_that_no_majority_has_confirmed_is_no_answer(error: Exception) -> None:
    assert isinstance(translated("claim", error), StoreUnavailableError)


def test_no_server_is_told_without_the_password() -> None:
    async def act() -> None:
        async with MongoStore("mongodb://u:hush@127.0.0.1:1/db", lease=timedelta(seconds=4)):
            pytest.fail("nobody is there")

    with pytest.raises(StoreUnavailableError) as refused:
        asyncio.run(act())
    assert "hush" not in f"{refused.value}{refused.value.details}"


@pytest.mark.usefixtures("url")
def test_a_wrong_password_is_told_as_such() -> None:
    async def act() -> None:
        async with MongoStore(f"mongodb://foliot:hush@{shared_mongodb().address}/?authSource=admin"):
            pytest.fail("that is not its password")

    with pytest.raises(StoreUnavailableError) as refused:
        asyncio.run(act())
    assert "password" in str(refused.value.hint)
    assert "hush" not in f"{refused.value}{refused.value.details}"


def test_a_store_of_a_newer_program_is_refused(url: str) -> None:
    async def act(_: MongoStore, __: ManualClock) -> None:
        with inside(url, "meta") as meta:
            meta.update_one({"_id": "schema"}, {"$set": {"step": 99}})

    play(url, act)
    with pytest.raises(StoreError, match="the store has schema 99"):
        play(url, act)


def test_what_another_program_keeps_in_a_job_stays(url: str) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 2)
        with inside(url) as jobs:
            jobs.update_many({}, {"$set": {"of_a_newer_version": {"deep": [1, 2]}}})
        runs = await start(store, clock)
        endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
        await store.finish("a", endings, clock.now(), end)
        await declare(store, clock, 2, "r2", queue="other")
        with inside(url) as jobs:
            found = [one.get("of_a_newer_version") for one in jobs.find()]
        assert found == [{"deep": [1, 2]}] * 2

    play(url, act)


def test_rights_that_are_withdrawn_are_a_trouble_that_passes(url: str) -> None:
    with inside(url) as jobs:
        database, address = jobs.database, shared_mongodb().address
        roles = [{"role": "readWrite", "db": database.name}]
        database.command("createUser", "node", pwd="hush", roles=roles)  # noqa: S106 - of this test

        async def act(store: MongoStore, clock: ManualClock) -> None:
            await store.join(Node("a"))
            await declare(store, clock)
            database.command("revokeRolesFromUser", "node", roles=roles)
            with pytest.raises(StoreUnavailableError) as refused:
                await start(store, clock)
            assert "readWrite" in str(refused.value.hint)
            database.command("grantRolesToUser", "node", roles=roles)
            assert len(await again(lambda: start(store, clock))) == 5

        play(f"mongodb://node:hush@{address}/{database.name}?directConnection=true", act)
        database.command("dropUser", "node")


def test_an_index_that_somebody_dropped_is_told_and_made_again(url: str) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        with inside(url) as jobs:
            jobs.drop_indexes()
        assert any("q_w__id" in flaw for flaw in flaws_of(url))
        assert len(await start(store, clock)) == 5, "it is slower, and as right as before"

    play(url, act)

    async def nothing(_: MongoStore, __: ManualClock) -> None:
        pass

    play(url, nothing)
    assert flaws_of(url) == ()
