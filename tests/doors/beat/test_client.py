"""Which server a client of the program's means. Nothing of the client but that is used."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import redis
import redis.asyncio

from doors.beat.scene import Place, Recorder, eventually, running, yearly
from foliot.doors.beat import BeatError
from foliot.doors.beat.client import address_of, namespace_of, url_of
from foliot.errors import InvalidStoreError

URLS = [
    "redis://localhost:6379/0",
    "redis://user:p%40ss%2Fw@redis.example.com:7000/3",
    "redis://:secret@[::1]:6379/0",
    "rediss://user:secret@redis.example.com:6380/1?ssl_ca_certs=%2Fetc%2Fca.pem",
    "unix://user:secret@/run/redis.sock?db=2",
]


@pytest.mark.parametrize("make", [redis.Redis.from_url, redis.asyncio.Redis.from_url], ids=["sync", "async"])
@pytest.mark.parametrize("url", URLS)
def test_a_client_means_the_server_of_its_url(url: str, make: Any) -> None:
    expected, found = address_of(url), address_of(make(url))

    assert found.server.pop("db", 0) == expected.server.pop("db", 0)
    assert found.server == expected.server


@pytest.mark.parametrize("url", URLS)
def test_the_store_is_in_the_namespace_of_the_prefix(url: str) -> None:
    assert address_of(url_of(url, "bananas")).namespace == "bananas"
    assert address_of(url_of(redis.Redis.from_url(url), "bananas")).namespace == "bananas"


def test_a_prefix_may_be_in_braces_for_a_cluster() -> None:
    assert namespace_of("{bananas}") == namespace_of("bananas") == "bananas"
    for wrong in ("{bananas", "a{b}", "a b", "", None, "x" * 65):
        with pytest.raises(BeatError, match="prefix"):
            namespace_of(wrong)


class Provided:
    """A client that has no password of its own."""

    connection_pool = type("Pool", (), {"connection_kwargs": {"host": "h", "credential_provider": object()}})


@pytest.mark.parametrize(
    ("client", "told"),
    [
        (Provided(), "from a provider"),
        (object(), "is no Redis client"),
        (None, "is no Redis client"),
        ("redis://h/0?namespace=x", "names a namespace"),
    ],
)
def test_what_is_no_address_is_refused(client: Any, told: str) -> None:
    with pytest.raises(BeatError, match=told):
        url_of(client, "bananas")


def test_a_url_that_cannot_be_read_is_refused_without_its_password() -> None:
    with pytest.raises(InvalidStoreError) as refusal:
        address_of("redis://u:pa#ss@host/0")

    assert "pa#ss" not in str(refusal.value)


@pytest.mark.parametrize("make", [redis.Redis.from_url, redis.asyncio.Redis.from_url], ids=["sync", "async"])
def test_a_scheduler_takes_a_client_and_leaves_its_connections_alone(
    place: Place, queue: Recorder, make: Any
) -> None:
    client = make(place.url)

    async def act() -> None:
        async with running(place.scheduler(queue, yearly("a"), client=client)):
            await eventually(lambda: queue.jobs)

    asyncio.run(act())
    assert not client.connection_pool._available_connections


def test_a_prefix_in_braces_keeps_all_keys_in_one_slot(place: Place, queue: Recorder) -> None:
    place.prefix = f"{{{place.prefix}}}"

    async def act() -> None:
        async with running(place.scheduler(queue, yearly("a"))):
            await eventually(lambda: place.state("a"))

    asyncio.run(act())
    assert place.state("a")["run_count"] == "1"
