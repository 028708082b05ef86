"""What is to be done later, in the order of its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

_Call = Callable[[], None]


def now() -> float:
    """Seconds that only ever grow, also while the host is suspended; there are wardens on Linux only."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # noqa: TID251 - foliot.clock brings asyncio along, and a warden stays small


class Timer:
    """A heap of calls."""

    def __init__(self) -> None:
        self._calls: list[tuple[float, int, _Call]] = []
        self._order = count()

    def after(self, seconds: float, call: _Call) -> None:
        """Have it called that much later."""
        heappush(self._calls, (now() + seconds, next(self._order), call))

    @property
    def pause(self) -> float | None:
        """How many seconds there are until the next call, if there is one."""
        return max(0.0, self._calls[0][0] - now()) if self._calls else None

    def ring(self) -> None:
        """Call all whose time has come."""
        while self._calls and self._calls[0][0] <= now():
            heappop(self._calls)[2]()
