"""A turn of our beat: with nothing due, and with everything due at one instant."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime, timedelta
from statistics import median
from typing import Any

import redis

from benchmarks.beat.timing import CLOCK, cpu_seconds
from foliot.doors.beat import CronScheduler, Job, Registry, Schedule

_SETTLING = timedelta(seconds=3)
_SHORTLY = timedelta(seconds=0.1)
_WRITING = timedelta(seconds=0.5)


class _Queue:
    """Takes jobs at once, and notes when the last one of each occurrence came. It is used on one loop."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._whole: asyncio.Queue[str] = asyncio.Queue()
        self.counts: Counter[str] = Counter()
        self.last: dict[str, datetime] = {}

    async def enqueue(self, job: Job) -> None:
        """Take it."""
        due = job.metadata["scheduled_for"]
        self.counts[due] += 1
        self.last[due] = CLOCK.now()
        if self.counts[due] == self._count:
            self._whole.put_nowait(due)

    async def next_whole(self) -> datetime:
        """Wait for an occurrence of which all jobs are here."""
        return datetime.fromisoformat(await self._whole.get())

    def lateness(self, due: datetime) -> float:
        """Milliseconds until the last job of an occurrence was here."""
        return (self.last[due.strftime("%Y-%m-%dT%H:%M:%SZ")] - due).total_seconds() * 1000


def _beat(url: str, count: int, cron: str) -> tuple[CronScheduler, _Queue]:
    registry, queue = Registry(), _Queue(count)
    for number in range(count):
        registry.must_register(Schedule(f"s{number}", cron=cron, job="work", payload=b'{"n": 1}'))
    return CronScheduler(registry, queue, url, prefix=f"bench.{count}.{cron[1:4]}"), queue


async def none_due(url: str, count: int, seconds: int = 10) -> dict[str, float]:
    """What a beat costs that has nothing to do, a second: commands of the server, and processor time."""
    scheduler, queue = _beat(url, count, "@yearly")
    running = asyncio.ensure_future(scheduler.start())
    while sum(queue.counts.values()) < count:  # new schedules fire at once
        await CLOCK.wait(timedelta(milliseconds=100))
    await CLOCK.wait(_SETTLING)
    with redis.Redis.from_url(url) as client:
        before, cpu = _commands(client), cpu_seconds()
        await CLOCK.wait(timedelta(seconds=seconds))
        asked = _commands(client) - before - 1  # that of this question
        cost = cpu_seconds() - cpu
    await scheduler.stop()
    await running
    return {
        "commands_a_second": round(asked / seconds, 1),
        "cpu_ms_a_second": round(cost * 1000 / seconds, 2),
    }


def _commands(client: redis.Redis) -> int:
    found: Any = client.info("stats")
    return int(found["total_commands_processed"])


async def all_due(url: str, count: int, every: int, rounds: int = 3) -> dict[str, float]:
    """From the instant at which all are due until the queue has the last job, in milliseconds.

    Processor time is counted from shortly before that instant until all states are written.
    """
    scheduler, queue = _beat(url, count, f"@every {every}s")
    running = asyncio.ensure_future(scheduler.start())
    await queue.next_whole()  # new schedules fire at once
    due = await queue.next_whole()
    took, cost = list[float](), 0.0
    for _ in range(rounds):
        await CLOCK.wait(max(due + timedelta(seconds=every) - _SHORTLY - CLOCK.now(), timedelta(0)))
        before = cpu_seconds()
        due = await queue.next_whole()
        await CLOCK.wait(_WRITING)
        cost += cpu_seconds() - before
        took.append(queue.lateness(due))
    await scheduler.stop()
    await running
    middle = median(took)
    return {
        "ms": round(middle, 1),
        "best_ms": round(min(took), 1),
        "us_each": round(middle * 1000 / count, 1),
        "cpu_us_each": round(cost * 1e6 / (rounds * count), 1),
    }
