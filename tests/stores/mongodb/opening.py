"""How tests open the store on MongoDB; other processes do it the same way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foliot.protocols import Clock, Store
from foliot.stores.mongodb import MongoStore
from real_mongodb import fresh_database


@asynccontextmanager
async def open_mongodb(where: str, clock: Clock) -> AsyncIterator[Store]:
    """Leases go by the test's clock: the server's cannot be moved."""
    async with MongoStore(where, time=clock) as store:
        yield store


def fresh(url: str) -> str:
    """The same server, and a database that no other test has used."""
    return url.replace("/?", f"/{fresh_database()}?")
