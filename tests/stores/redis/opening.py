"""How tests open the store on Redis; other processes do it the same way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from foliot.protocols import Clock, Store
from foliot.stores.redis import RedisStore


@asynccontextmanager
async def open_redis(where: str, clock: Clock) -> AsyncIterator[Store]:
    """Leases go by the test's clock: the server's cannot be moved."""
    async with RedisStore(where, time=clock) as store:
        yield store


def fresh(url: str) -> str:
    """The same server, and a namespace that nobody has used."""
    return f"{url}?namespace=t.{uuid4().hex}"
