"""What a server promises by its settings is read and told; one that cannot keep jobs is refused."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from foliot.errors import StoreError
from foliot.stores.redis.address import read_address
from foliot.stores.redis.durability import Server, refuse, tell
from foliot.testing.servers import RedisServer
from stores.redis.playing import play


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
        tell(a_server(**facts))
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
