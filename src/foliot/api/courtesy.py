"""The API lets the engine of its process go first.

Both need Python's lock, which one thread has at a time. A start takes a few milliseconds, and twice as long
while a request is answered. So a request that comes while jobs start, or shortly before, waits for a moment:

    request ──▶ jobs start within 5 ms? ──▶ wait 1 ms, and look again ──▶ after 15 ms: answer it anyway

A client hardly notices 15 ms. Clients that ask without a pause delay jobs less, and a large herd of jobs
delays each request by 15 ms at most.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from foliot.protocols import Clock

_SOON = timedelta(milliseconds=5)  # longer than most requests take
_LOOK = timedelta(milliseconds=1)
_MOST_LOOKS = 15


class Courtesy:
    """Lets the engine go first. `is_starting`: whether jobs start now, or will within so long."""

    def __init__(self, is_starting: Callable[[timedelta], bool], clock: Clock) -> None:
        self._is_starting, self._clock = is_starting, clock

    async def give_way(self) -> None:
        """Wait while the engine starts jobs, but not for long."""
        for _ in range(_MOST_LOOKS):
            if not self._is_starting(_SOON):
                return
            await self._clock.wait(_LOOK)
