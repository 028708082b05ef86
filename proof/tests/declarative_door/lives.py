"""Random lives of a scheduler, drawn from a seed: started, stopped, killed, cut off, and registered anew.

What runs is the door as it is shipped, on the engine, planner and store as they are; virtual are the time,
the way to the store, and chance. The callbacks write down by themselves what happened to them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch
from uuid import UUID

from foliot.doors.declarative import Scheduler, SchedulerInitializationError
from foliot.stores.memory import MemoryStore
from foliot.testing.virtual_loop import run_virtually
from foliot_proof.simulation import node
from foliot_proof.simulation.faulty_store import FaultyStore, Weather
from foliot_proof.simulation.logbook import Logbook
from foliot_proof.simulation.node import Process, tag_tasks
from foliot_proof.simulation.world import START, Host, HostClock, StoreClock, World

CRONS = [
    "* * * * *",
    "0,15,30,45 * * * *",
    "7 * * * *",
    "0-10 1,2,3 * * *",
    "30 2 * * *",
    "5,6 3,4 28,29 3 *",
]
DELAYS = [0, 1, 20, 90, 600]
CHANGE = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)  # when the clocks of Europe spring forward
CALM = timedelta(minutes=62)  # each of the hourly rules comes once more
HOUR, MINUTE, SECOND = (timedelta(**{unit: 1}) for unit in ("hours", "minutes", "seconds"))


class Spec(NamedTuple):
    """What is registered of a task, beside its name."""

    cron: str
    delay: timedelta


class Entry(NamedTuple):
    """Something that was observed: what, when, of which task, under which list."""

    at: datetime
    what: str  # init_start init_success init_failure stop_start stop_end crash run_start success failure cut
    task: str = ""
    specs: Mapping[str, Spec] | None = None


@dataclass
class Life:
    """All that was observed, and when the store could not be relied upon."""

    seed: int
    entries: list[Entry] = field(default_factory=list)
    outages: list[tuple[datetime, datetime]] = field(default_factory=list)
    digest: str = ""

    @property
    def end(self) -> datetime:
        return self.entries[-1].at


def live(seed: int, make_store: Callable[[Any], Any] | None = None) -> Life:
    """One life. The same seed gives the same, to the last microsecond."""
    with _ids_from(Random(f"ids {seed}")), _in_silence():  # noqa: S311 - chance that can be repeated
        return run_virtually(_Story(seed, make_store or MemoryStore).run())


@contextmanager
def _ids_from(chance: Random) -> Iterator[None]:
    def make() -> UUID:
        return UUID(int=chance.getrandbits(128))

    with (
        patch("foliot.doors.declarative.part.uuid4", make),
        patch("foliot.doors.declarative.scheduler.uuid4", make),
        patch("foliot.engine.reconciler.uuid4", make),
    ):
        yield


@contextmanager
def _in_silence() -> Iterator[None]:
    """Nobody reads what thousands of lives would tell of their troubles, and to write it takes longest."""
    with patch.object(logging.getLogger("foliot"), "disabled", new=True):
        yield


class _Story:
    def __init__(self, seed: int, make_store: Callable[[Any], Any]) -> None:
        self._life = Life(seed)
        self._world = World(seed)
        self._chance = self._world.random
        self._make_store = make_store
        self._specs: dict[str, Spec] = {}
        self._host = Host("host")
        self._weather = Weather()
        self._fails = self._slow = 0.0
        self._started = asyncio.Event()

    async def run(self) -> Life:
        asyncio.get_running_loop().set_task_factory(tag_tasks)
        self._store = self._make_store(StoreClock(self._world))
        before_change = CHANGE - self._chance.uniform(0, 5) * HOUR
        await self._sleep(before_change - START if self._chance.random() < 0.5 else HOUR)
        for _ in range(self._chance.randint(2, 5)):
            await self._process()
            downtime = self._chance.choice([SECOND, 20 * SECOND, MINUTE, 10 * MINUTE, 3 * HOUR, 26 * HOUR])
            await self._sleep(self._chance.random() * downtime)
        await self._calm_end()
        self._life.digest = self._world.digest
        return self._life

    # -- one process after the other -------------------------------------------------------------------

    async def _process(self) -> None:
        """A process that initializes and stops a few times, and perhaps is killed."""
        chance = self._chance
        self._weather = Weather(fails_before=chance.choice([0, 0.03]), fails_after=chance.choice([0, 0.02]))
        self._fails, self._slow = chance.choice([0, 0.3]), chance.choice([1, 30, 200])
        process = self._begin()
        life = self._within(process, self._use(self._scheduler(process.host)))
        if chance.random() < 0.6:
            await self._sleep(chance.choice([2 * SECOND, 2 * MINUTE, HOUR]) * chance.random())
            if chance.random() < 0.5:  # in mid-callback, if there is one before long
                await self._until_something_starts()
            self._kill(process)
            with suppress(asyncio.CancelledError):
                await asyncio.wait([life])
        else:
            await life

    async def _use(self, scheduler: Scheduler) -> None:
        chance = self._chance
        for _ in range(chance.randint(1, 3)):
            specs = self._redrawn()
            if not await self._initialize(scheduler, specs):
                await self._sleep(chance.random() * MINUTE)
                continue
            for _ in range(chance.randint(1, 3)):
                await self._sleep(chance.choice([20 * SECOND, 5 * MINUTE, 90 * MINUTE]) * chance.random())
                if chance.random() < 0.25:
                    await self._cut_off(chance.choice([3 * SECOND, 25 * SECOND, 3 * MINUTE]))
            self._note("stop_start")
            await scheduler.stop()
            self._note("stop_end")
            await self._sleep(chance.choice([SECOND, 5 * MINUTE]) * chance.random())

    async def _initialize(self, scheduler: Scheduler, specs: dict[str, Spec]) -> bool:
        self._note("init_start", specs=specs)
        host = self._host
        try:
            await scheduler.initialize(
                [(name, spec.cron, self._callback(host, name), spec.delay) for name, spec in specs.items()]
            )
        except SchedulerInitializationError:
            self._note("init_failure", specs=specs)
            return False
        self._note("init_success", specs=specs)
        self._specs = specs
        return True

    def _redrawn(self) -> dict[str, Spec]:
        """The list with some tasks added, removed or changed."""
        chance, specs = self._chance, dict(self._specs)
        for name in "abcd":
            dice = chance.random()
            if name not in specs and dice < 0.5:
                specs[name] = Spec(chance.choice(CRONS), timedelta(seconds=chance.choice(DELAYS)))
            elif name in specs and dice < 0.2:
                del specs[name]
            elif name in specs and dice < 0.35:
                specs[name] = specs[name]._replace(cron=chance.choice(CRONS))
            elif name in specs and dice < 0.45:
                specs[name] = specs[name]._replace(delay=timedelta(seconds=chance.choice(DELAYS)))
        return specs

    def _callback(self, host: Host, name: str) -> Callable[[], Any]:
        async def callback() -> None:
            self._note("run_start", name)
            self._started.set()
            fails, takes = self._chance.random() < self._fails, self._chance.random() * self._slow
            try:
                if self._chance.random() < 0.7:
                    await self._sleep(takes * SECOND)
                await host.gate()
            except asyncio.CancelledError:
                if not host.is_dead:
                    self._note("cut", name)
                raise
            self._note("failure" if fails else "success", name)
            if fails:
                raise RuntimeError("as it was told")

        return callback

    async def _calm_end(self) -> None:
        """No more faults, and callbacks that succeed: what is owed has time to be served."""
        self._weather, self._fails, self._slow = Weather(), 0.0, 1.0
        process = self._begin()
        scheduler = self._scheduler(process.host)
        await self._within(process, self._initialize(scheduler, self._specs or self._redrawn()))
        await self._sleep(CALM)
        self._note("stop_start")
        await scheduler.stop()
        self._note("stop_end")
        await self._sleep(5 * MINUTE)
        self._note("end")

    # -- means -----------------------------------------------------------------------------------------

    def _begin(self) -> Process:
        self._host = Host("host")
        return Process(self._host)

    def _within(self, process: Process, work: Any) -> asyncio.Task[Any]:
        token = node._process.set(process)
        try:
            return asyncio.ensure_future(work)
        finally:
            node._process.reset(token)

    def _scheduler(self, host: Host) -> Scheduler:
        store: Any = FaultyStore(
            self._store, world=self._world, host=host, weather=self._weather, logbook=Logbook()
        )
        return Scheduler(store, clock=HostClock(self._world, host))

    def _kill(self, process: Process) -> None:
        self._note("crash")
        process.host.is_dead = True
        process.host.running.set()
        for task in list(process.tasks):
            task.cancel()

    async def _until_something_starts(self) -> None:
        self._started.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(HOUR.total_seconds()):
                await self._started.wait()
        await self._sleep(self._chance.random() * self._slow / 2 * SECOND)

    async def _cut_off(self, duration: timedelta) -> None:
        host, begin = self._host, self._world.now
        host.is_cut_off = True
        try:
            await self._sleep(duration)
        finally:
            host.is_cut_off = False
            self._life.outages.append((begin, self._world.now))

    async def _sleep(self, duration: timedelta) -> None:
        await asyncio.sleep(max(0.0, duration.total_seconds()))  # noqa: TID251 - virtual time

    def _note(self, what: str, task: str = "", specs: Mapping[str, Spec] | None = None) -> None:
        self._life.entries.append(Entry(self._world.now, what, task, specs))
        self._world.note(what, task, specs)
