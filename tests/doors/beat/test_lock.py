"""The lock, on a real server and in real time."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import redis
import redis.asyncio

from doors.beat.scene import Place, eventually
from foliot.doors.beat import DistributedLock, LockError
from foliot.errors import InvalidPolicyError

TTL = timedelta(seconds=60)


async def held(place: Place, ttl: timedelta = TTL) -> DistributedLock:
    lock = await DistributedLock.acquire(place.url, place.lock_key("a"), ttl)
    assert lock is not None
    return lock


@pytest.mark.req("BAN-07", "BAN-26", "BAN-27")
def test_one_has_it_until_it_is_released(place: Place) -> None:
    async def act() -> None:
        lock = await held(place)
        assert (lock.key, lock.ttl) == (place.lock_key("a"), TTL)
        assert str(UUID(lock.token)) == lock.token == place.client.get(lock.key)
        remaining: Any = place.client.pttl(lock.key)
        assert 0 < remaining <= 60_000

        assert await DistributedLock.acquire(place.url, lock.key, TTL) is None
        assert await lock.release()
        assert not await lock.release(), "the second time there is nothing to release"

        again = await held(place)
        assert again.token != lock.token
        assert not await lock.release(), "it is another's now"
        assert place.client.get(lock.key) == again.token
        await again.release()

    asyncio.run(act())


@pytest.mark.req("BAN-07", "BAN-26")
def test_only_the_holder_extends_it(place: Place) -> None:
    async def act() -> None:
        lock = await held(place, timedelta(seconds=5))
        assert await lock.extend(timedelta(seconds=100))
        remaining: Any = place.client.pttl(lock.key)
        assert 5000 < remaining <= 100_000
        assert lock.ttl == timedelta(seconds=100)

        place.client.set(lock.key, "a stranger's", px=7000)
        assert not await lock.extend(timedelta(seconds=100))
        remaining = place.client.pttl(lock.key)
        assert 0 < remaining <= 7000
        assert place.client.get(lock.key) == "a stranger's"

    asyncio.run(act())


@pytest.mark.req("BAN-26", "BAN-27")
def test_it_ends_by_itself(place: Place) -> None:
    async def act() -> None:
        lock = await held(place, timedelta(milliseconds=50))
        await eventually(lambda: not place.client.exists(lock.key))
        assert not await lock.extend(TTL)
        again = await held(place)
        assert not await lock.release()
        await again.release()

    asyncio.run(act())


@pytest.mark.req("BAN-26", "BAN-27")
def test_of_ten_at_once_one_gets_it(place: Place) -> None:
    async def act() -> None:
        asked = (DistributedLock.acquire(place.url, place.lock_key("a")) for _ in range(10))
        locks = await asyncio.gather(*asked)
        assert sum(lock is not None for lock in locks) == 1

    asyncio.run(act())


@pytest.mark.req("BAN-26")
def test_a_client_of_the_program_lends_its_address_and_no_connection(place: Place) -> None:
    async def act() -> None:
        for client in (redis.Redis.from_url(place.url), redis.asyncio.Redis.from_url(place.url)):
            lock = await DistributedLock.acquire(client, place.lock_key("a"))
            assert lock is not None
            assert await lock.release()
            assert not client.connection_pool._available_connections

    asyncio.run(act())


@pytest.mark.req("BAN-21")
def test_a_server_that_does_not_answer_is_an_error_and_not_a_refusal(place: Place) -> None:
    async def act() -> None:
        with pytest.raises(LockError, match=r"^failed to acquire lock: .") as failure:
            await DistributedLock.acquire("redis://:pass-word@127.0.0.1:1/0", "a")
        assert failure.value.__cause__ is not None
        assert "pass-word" not in str(failure.value)
        place.client.rpush(place.lock_key("a"), "a list is in the way")
        assert await DistributedLock.acquire(place.url, place.lock_key("a")) is None

    asyncio.run(act())


@pytest.mark.parametrize("ttl", ["0s", timedelta(seconds=-1), "soon", None])
def test_a_time_that_is_none_is_refused(place: Place, ttl: Any) -> None:
    async def act() -> None:
        with pytest.raises(InvalidPolicyError, match="ttl"):
            await DistributedLock.acquire(place.url, "a", ttl)

    asyncio.run(act())
