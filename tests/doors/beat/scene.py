"""What tests of the beat door share: a queue that writes down what it gets, and a scheduler that runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import redis

from foliot.clock import SystemClock
from foliot.doors.beat import CronScheduler, Job, Registry, Schedule

CLOCK = SystemClock()
A_LITTLE = timedelta(seconds=0.02)
PATIENCE = 60.0  # seconds, on a machine that is busy


class Recorder:
    """A queue. `refuse` is raised instead, while it is set; `gate` is waited for, if there is one."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.calls: list[Job] = []
        self.refuse: Exception | None = None
        self.gate: asyncio.Event | None = None

    async def enqueue(self, job: Job) -> None:
        self.calls.append(job)
        if self.gate is not None:
            await self.gate.wait()
        if self.refuse is not None:
            raise self.refuse
        self.jobs.append(job)

    def of(self, schedule: str) -> list[Job]:
        """The jobs of one schedule."""
        return [job for job in self.jobs if job.metadata["schedule_id"] == schedule]


class Place:
    """A server, and a prefix that no other test has."""

    def __init__(self, url: str, prefix: str) -> None:
        self.url = url
        self.prefix = prefix
        self.client = redis.Redis.from_url(url, decode_responses=True)

    def scheduler(self, queue: Any, *schedules: Schedule, **options: Any) -> CronScheduler:
        registry = Registry()
        for schedule in schedules:
            registry.must_register(schedule)
        settings = {"interval": "100ms", "prefix": self.prefix, **options}
        return CronScheduler(registry, queue, settings.pop("client", self.url), **settings)

    def state_key(self, schedule: str) -> str:
        return f"{self.prefix}:schedules:{schedule}"

    def lock_key(self, schedule: str) -> str:
        return f"{self.prefix}:schedule_lock:{schedule}"

    def command(self, *words: str) -> Any:
        """Ask the server something that the client has no method for."""
        client: Any = self.client
        return client.execute_command(*words)

    def state(self, schedule: str) -> dict[str, str]:
        found: Any = self.client.hgetall(self.state_key(schedule))
        return dict(found)


def yearly(id: str, **fields: Any) -> Schedule:  # noqa: A002 - the field's name
    """A schedule that fires once, because it is new, and then not for long."""
    return Schedule(id, cron="@yearly", job=f"do_{id}", **fields)


def often(id: str, **fields: Any) -> Schedule:  # noqa: A002 - as above
    """A schedule that fires each second."""
    return Schedule(id, cron="@every 1s", job=f"do_{id}", **fields)


@asynccontextmanager
async def running(*schedulers: CronScheduler) -> AsyncIterator[None]:
    """Schedulers that have started; they are stopped at the end."""
    async with asyncio.TaskGroup() as group:  # one that fails to start fails its test at once
        tasks = [group.create_task(scheduler.start()) for scheduler in schedulers]
        await asyncio.wait(tasks, timeout=0)
        yield
        for scheduler in schedulers:
            await scheduler.stop()


async def eventually(is_so: Callable[[], Any]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await CLOCK.wait(A_LITTLE)
