"""An event loop whose time is virtual: it jumps to the next timer instead of waiting for it.

One thread, no I/O, timers in order: the same program gives the same history, and a month takes a second.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from foliot.errors import FoliotError

T = TypeVar("T")


class SimulationStuckError(FoliotError):
    """Nothing is ready and nothing is timed: everybody waits for somebody else."""

    def __init__(self) -> None:
        super().__init__("the simulation is stuck: nobody can go on, and no timer is set")


class _NoWaitSelector(selectors.SelectSelector):
    """Lets the loop's time jump over what it would have waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.elapsed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise SimulationStuckError
        self.elapsed += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never waits."""

    def __init__(self) -> None:
        self._virtual = _NoWaitSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.elapsed


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a virtual loop, and clean up."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        leftovers = asyncio.all_tasks(loop)
        for task in leftovers:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*leftovers, return_exceptions=True))
        loop.close()
