"""Short words for tests of the store on Redis: open it, declare jobs, let a node start them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from foliot.errors import StoreUnavailableError
from foliot.protocols import Changes
from foliot.stores.redis import RedisStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched
from foliot.testing.servers import RedisServer

ROOM = {"default": 100}


def play(url: str, act: Callable[[RedisStore, ManualClock], Awaitable[None]], **facts: Any) -> None:
    async def opened() -> None:
        clock = ManualClock()
        async with asyncio.timeout(120), RedisStore(url, time=clock, **facts) as store:
            await act(store, clock)

    asyncio.run(opened())


async def declare(store: RedisStore, clock: ManualClock, count: int = 5, revision: str = "r1") -> None:
    base = await store.revision(SOURCE)
    declared = declare_at(clock.now(), clock.now())
    changes = Changes(some_jobs(count))
    await store.reconcile(SOURCE, base, revision, changes, declared=declared, removed=untouched)


async def start(
    store: RedisStore, clock: ManualClock, claim_id: str = "c", decide: Any = start_due
) -> list[Any]:
    return list((await store.claim("a", clock.now(), ROOM, decide, claim_id)).runs)


async def again(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Ask until the server answers."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await ask()
            except StoreUnavailableError:
                await asyncio.to_thread(lambda: None)


def server_time(server: RedisServer) -> int:
    """Microseconds by the server's clock."""
    seconds, micros = server.ask("TIME").split()[2::2]
    return int(seconds) * 1_000_000 + int(micros)
