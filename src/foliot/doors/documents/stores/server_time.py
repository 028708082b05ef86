"""The time of a server, without asking it each time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from foliot.protocols import Clock

_LONGEST = 30.0  # seconds for which an answer is good


class ServerTime:
    """Asks for the server's time each half minute, and counts on from the answer meanwhile."""

    def __init__(self, ask: Callable[[], Awaitable[datetime]], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._answer: tuple[datetime, float] | None = None

    async def now(self) -> datetime:
        """The server's time; never ahead of it, by more than its clock was set meanwhile."""
        if self._answer is None or self._clock.monotonic() - self._answer[1] > _LONGEST:
            told = await self._ask()
            self._answer = told, self._clock.monotonic()
        told, at = self._answer
        return told + timedelta(seconds=self._clock.monotonic() - at)
