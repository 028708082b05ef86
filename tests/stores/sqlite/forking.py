"""A node whose job forks: the child outlives the node, and must not keep its lock."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from multiprocessing import get_context

from foliot.model.state import Node
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import start_due


async def live(path: str, manner: str) -> None:
    """Join, claim, fork, say the number of the child, and wait for death."""
    clock = ManualClock()
    async with SqliteStore(path, clock) as store:
        await store.join(Node("doomed"))
        await store.claim("doomed", clock.now(), {"default": 100}, start_due, "claim")
        sys.stdout.write(f"{_start_child(manner)}\n")
        sys.stdout.flush()
        signal.pause()


def _start_child(manner: str) -> int | None:
    if manner == "os.fork":
        child = os.fork()
        if not child:
            signal.pause()
        return child
    process = get_context(manner).Process(target=signal.pause)  # type: ignore[attr-defined] # has each of them
    process.start()
    pid: int = process.pid
    return pid


if __name__ == "__main__":
    asyncio.run(live(*sys.argv[1:]))
