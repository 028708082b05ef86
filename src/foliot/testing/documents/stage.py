"""What the cases share: one opened store, and short words for what they do."""

# ruff: noqa: S101 - part of a test suite: it asserts, and pytest shows what was wrong

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any

from foliot.clock import SystemClock
from foliot.doors.documents.job import Job, JobStore, TimedStore, floor_ms

PATIENCE = 120
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


class Stage:
    """One opened store, and the store's time when the case began."""

    def __init__(self, contract: Contract, where: str, store: JobStore, now: datetime) -> None:
        self.where = where
        self.store: Any = store
        self.now = now
        self._contract = contract

    def open_again(self) -> AbstractAsyncContextManager[JobStore]:
        """Another handle of the same documents."""
        return type(self._contract).open_store(self.where)

    async def add(self, ago: timedelta | None = None, **fields: Any) -> Any:
        """Add a document that has been due for so long, or that has no time; returns its id."""
        sleep_until = None if ago is None else self.now - ago
        return await self._contract.add(self.store, {"sleepUntil": sleep_until, **fields})

    async def find(self, id_: Any) -> Job | None:
        """A document as it is now."""
        return await self._contract.find(self.store, id_)

    async def found(self, id_: Any) -> Job:
        """A document that is there."""
        job = await self.find(id_)
        assert job is not None, f"document {id_!r} is not there"
        return job

    async def lock(self, until: timedelta = HOUR) -> Job | None:
        """Lock the next job until so long after now."""
        job: Job | None = await self.store.lock_next(self.now + until)
        return job

    async def locked(self, until: timedelta = HOUR) -> Job:
        """Lock a job that must be there."""
        job = await self.lock(until)
        assert job is not None, "no job was due"
        return job


def scenario(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Play a case on an event loop of its own, with a store opened in it."""

    def play(self: Contract, where: str) -> None:
        async def act() -> None:
            async with asyncio.timeout(PATIENCE), type(self).open_store(where) as store:
                now = await store.now() if isinstance(store, TimedStore) else SystemClock().now()
                await test(self, Stage(self, where, store, floor_ms(now)))

        asyncio.run(act())

    play.__name__, play.__qualname__, play.__doc__ = test.__name__, test.__qualname__, test.__doc__
    return play


class Contract:
    """What each topic needs of a store: a subclass gives `open_store` and a fixture `where`."""

    @staticmethod
    @abstractmethod
    def open_store(where: str) -> AbstractAsyncContextManager[JobStore]:
        """Open the store whose documents are there."""

    async def add(self, store: Any, document: Mapping[str, Any]) -> Any:
        """Add a document, or replace the one with its `_id`; returns the id. Override it as you need."""
        return await store.put(document)

    async def find(self, store: Any, id_: Any) -> Job | None:
        """A document as it is now. Override it as you need."""
        job: Job | None = await store.get(id_)
        return job
