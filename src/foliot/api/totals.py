"""How many entries a list has: counted when a page does not tell it, and remembered for a while.

To count is to read. A client that pages through a list, or a page that is open somewhere, asks for the same
number again and again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable

from foliot.protocols import Clock

REMEMBERED = 30.0  # seconds
_MOST_REMEMBERED = 100

Count = Callable[[], Awaitable[int | None]]


class Totals:
    """Counts that were made. What is changed here is counted anew; what others change, within 30 seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[Hashable, tuple[float, int | None]] = OrderedDict()
        self._counting = asyncio.Lock()
        self._changes = 0

    async def of(self, what: Hashable, count: Count) -> int | None:
        """How many; None: too many to be counted. One count is made at a time."""
        async with self._counting:
            at, total = self._known.get(what, (None, None))
            if at is not None and self._clock.monotonic() - at < REMEMBERED:
                return total
            at, changes = self._clock.monotonic(), self._changes
            total = await count()
            if changes == self._changes:  # else it may be of before the change
                self._known[what] = at, total
            if len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
            return total

    def forget(self) -> None:
        """Something was changed."""
        self._changes += 1
        self._known.clear()
