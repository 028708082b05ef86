"""Keeps the lock of a job while its handler runs: renews it each third of its duration.

`held` is the value of the lock, and `ends_at` the time by the host's growing clock at which it ends. The
store decides whose a job is; local time only makes us stop sooner. If the answer to a renewal was lost, the
store has the old value or the new one: both are tried, so that we always know what we hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from foliot.doors.documents.handlers import Handlers
from foliot.doors.documents.job import MILLISECOND, FencedStore, Job, floor_ms
from foliot.protocols import Clock

_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(milliseconds=100), timedelta(seconds=1)


class Pause:
    """Waits between tries at a store that is away: 0.1 seconds, then twice as long each time, at most 1."""

    def __init__(
        self, clock: Clock, first: timedelta = _FIRST_PAUSE, longest: timedelta = _LONGEST_PAUSE
    ) -> None:
        self._clock = clock
        self._first = self._next = first
        self._longest = longest

    async def wait(self, until: asyncio.Event | None = None) -> None:
        """Wait, and longer the next time."""
        duration, self._next = self._next, min(self._next * 2, self._longest)
        await self._clock.wait(duration, until)

    def reset(self) -> None:
        """Begin with a short wait again."""
        self._next = self._first


class Keeper:
    """The lock of one job. `lost` tells why it is not ours any more: "expired", "changed" or "gone"."""

    def __init__(  # noqa: PLR0913 - the facts of a lock
        self,
        store: FencedStore | None,
        job: Job,
        held: datetime,
        *,
        ends_at: float,
        duration: timedelta,
        clock: Clock,
        now: Callable[[], Awaitable[datetime]],
        handlers: Handlers,
    ) -> None:
        self.job = job
        self.held = held
        self.ends_at = ends_at
        self.lost: str | None = None
        self._store = store
        self._duration = duration
        self._clock = clock
        self._now = now
        self._handlers = handlers
        self._is_over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, work: asyncio.Task[None]) -> None:
        """Renew from now on; cancel the work if the lock ends before it."""
        if self._store is not None:
            self._task = asyncio.create_task(self._keep(self._store, work))

    async def close(self) -> None:
        """Renew no more. A renewal under way is waited for: it decides what we hold."""
        self._is_over.set()
        if self._task is not None:
            await self._task

    def abandon(self) -> None:
        """Renew no more, whatever is under way."""
        if self._task is not None:
            self._task.cancel()

    def is_expired(self) -> bool:
        """Whether another worker may have taken the job."""
        return self._clock.monotonic() >= self.ends_at

    async def _keep(self, store: FencedStore, work: asyncio.Task[None]) -> None:
        while self.lost is None:
            await self._clock.wait(self._duration / 3, self._is_over)
            if self._is_over.is_set():
                return
            self.lost = await self._renew(store)
        if self.lost == "expired":
            work.cancel()

    async def _renew(self, store: FencedStore) -> str | None:
        """Renew once, until the store has answered. Returns why the lock is lost, if it is."""
        pause, values, begun = Pause(self._clock), [self.held], self._clock.monotonic()
        until: datetime | None = None
        while True:
            try:
                if until is None:
                    until = max(floor_ms(await self._now() + self._duration), self.held + MILLISECOND)
                if not await self._is_renewed(store, values, until):
                    return await why_lost(self, store)
            except Exception as error:  # noqa: BLE001 - a store's error, of whatever kind
                values = [self.held] if until is None else [until, self.held]
                await self._handlers.tell_once(error, self.job)
            else:
                self._handlers.forget()
                self.held, self.ends_at = until, begun + self._duration.total_seconds()
                return None
            if self.is_expired():
                return "expired"
            await pause.wait()

    async def _is_renewed(self, store: FencedStore, values: list[datetime], until: datetime) -> bool:
        for held in values:
            if await store.renew(self.job, held, until):
                return True
        return False


async def why_lost(keeper: Keeper, store: FencedStore | None) -> str:
    """Why a job is not ours any more, as far as can be told."""
    if keeper.is_expired():
        return "expired"
    if store is None:
        return "gone"
    try:
        return "gone" if await store.get(keeper.job.id) is None else "changed"
    except Exception:  # noqa: BLE001 - it is lost all the same; only the words depend on it
        return "changed"
