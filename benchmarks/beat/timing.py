"""How long something takes, and what it costs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from resource import RUSAGE_SELF, getrusage
from statistics import median

from foliot.clock import SystemClock

CLOCK = SystemClock()
MICRO = 1_000_000


def cpu_seconds() -> float:
    """The processor time of this process so far."""
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def each_async(work: Callable[[], Awaitable[object]], times: int, rounds: int = 3) -> float:
    """Microseconds for one call, the median of some rounds."""
    took = []
    for _ in range(rounds):
        began_at = CLOCK.monotonic()
        for _ in range(times):
            await work()
        took.append((CLOCK.monotonic() - began_at) / times * MICRO)
    return round(median(took), 1)


def each(work: Callable[[], object], times: int, rounds: int = 3) -> float:
    """The same of a plain function."""
    took = []
    for _ in range(rounds):
        began_at = CLOCK.monotonic()
        for _ in range(times):
            work()
        took.append((CLOCK.monotonic() - began_at) / times * MICRO)
    return round(median(took), 1)
