"""A thread of a store's own, for drivers that block: what is asked for is done there, one after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

T = TypeVar("T")


class OwnThread:
    """Does calls in one thread. A call that has begun is done to its end, also if nobody waits any more."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"foliot-documents-{name}")

    async def run(self, work: Callable[[], T]) -> T:
        """Have something done."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """No more calls."""
        self._pool.shutdown(wait=False)


class Closing:
    """`async with`, for a store that holds a connection."""

    async def close(self) -> None:
        """Give up the connection."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
