"""How tests open the store on SQLite; other processes do it the same way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foliot.protocols import Clock, Store
from foliot.stores.sqlite import SqliteStore


@asynccontextmanager
async def open_sqlite(where: str, clock: Clock) -> AsyncIterator[Store]:
    """Without waiting for the disk: these tests cut no power."""
    async with SqliteStore(where, clock, synchronous="OFF") as store:
        yield store
