"""Reads the output of a running attempt once, for all streams that follow it.

    stream ─┐
    stream ─┼─▶ LogReader ──every half second──▶ store
    stream ─┘

A reader keeps only the part that it read last. A stream that is further behind asks the store itself, so a
slow client costs no memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from foliot.errors import FoliotError
from foliot.model.attempt import Attempt
from foliot.operations import Operations
from foliot.protocols import Clock, Output

LOOK_EVERY = timedelta(milliseconds=500)


class LogReader:
    """Reads the output of one attempt until it has ended. `news` is set when a part comes, or the end."""

    def __init__(self, ops: Operations, clock: Clock, attempt: Attempt) -> None:
        self._ops, self._clock, self._attempt = ops, clock, attempt
        self._part: Output | None = None
        self._end = 0
        self.is_open = True
        self.news = asyncio.Event()
        self.followers = 0
        self._reading = asyncio.ensure_future(self._read_on())

    async def since(self, place: int) -> Output | None:
        """The output from a position on, as far as it was read."""
        part = self._part
        if part is None or part.start <= place:
            return part and part.since(place)
        return await self._ops.store.output(*self._attempt.key, place)

    def stop(self) -> None:
        """Read no more."""
        self._reading.cancel()

    async def _read_on(self) -> None:
        while self.is_open:
            with suppress(FoliotError):  # the next turn asks the store again
                await self._read()
            if self.is_open:
                await self._clock.wait(LOOK_EVERY)

    async def _read(self) -> None:
        # First the state, then the output: the store has the whole output before it has the end.
        last = await self._ops.last(self._attempt.job, self._attempt.run_key)
        is_open = last is not None and last.is_open and last.number == self._attempt.number
        part = await self._ops.store.output(*self._attempt.key, self._end)
        has_grown = part is not None and bool(part.text)
        if part is not None and has_grown:
            self._part, self._end = part, part.end
        self.is_open = is_open
        if has_grown or not is_open:
            news, self.news = self.news, asyncio.Event()
            news.set()


class LogReaders:
    """One reader for each attempt that is followed."""

    def __init__(self, ops: Operations, clock: Clock) -> None:
        self._ops, self._clock = ops, clock
        self._readers: dict[tuple[str, int], LogReader] = {}

    @contextmanager
    def following(self, attempt: Attempt) -> Iterator[LogReader]:
        """The reader of an attempt, for the time of a stream. It stops when its last stream ends."""
        reader = self._readers.get(attempt.key)
        if reader is None:
            reader = self._readers[attempt.key] = LogReader(self._ops, self._clock, attempt)
        reader.followers += 1
        try:
            yield reader
        finally:
            reader.followers -= 1
            if not reader.followers:
                del self._readers[attempt.key]
                reader.stop()
