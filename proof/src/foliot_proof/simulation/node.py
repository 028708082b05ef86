"""One simulated engine process, and everything that can happen to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

from foliot.app.alerts import AlertsPart
from foliot.app.part import Workplace
from foliot.clock import wait_on_loop
from foliot.engine.engine import Engine
from foliot.engine.settings import Settings
from foliot.errors import StoreError
from foliot.model.decision import Event
from foliot.protocols import Executor, Store
from foliot_proof.history.facts import Trouble
from foliot_proof.simulation.channel import SimulatedChannel
from foliot_proof.simulation.company import KIND, Company, CompanyExecutor
from foliot_proof.simulation.executor import SimulatedExecutor
from foliot_proof.simulation.faulty_store import FaultyStore, Weather
from foliot_proof.simulation.logbook import Logbook
from foliot_proof.simulation.watched import Mood
from foliot_proof.simulation.world import Host, HostClock, KilledError, World

_POLL = timedelta(minutes=30)  # nodes look so often whether alerts wait
_PAUSE = timedelta(seconds=10)
_process: ContextVar[Process | None] = ContextVar("process", default=None)


class Process:
    """One start of an engine on a host. Its tasks carry it with them, so that all can be killed at once."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.tasks: set[asyncio.Task[Any]] = set()


def tag_tasks(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
    """A task factory: every task belongs to the process in whose context it was made."""
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **options)
    process = _process.get()
    if process is not None:
        process.tasks.add(task)
        task.add_done_callback(process.tasks.discard)
    return task


class SimulatedNode:
    """A host with its engine, restarted as often as needed."""

    def __init__(  # noqa: PLR0913 - what a node is made of
        self,
        name: str,
        *,
        world: World,
        store: Store,
        settings: Settings,
        weather: Weather,
        logbook: Logbook,
        newest: Callable[[], int],
        moods: Mapping[str, Mood],
        company: Company | None = None,
    ) -> None:
        self.name = name
        self._world = world
        self._store = store
        self._settings = settings
        self._weather = weather
        self._logbook = logbook
        self._newest = newest
        self._moods = moods
        self._company = company
        self._starts = 0
        self._begin(Trouble.DOWN)
        self._process: Process | None = None
        self._crash_at: str | None = None
        self._has_died = asyncio.Event()
        self.host = Host(name)
        self.engine: Engine | None = None
        self._life: asyncio.Task[None] | None = None

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that it has."""
        return tuple(self._moods)

    @property
    def is_up(self) -> bool:
        return self._life is not None and not self._life.done()

    def start(self) -> None:
        """Start a new process on the host."""
        if self.is_up:
            return
        self.host = Host(self.name, offset=self.host.offset)
        self._process = Process(self.host)
        token = _process.set(self._process)
        try:
            self.engine = None
            self._life = asyncio.ensure_future(self._live(self.host))
        finally:
            _process.reset(token)
        self._over(Trouble.DOWN)
        self._over(Trouble.DRAINING)
        self._world.note(self.name, "start")

    async def _live(self, host: Host) -> None:
        """Lead a life as an application does: with the part that delivers, if there are channels."""
        store, clock = self._reach_store(host), HostClock(self._world, host)
        executors: dict[str, Executor] = {
            "simulated": SimulatedExecutor(self._world, host, self._logbook, self._newest)
        }
        beside = self._keep_company(store, clock, executors, host)
        try:
            await self._lead_life(store, clock, executors, host)
        finally:
            if beside is not None:
                beside.cancel()

    def _keep_company(
        self, store: Any, clock: HostClock, executors: dict[str, Executor], host: Host
    ) -> asyncio.Task[None] | None:
        """The jobs beside: every other start of a process is after a boot."""
        if self._company is None:
            return None
        self._starts += 1
        executors[KIND] = CompanyExecutor(self._company, host)
        place = Workplace(store, clock, self._settings.beat, _ignore, _ignore, _ignore)
        return asyncio.ensure_future(self._company.live(place, f"boot-{self.name}-{self._starts // 2}"))

    async def _lead_life(
        self, store: Any, clock: HostClock, executors: dict[str, Executor], host: Host
    ) -> None:
        if not self._moods:
            self.engine = self._make_engine(store, clock, executors)
            await self.engine.run()
            return
        part = AlertsPart({name: self._make_channel(name, host) for name in self._moods}, _POLL)
        place = Workplace(store, clock, self._settings.beat, _ignore, _ignore, _ignore)
        while self.engine is None:
            try:
                executors |= await part.begin(place)
                self.engine = self._make_engine(store, clock, executors)
            except StoreError:
                await clock.wait(_PAUSE)
        delivering = asyncio.ensure_future(part.live())
        try:
            await self.engine.run()
        finally:
            delivering.cancel()

    def _make_channel(self, name: str, host: Host) -> SimulatedChannel:
        return SimulatedChannel(
            name, self._moods[name], self._world, host, self._logbook, self._failpoint
        )  # fmt: skip

    def _make_engine(self, store: Any, clock: HostClock, executors: Mapping[str, Executor]) -> Engine:
        return Engine(
            store,
            executors,
            clock=clock,
            settings=self._settings,
            new_id=self._world.new_id,
            name=self.name,
            listeners=(_Silent(),),
            failpoint=self._failpoint,
        )

    def _reach_store(self, host: Host) -> Any:
        """The store as the host sees it; its verbs are set when it is made."""
        return FaultyStore(
            self._store, world=self._world, host=host, weather=self._weather, logbook=self._logbook
        )

    def crash(self) -> None:
        """SIGKILL: nothing of the process goes on, and nothing it did not yet write is ever written."""
        if not self.is_up or self._process is None:
            return
        self._world.note(self.name, "crash")
        self.host.is_dead = True
        self.host.running.set()
        self._begin(Trouble.DOWN)
        self._over(Trouble.PAUSED)
        self._over(Trouble.PARTITIONED)
        for task in sorted(self._process.tasks, key=lambda task: task.get_name()):
            task.cancel()

    def crash_at(self, failpoint: str) -> None:
        """Crash when the engine next comes to that point."""
        self._crash_at = failpoint

    async def die_at(self, failpoint: str, patience: timedelta) -> None:
        """The same; wait until it is dead, but no longer than that."""
        self._crash_at = failpoint
        self._has_died.clear()
        await wait_on_loop(patience, self._has_died)
        self._crash_at = None

    def _failpoint(self, name: str) -> None:
        if self._crash_at == name:
            self._crash_at = None
            self._has_died.set()
            self.crash()
            raise KilledError

    async def stop(self) -> None:
        """SIGTERM: drain and leave. It is over when the process has ended."""
        if self.is_up and self.engine is not None and self._life is not None:
            self._world.note(self.name, "stop")
            self._begin(Trouble.DRAINING)
            self.engine.stop()
            await asyncio.wait([self._life])
            self._begin(Trouble.DOWN)

    def pause(self) -> None:
        """SIGSTOP."""
        if self.is_up:
            self.host.running.clear()
            self._begin(Trouble.PAUSED)

    def resume(self) -> None:
        """SIGCONT."""
        self.host.running.set()
        self._over(Trouble.PAUSED)

    def cut_off(self) -> None:
        """The store cannot be reached from here."""
        self.host.is_cut_off = True
        self._begin(Trouble.PARTITIONED)

    def heal(self) -> None:
        """The store can be reached again."""
        self.host.is_cut_off = False
        self._over(Trouble.PARTITIONED)

    def jump(self, by: timedelta) -> None:
        """The wall clock is set."""
        self._over(Trouble.CLOCK)
        self.host.offset += by
        if self.host.offset:
            self._logbook.begin(self.name, Trouble.CLOCK, self._world.now, self.host.offset)

    def _begin(self, what: Trouble) -> None:
        self._logbook.begin(self.name, what, self._world.now)
        self._world.note(self.name, what)

    def _over(self, what: Trouble) -> None:
        self._logbook.over(self.name, what, self._world.now)


def _ignore(*_: object) -> None:
    """What listeners and metrics are told."""


class _Silent:
    def on_events(self, events: Sequence[Event]) -> None:
        pass

    def on_trouble(self, error: StoreError) -> None:
        pass
