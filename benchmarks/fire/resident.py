"""A program with many jobs that are not due: `python -m benchmarks.fire.resident fill|live URL …`.

fill URL STORED                 stores so many jobs that are not due, and one that is due in a moment
live URL BORN FIRED IDLE SERVER is born at that Unix time, runs the one that is due; then does nothing
                                for IDLE seconds; then fires so many jobs. SERVER is the process of the
                                store's server, or 0
"""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from benchmarks.fire.child import answer, tell_progress
from benchmarks.fire.usage import usage_of_server
from foliot import Cron, Foliot, Once
from foliot.app.options import Scheduled
from foliot.clock import SystemClock
from foliot.model.decision import Event, Happening

_STATM = Path("/proc/self/statm")
_SOON = timedelta(seconds=2)
_NEWS = timedelta(seconds=0.1)
_SETTLE = timedelta(seconds=1)
_SLOWEST = 2_000  # jobs that are scheduled in a second
clock = SystemClock()


class Spent(NamedTuple):
    """CPU seconds of this process, and of the server of its store."""

    here: float
    server: float


class Meter:
    """What is spent from now on. To look at the server costs something, which is not counted."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._before_there = usage_of_server(server)
        self._before_here = process_time()

    def read(self) -> Spent:
        """What was spent so far."""
        here = process_time() - self._before_here
        return Spent(here, usage_of_server(self._server) - self._before_there)


class Program:
    """The application, and what it has seen."""

    def __init__(self, url: str) -> None:
        self.app = Foliot(url, name="bench")
        self.first_start = 0.0
        self.ended = 0
        self.app.action(self._do_nothing, name="do_nothing")
        self.app.listen(self._count)

    async def _do_nothing(self, user: int) -> None:  # noqa: ARG002 - each job has a payload of its own
        self.first_start = self.first_start or clock.now().timestamp()

    def _count(self, event: Event) -> None:
        if event.what is Happening.ENDED:
            self.ended += 1

    async def until_ended(self, count: int) -> None:
        """Wait until so many have ended."""
        while self.ended < count:
            await clock.wait(_NEWS)

    async def fill(self, stored: int) -> dict[str, Any]:
        """Store jobs."""
        await self.app.schedule_many(_sleepers(stored))
        due = clock.now() + _SOON
        await self.app.schedule("due-at-start", Once(due), "do_nothing", payload={"user": -1})
        self.app.close()
        return {"due": due.timestamp()}

    async def live(self, born: float, fired: int, idle: float, server: int) -> dict[str, Any]:
        """Run, rest, and fire."""
        async with self.app:
            await self.until_ended(1)
            await clock.wait(_SETTLE)
            memory, meter = _resident(), Meter(server)
            await clock.wait(timedelta(seconds=idle))
            rested = meter.read()
            spent = await self._fire(fired, server)
        self.app.close()
        return {
            "first_start": round(self.first_start - born, 4),
            "resident": memory,
            "idle_cpu_per_minute": round(rested.here * 60 / idle, 5),
            "cpu_per_run": spent.here / fired,
            "server_idle_per_minute": round(rested.server * 60 / idle, 5),
            "server_per_run": spent.server / fired,
        }

    async def _fire(self, fired: int, server: int) -> Spent:
        """CPU seconds from just before the jobs are due until all ends are recorded."""
        due = clock.now() + _SOON + timedelta(seconds=fired / _SLOWEST)
        await self.app.schedule_many(
            (f"fired-{number}", Once(due), "do_nothing", {"user": number}) for number in range(fired)
        )
        await clock.wait(max(_NEWS, due - clock.now() - _NEWS))
        meter = Meter(server)
        await self.until_ended(1 + fired)
        return meter.read()


def _sleepers(count: int) -> Iterator[Scheduled]:
    """Jobs for some minute of the next leap day, far away on nearly all days."""
    rules = [Cron(f"{minute} {hour} 29 2 *") for hour in range(24) for minute in range(60)]
    for number in range(count):
        yield f"user-{number}", rules[number % len(rules)], "do_nothing", {"user": number}
        if number % 1_000 == 0:
            tell_progress(number, count)


def _resident() -> int:
    """Bytes of memory that the process holds; where the system does not tell, the most it ever held."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Do what is asked for, and tell."""
    what, url, *numbers = sys.argv[1:]
    program = Program(url)
    if what == "fill":
        answer(asyncio.run(program.fill(int(numbers[0]))))
    else:
        born, fired, idle, server = numbers
        answer(asyncio.run(program.live(float(born), int(fired), float(idle), int(server))))


if __name__ == "__main__":
    main()
