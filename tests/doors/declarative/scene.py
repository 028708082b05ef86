"""A stage for schedulers: a store that stays, a clock moved by hand, callbacks that are told what to do."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Self

from foliot.doors.declarative import Scheduler, SchedulerEvent, Task, TaskEvent, read_tasks
from foliot.protocols import Traits
from foliot.stores.memory import MemoryStore
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock

NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
PATIENCE = 30
Scene = Callable[..., Coroutine[Any, Any, None]]


class PatientClock(ManualClock):
    """Time goes on only when the store has answered everybody: SQLite answers from threads."""

    asked = 0

    async def settle(self, turns: int = 50) -> None:
        quiet = 0
        while quiet < turns:
            quiet = quiet + 1 if not self.asked else 0
            await asyncio.sleep(0.0002 if self.asked else 0)  # noqa: TID251 - the threads' time, not ours


class AskedStore:
    """A store that counts who waits for it, and fails if it is told to."""

    def __init__(self, store: Any, clock: PatientClock) -> None:
        self._store = store
        self._clock = clock
        self.failures: dict[str, Exception] = {}
        self.traits = Traits(proves_deaths=store.traits.proves_deaths)

    def __getattr__(self, verb: str) -> Any:
        getattr(self._store, verb)  # what the store does not have, this has not either

        async def ask(*args: Any, **options: Any) -> Any:
            if verb in self.failures:
                raise self.failures[verb]
            self._clock.asked += 1
            try:
                await asyncio.sleep(0)  # noqa: TID251 - a store in memory would answer before others have a turn
                return await getattr(self._store, verb)(*args, **options)
            finally:
                self._clock.asked -= 1

        return ask


class Stage:
    """What the schedulers of a test share."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.clock = PatientClock(NOON)
        self.told: list[SchedulerEvent] = []
        self.starts: list[tuple[str, datetime]] = []
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.failing: set[str] = set()
        self.takes: dict[str, timedelta] = {}
        self.raw: Any = None
        self.store: Any = None

    def at(self, now: datetime) -> None:
        """Begin at another time."""
        self.clock = PatientClock(now.astimezone(UTC))

    async def __aenter__(self) -> Self:
        if self.file is None:
            self.raw = MemoryStore(self.clock)
        else:
            self.raw = SqliteStore(self.file, self.clock, synchronous="OFF")
            await self.raw.open()
        self.store = AskedStore(self.raw, self.clock)
        return self

    async def __aexit__(self, *_: object) -> None:
        await crash()
        if self.file is not None:
            await self.raw.close()

    def scheduler(self, **options: Any) -> Scheduler:
        return Scheduler(self.store, clock=self.clock, listeners=[self.told.append], **options)

    async def started(self, *registrations: Any, **options: Any) -> Scheduler:
        scheduler = self.scheduler(**options)
        await scheduler.initialize(list(registrations))
        await self.clock.settle()
        return scheduler

    def task(self, name: str = "a", cron: str = "* * * * *", delay: timedelta = 5 * MINUTE) -> Any:
        """A registration; what its callback does is what the stage says of that name."""

        async def callback() -> None:
            self.starts.append((name, self.clock.now()))
            self.running[name] += 1
            self.most[name] = max(self.most[name], self.running[name])
            try:
                if name in self.takes:
                    await self.clock.wait(self.takes[name])
                if name in self.failing:
                    raise RuntimeError(f"{name} fails")
            finally:
                self.running[name] -= 1

        return name, cron, callback, delay

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
        """Let something go on beside; it waits for the clock."""
        return asyncio.ensure_future(work)

    async def passes(self, duration: timedelta) -> None:
        await self.clock.advance(duration)

    def times(self, name: str = "a") -> list[str]:
        """When a callback was called."""
        return [f"{at:%H:%M:%S}".removesuffix(":00") for task, at in self.starts if task == name]

    def names(self) -> list[str]:
        return [event.name for event in self.told]

    def of_tasks(self) -> list[str]:
        return [event.name for event in self.told if isinstance(event, TaskEvent)]

    async def stored(self, name: str = "a", namespace: str = "declarative") -> Task:
        return (await read_tasks(self.store, namespace))[name]


async def crash() -> None:
    """Everything that runs on this loop ends without a word, as in a process that dies."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def staged(scene: Scene) -> Callable[..., None]:
    """A test that is a coroutine on a stage."""

    @wraps(scene)
    def run(stage: Stage, **fixtures: Any) -> None:
        async def play() -> None:
            async with asyncio.timeout(PATIENCE), stage:
                await scene(stage, **fixtures)

        asyncio.run(play())

    return run
