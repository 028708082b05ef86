"""Timeouts of all running attempts: one heap, and one service that watches it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from heapq import heapify, heappop, heappush
from itertools import count

from foliot.protocols import Clock

Key = tuple[str, int]
_AT_ONCE = timedelta(0)
_TICK = 1e-6  # seconds: no wait is shorter
_SPARE = 1024  # with fewer keys of ended attempts, rebuilding the heap costs more than it saves


class Deadlines:
    """Keys of attempts, ordered by the time at which they must have ended.

    Most attempts end in time. Their keys stay in the heap until the deadline, or until most keys are useless.
    """

    def __init__(
        self,
        clock: Clock,
        held: Callable[[], int],
        is_held: Callable[[Key], bool],
        on_over: Callable[[Key], None],
    ) -> None:
        self._clock = clock
        self._held = held
        self._is_held = is_held
        self._on_over = on_over
        self._heap: list[tuple[float, int, list[Key]]] = []
        self._order = count()  # two deadlines may be the same
        self._size = 0
        self._changed = asyncio.Event()

    def add(self, timeout: timedelta, keys: list[Key]) -> None:
        """Attempts start now, and may take that long."""
        entry = (self._clock.monotonic() + timeout.total_seconds(), next(self._order), keys)
        heappush(self._heap, entry)
        self._size += len(keys)
        if self._heap[0] is entry:
            self._changed.set()
        elif self._size > 2 * self._held() + _SPARE:
            self._drop_ended()

    def _drop_ended(self) -> None:
        held = [(at, order, [key for key in keys if self._is_held(key)]) for at, order, keys in self._heap]
        self._heap = [entry for entry in held if entry[2]]
        heapify(self._heap)
        self._size = sum(len(keys) for _, _, keys in self._heap)

    async def turn(self) -> timedelta:
        """End the attempts that have taken too long. Returns the time to the next deadline."""
        self._changed.clear()
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] < now + _TICK:
            _, _, keys = heappop(self._heap)
            self._size -= len(keys)
            for key in keys:
                self._on_over(key)
        if self._heap:
            await self._clock.wait(timedelta(seconds=self._heap[0][0] - now), self._changed)
        else:
            await self._changed.wait()
        return _AT_ONCE

    def wake(self) -> None:
        """Let the turn end, because the node stops."""
        self._changed.set()
