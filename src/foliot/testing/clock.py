"""A clock that stands still until it is moved."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count

_START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """Time for tests: it passes only by `advance`, which wakes the waiting tasks in order."""

    def __init__(self, now: datetime = _START) -> None:
        self._start = self._now = now
        self._order = count()
        self._waiting: list[tuple[datetime, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        """The present instant."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return (self._now - self._start).total_seconds()

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        """Wait until the clock has been moved that far, or until the event is set."""
        if duration <= timedelta(0) or (until is not None and until.is_set()):
            await asyncio.sleep(0)  # noqa: TID251 - a turn for the others, no time
            return
        future = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (self._now + duration, next(self._order), future))
        if until is None:
            await future
            return
        waiter = asyncio.ensure_future(until.wait())
        try:
            await asyncio.wait((future, waiter), return_when=asyncio.FIRST_COMPLETED)
        finally:
            future.cancel()
            waiter.cancel()

    async def advance(self, duration: timedelta) -> None:
        """Let time pass, and stop at each time that a task waits for, until all had their turns."""
        target = self._now + duration
        await self.settle()
        while self._waiting and self._waiting[0][0] <= target:
            self._now = max(self._now, self._waiting[0][0])
            _, _, future = heappop(self._waiting)
            if not future.done():
                future.set_result(None)
                await self.settle()
        self._now = target
        await self.settle()

    def set_by(self, duration: timedelta) -> None:
        """Set the clock ahead or back, as a person or a time server does: no time passes by it."""
        self._now += duration
        self._start += duration
        self._waiting = [(at + duration, order, future) for at, order, future in self._waiting]

    async def settle(self, turns: int = 50) -> None:
        """Let all tasks that are ready go on."""
        for _ in range(turns):
            await asyncio.sleep(0)  # noqa: TID251 - turns, no time
