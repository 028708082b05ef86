"""What a server promises by its settings is read and told; one that cannot keep jobs is refused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot.errors import InvalidStoreError, StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import RunQuery
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.stores.redis.durability import Server, refuse, tell
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import end, lose
from foliot.testing.servers import RedisServer, redis_server
from stores.redis.playing import again, declare, play, start


def a_server(**facts: Any) -> Server:
    return Server("redis", (7, 0, 15), "master", "always", "noeviction")._replace(**facts)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"version": (6, 2)}, "too old"),
        ({"name": "valkey", "version": (7, 0)}, "too old"),
        ({"role": "slave"}, "takes no writes"),
        ({"eviction": "allkeys-lru"}, "throws away any key"),
    ],
)
def test_a_server_that_cannot_keep_jobs_is_refused(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(StoreError, match=words) as refused:
        refuse(a_server(**facts), read_address("redis://h"))
    assert refused.value.hint


def test_eviction_is_let_through_by_those_who_ask_for_it() -> None:
    refuse(a_server(eviction="allkeys-lru"), read_address("redis://h?unsafe=eviction"))
    refuse(a_server(eviction="volatile-lru"), read_address("redis://h"))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, []),
        ({"fsync": "everysec"}, ["store_loses_seconds"]),
        ({"fsync": "off"}, ["store_not_durable"]),
        ({"fsync": "no"}, ["store_not_durable"]),
        ({"fsync": "unknown"}, ["store_durability_unknown"]),
        ({"eviction": "volatile-ttl"}, ["store_evicts"]),
    ],
)
def test_what_a_crash_would_cost_is_told(
    facts: dict[str, Any], words: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "foliot"):
        tell(a_server(**facts), read_address("redis://h"))
    assert [record.getMessage().partition(" ")[0] for record in caplog.records] == words


def test_settings_are_read_from_the_server(server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    async def nothing(*_: object) -> None:
        pass

    with caplog.at_level(logging.INFO, "foliot"):
        play(server.url, nothing)
        assert caplog.records == []
        server.ask("CONFIG", "SET", "appendfsync", "everysec")
        play(server.url, nothing)
    assert [record.getMessage().partition(" ")[0] for record in caplog.records] == ["store_loses_seconds"]
    server.ask("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lfu")
    with pytest.raises(StoreError, match="allkeys-lfu"):
        play(server.url, nothing)


def test_a_store_of_a_newer_program_is_refused(url: str, shared: RedisServer) -> None:
    async def nothing(*_: object) -> None:
        pass

    shared.ask("HSET", f"{read_address(url).prefix}:meta", "schema", "2")
    with pytest.raises(StoreError, match="schema 2"):
        play(url, nothing)


def test_the_rights_that_the_documentation_names_are_enough(server: RedisServer) -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/redis.md").read_text(encoding="utf-8")
    block = next(part for part in page.split("```text\n") if part.startswith("ACL SETUSER"))
    assert server.ask(*block.partition("```")[0].split()).startswith(b"+OK")

    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        heard = asyncio.ensure_future(store.changed())
        await declare(store, clock, 600)
        runs = await start(store, clock)
        endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
        assert (await store.finish("a", endings, clock.now(), end)).refused == ()
        await store.recover(10, clock.now(), lose)
        await store.prune(clock.now(), 100)
        await store.overview()
        await store.runs(RunQuery())
        await store.leave("a")
        await heard

    address = f"127.0.0.1:{server.port}/0"
    play(f"redis://shop:secret@{address}", act)
    with pytest.raises(StoreUnavailableError, match=r"permissions|denied"):
        play(f"redis://shop:secret@{address}?namespace=other", act)


# -- writes that wait for the disk, or for replicas ------------------------------------------------

_TOO_FEW = "0 of 1 have the last write|did not answer within"


@pytest.fixture
def valkey(url: str) -> Iterator[RedisServer]:
    """A Valkey of one's own, which knows WAITAOF; its file is written once a second."""
    assert url
    with redis_server("valkey", fsync="everysec") as server:
        yield server


async def some_work(store: RedisStore, clock: ManualClock) -> None:
    await store.join(Node("a"))
    await declare(store, clock)
    assert len(await start(store, clock)) == 5


def test_a_write_that_waits_for_the_file_outlives_a_crash(
    valkey: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await some_work(store, clock)
        valkey.stop(immediate=True)
        valkey.start()
        assert (await again(lambda: store.renew("a"))).open_count == 5
        assert (await store.health()).regressions == 0

    with caplog.at_level(logging.INFO, "foliot"):
        play(f"{valkey.url}?durable=aof", act)
    assert not [record for record in caplog.records if "store_loses" in record.getMessage()]


def test_a_server_that_cannot_confirm_writes_is_refused(server: RedisServer) -> None:
    with pytest.raises(StoreError, match="does not know"):
        play(f"{server.url}?durable=aof", some_work)  # it is a Redis 7.0
    with redis_server("valkey", fsync="off") as valkey, pytest.raises(StoreError, match="append-only file"):
        play(f"{valkey.url}?durable=aof", some_work)


def test_what_too_few_replicas_have_does_not_count_and_is_answered_when_they_have(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        with pytest.raises(StoreUnavailableError, match=_TOO_FEW):
            await declare(store, clock)
        with pytest.raises(StoreUnavailableError, match=_TOO_FEW):
            await declare(store, clock)  # it is there, and may be lost
        with server.replica() as replica:
            await declare(store, clock)
            replica.stop(immediate=True)
            with pytest.raises(StoreUnavailableError, match=_TOO_FEW):
                await start(store, clock, "the same")
            with pytest.raises(StoreUnavailableError, match=_TOO_FEW):
                await start(store, clock, "the same")  # it was started, and nobody else has it yet
            replica.start()
            replica.follow(server)
            assert len(await start(store, clock, "the same")) == 5

    with caplog.at_level(logging.INFO, "foliot"):
        play(f"{server.url}?durable=replicas:1", act, lease=timedelta(seconds=4))
    (line,) = [record.getMessage() for record in caplog.records if "unguarded" in record.getMessage()]
    assert "min-replicas-to-write 1" in line


@pytest.mark.parametrize("value", ["", "disk", "replicas", "replicas:0", "replicas:x", "aof,replicas:1"])
def test_a_durability_that_cannot_be_is_refused(value: str) -> None:
    with pytest.raises(InvalidStoreError, match="durable="):
        read_address(f"redis://h?durable={value}")
