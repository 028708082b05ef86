"""How tests open the store on PostgreSQL; other processes do it the same way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from foliot.protocols import Clock, Store
from foliot.stores.postgres import PostgresStore


@asynccontextmanager
async def open_postgres(where: str, clock: Clock) -> AsyncIterator[Store]:
    """Leases go by the test's clock: the server's cannot be moved."""
    async with PostgresStore(where, time=clock) as store:
        yield store


def fresh(url: str) -> str:
    """The same server, and a schema that nobody has used."""
    return f"{url}?schema=t_{uuid4().hex}"
