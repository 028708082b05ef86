"""What a try to enqueue is made of: the lock, and the state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import redis

from benchmarks.beat.timing import each, each_async
from foliot.doors.beat import CronScheduler, DistributedLock, Registry
from foliot.doors.beat.state import Enqueued, Keys
from foliot.stores.redis.address import read_address
from foliot.stores.redis.link import Link

_SECOND = timedelta(seconds=1)
_NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


class _NoQueue:
    """Nothing is enqueued here."""

    async def enqueue(self, _: object) -> None:
        """Take it."""


async def measure_parts(url: str, times: int) -> dict[str, float]:
    """Microseconds each: ours, and the bare commands by redis-py."""
    client = redis.Redis.from_url(url)
    found = {"lock": await each_async(lambda: _lock(url), times)}
    found["lock_redis_py"] = each(lambda: _lock_of_redis_py(client), times)
    found["lock_bare"] = each(lambda: _bare_lock(client), times)
    scheduler = CronScheduler(Registry(), _NoQueue(), url)
    link, keys = Link(read_address(url), 5 * _SECOND), Keys("bananas", 60 * _SECOND)
    found["write_state"] = await each_async(lambda: _write(link, keys), times)
    found["write_state_bare"] = each(lambda: _bare_write(client), times)
    found["read_state"] = await each_async(lambda: scheduler.get_state("bench"), times)
    found["read_state_bare"] = each(lambda: client.hgetall("bananas:schedules:bench"), times)
    link.close()
    await scheduler.stop()
    client.close()
    return found


async def _lock(url: str) -> None:
    lock = await DistributedLock.acquire(url, "bench:lock")
    assert lock is not None  # noqa: S101 - nobody else wants it
    await lock.release()


def _lock_of_redis_py(client: redis.Redis) -> None:
    lock = client.lock("bench:lock", timeout=60)
    lock.acquire(blocking=False)
    lock.release()


def _bare_lock(client: redis.Redis) -> None:
    client.set("bench:lock", str(uuid4()), nx=True, px=60_000)
    client.delete("bench:lock")


async def _write(link: Link, keys: Keys) -> None:
    await link.ask("state", [keys.write("bench", "token", Enqueued(str(uuid4()), _NOW, _NOW, _NOW))])


def _bare_write(client: redis.Redis) -> None:
    with client.pipeline() as pipe:
        pipe.hset("bananas:schedules:bare", mapping={"last_run": "x", "next_run": "x", "last_success": "x"})
        pipe.hincrby("bananas:schedules:bare", "run_count", 1)
        pipe.execute()
