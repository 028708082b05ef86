"""Short words for tests of the store on MongoDB: open it, declare jobs, start them, look inside."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from pymongo.collection import Collection

from foliot.errors import StoreUnavailableError
from foliot.protocols import Changes
from foliot.stores.mongodb import MongoStore
from foliot.stores.mongodb.address import read_address
from foliot.stores.mongodb.connection import connect
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched

ROOM = {"default": 100}


class Crash(BaseException):
    """What a failpoint raises: from there on the call does nothing more, as if its process had died."""


class Fate:
    """Ends the calls of a verb at a step, once it is told to."""

    def __init__(self) -> None:
        self.step = ""
        self.passes = 0  # times at which it is let pass

    def __call__(self, step: str) -> None:
        if step == self.step:
            self.passes -= 1
            if self.passes < 0:
                self.step = ""
                raise Crash


def play(url: str, act: Callable[[MongoStore, ManualClock], Awaitable[None]], **facts: Any) -> None:
    async def opened() -> None:
        clock = ManualClock()
        async with asyncio.timeout(120), MongoStore(url, time=clock, **facts) as store:
            await act(store, clock)

    asyncio.run(opened())


@contextmanager
def inside(url: str, name: str = "jobs") -> Iterator[Collection[dict[str, Any]]]:
    """A collection of a store, past the store."""
    address = read_address(url)
    with connect(address, timedelta(seconds=30)) as client:
        yield client[address.database][name]


async def declare(
    store: MongoStore, clock: ManualClock, count: int = 5, revision: str = "r1", **facts: Any
) -> None:
    base = await store.revision(SOURCE)
    declared = declare_at(clock.now(), clock.now())
    changes = Changes(some_jobs(count, **facts))
    await store.reconcile(SOURCE, base, revision, changes, declared=declared, removed=untouched)


async def start(
    store: MongoStore, clock: ManualClock, claim_id: str = "c", decide: Any = start_due, **facts: Any
) -> list[Any]:
    return list((await store.claim("a", clock.now(), ROOM, decide, claim_id, **facts)).runs)


async def again(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Ask until the server answers."""
    async with asyncio.timeout(90):
        while True:
            try:
                return await ask()
            except StoreUnavailableError:
                await asyncio.to_thread(lambda: None)
