"""The engine as the API door will use it: on each store, with its preset, on a clock moved by hand."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from engine.stage import SECOND, Player, Stage
from foliot.engine.engine import Engine
from foliot.engine.settings import Settings
from foliot.executors.task import TaskExecutor
from foliot.model.job import Action, Job
from foliot.model.presets import API
from foliot.model.state import State
from foliot.observability.log import LogListener
from foliot.protocols import Executor, JobQuery
from foliot.schedules import Cron
from foliot.stores.memory import MemoryStore
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import read_address
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from real_postgres import shared_url

LEASE = timedelta(hours=2)  # hours pass here, and each heartbeat is a journey to a server
RARELY = {"beat": LEASE / 4, "recover": LEASE / 4, "prune": LEASE / 4}
Scene = Callable[["RatStage"], Coroutine[Any, Any, None]]


class AttendedClock(ManualClock):
    """Time does not pass while a store is being asked: its answers come from threads and servers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.answered = asyncio.Event()

    async def settle(self, turns: int = 50) -> None:
        await super().settle(turns)
        while self.asked:
            self.answered.clear()
            await self.answered.wait()
            await super().settle(turns)


class Attended:
    """A store whose calls under way are counted."""

    def __init__(self, store: Any, clock: AttendedClock) -> None:
        self.store = store
        self.traits = store.traits
        self._clock = clock

    def __getattr__(self, verb: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def ask(*args: Any, **kwargs: Any) -> Any:
            self._clock.asked += 1
            try:
                return await getattr(self.store, verb)(*args, **kwargs)
            finally:
                self._clock.asked -= 1
                self._clock.answered.set()

        return ask


class RatStage(Stage):
    """A place for stores, a clock, and nodes; each node has a store object of its own, as a process would."""

    def __init__(self, where: str, open_stores: AsyncExitStack) -> None:
        super().__init__()
        self.clock: AttendedClock = AttendedClock()
        self.where = where
        self.executor: TaskExecutor = Player(self)
        self._open_stores = open_stores
        self._memory = MemoryStore(self.clock, lease=LEASE)

    async def open(self) -> Attended:
        """The same store once more."""
        store: Any = self._memory
        if self.where.startswith("postgresql"):
            store = PostgresStore(self.where, lease=LEASE, time=self.clock)
        elif self.where != "memory":
            store = SqliteStore(Path(self.where), self.clock, lease=LEASE)
        if store is not self._memory:
            await self._open_stores.enter_async_context(store)
        return Attended(store, self.clock)

    async def node(self, store: Any = None, **settings: Any) -> Engine:
        """One more instance of the scheduler."""
        store = store or await self.open()
        engine = Engine(
            store,
            await self.executors(store),
            clock=self.clock,
            settings=Settings(slots={"default": 50}, **(RARELY | settings)),
            new_id=lambda: uuid4().hex,
            listeners=(self.told, LogListener()),
            outputs=self.store,
        )
        self._lives.append((engine, asyncio.ensure_future(engine.run())))
        await self.clock.settle()
        return engine

    async def executors(self, store: Any) -> Mapping[str, Executor]:
        """What a node on that store can carry out."""
        del store
        return {"pipeline": self.executor}

    async def stop(self, engine: Engine) -> None:
        """Stop one node, and wait for its end."""
        engine.stop()
        while self.is_living(engine):
            await self.clock.advance(SECOND)

    def is_living(self, engine: Engine) -> bool:
        return any(one is engine and not life.done() for one, life in self._lives)

    @staticmethod
    def first_day() -> datetime:
        """When the clock begins."""
        return ManualClock().now()

    async def state(self, name: str = "a") -> State:
        """What is stored of a schedule."""
        (view,) = await self.store.jobs(JobQuery(keys=frozenset((f"code/{name}",))))
        assert view.record is not None
        return view.record.state

    def write(self, sql: str) -> None:
        """Write into the tables behind the scheduler's back."""
        if self.where.startswith("postgresql"):
            server, schema = read_address(self.where)
            with psycopg.connect(server, options=f"-csearch_path={schema}") as connection:
                connection.execute(sql.encode())
        else:
            with closing(sqlite3.connect(self.where, isolation_level=None)) as file:
                file.execute(sql)


@asynccontextmanager
async def staged_on(where: str) -> AsyncIterator[RatStage]:
    async with AsyncExitStack() as open_stores:
        stage = RatStage(where, open_stores)
        stage.store = await stage.open()  # type: ignore[assignment] # it has the same verbs
        try:
            yield stage
        finally:
            await stage.stop_all()


def play(where: str, scene: Scene) -> None:
    """Play a scene on a stage of its own."""

    async def act() -> None:
        async with asyncio.timeout(60), staged_on(where) as stage:
            await scene(stage)

    asyncio.run(act())


def place_for(kind: str, folder: Path) -> str:
    """Where a store of a kind can be made."""
    if kind == "memory":
        return kind
    if kind == "sqlite":
        return str(folder / "jobs.db")
    return f"{shared_url()}?schema=rat_{uuid4().hex}"


def schedule(name: str = "a", rule: str = "*/10 * * * *", *, enabled: bool = True) -> Job:
    """A schedule of the API door: fires a pipeline."""
    return Job(
        source="code", name=name, schedule=Cron(rule), action=Action(kind="pipeline", data={"id": name}),
        policy=API, enabled=enabled,
    )  # fmt: skip
