"""The world that simulated nodes live in: its time, its store, its faults, and what was seen of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from random import Random

from foliot.clock import wait_on_loop

START = datetime(2026, 3, 1, tzinfo=UTC)  # a month with a change of the clocks in it


class KilledError(BaseException):
    """A node's process is gone; no handler of its own may catch this."""


@dataclass(slots=True)
class Host:
    """The machine of one node: its wall clock may be off, and it may be paused, cut off or dead."""

    name: str
    offset: timedelta = timedelta(0)
    is_dead: bool = False
    is_cut_off: bool = False
    running: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.running.set()

    async def gate(self) -> None:
        """Whatever a process does goes through here: a paused one stops, a dead one is no more."""
        if self.is_dead:
            raise KilledError
        if not self.running.is_set():
            await self.running.wait()
            if self.is_dead:
                raise KilledError


class World:
    """True time, chance, and the trace of everything that happened."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - chance that can be repeated is the point
        self._trace = blake2b(digest_size=16)
        self._ids = 0
        self._seconds = 0.0
        self._now = START
        self.store_offset = timedelta(0)  # of the store's clock

    @property
    def now(self) -> datetime:
        """The true time."""
        seconds = asyncio.get_running_loop().time()
        if seconds != self._seconds:
            self._seconds, self._now = seconds, START + timedelta(seconds=seconds)
        return self._now

    def new_id(self) -> str:
        """Ids that the next run with the same seed gives again."""
        self._ids += 1
        return f"id-{self._ids:06}"

    def note(self, *facts: object) -> None:
        """Add to the trace."""
        self._trace.update(repr((self.now, *facts)).encode())

    @property
    def digest(self) -> str:
        """What two runs of one seed share, bit for bit."""
        return self._trace.hexdigest()


class StoreClock:
    """The store's own clock: the true time, unless it was set."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> datetime:
        return self._world.now + self._world.store_offset

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        await wait_on_loop(duration, until)


class HostClock:
    """The clock of one host: off by its offset, and stopped while the host is paused."""

    def __init__(self, world: World, host: Host) -> None:
        self._world = world
        self._host = host

    def now(self) -> datetime:
        return self._world.now + self._host.offset

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        await self._host.gate()
        await wait_on_loop(duration, until)
        await self._host.gate()
