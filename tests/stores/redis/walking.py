"""`python -m stores.redis.walking URL SCRIPT NUMBER`: walk, and die with kill -9 at a script of the walk."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from foliot.stores.redis import RedisStore


class Trap:
    """Ends the process at the given call of a script."""

    def __init__(self, point: str, number: int) -> None:
        self._point = point
        self._left = number

    def __call__(self, point: str) -> None:
        self._left -= point == self._point
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def walk(url: str, point: str, number: int) -> None:
    async with RedisStore(url, failpoint=Trap(point, number)) as store:
        await store.migrate()


if __name__ == "__main__":
    asyncio.run(walk(sys.argv[1], sys.argv[2], int(sys.argv[3])))
