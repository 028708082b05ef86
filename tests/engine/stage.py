"""A stage for the engine: a store in memory, a clock that is moved by hand, and nodes that live on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from foliot.engine.engine import Engine
from foliot.engine.reconciler import reconcile
from foliot.engine.settings import Settings
from foliot.errors import StoreError
from foliot.executors.task import TaskExecutor
from foliot.model.attempt import Attempt, Outcome
from foliot.model.decision import Event
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.view import NodeHealth, NodeView
from foliot.protocols import Executor, Monitor, Notifier, Result, Run, RunQuery, Snapshot
from foliot.schedules import Cron
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
LEASE = timedelta(seconds=30)


class Told:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.troubles: list[StoreError] = []

    def on_events(self, events: Sequence[Event]) -> None:
        self.events += events

    def on_trouble(self, error: StoreError) -> None:
        self.troubles.append(error)


class Watch:
    """A monitor that remembers."""

    def __init__(self) -> None:
        self.turns: list[tuple[str, timedelta, int]] = []
        self.healths: list[NodeHealth] = []
        self.lost: list[str] = []
        self.burials: list[tuple[str, NodeView]] = []

    def on_turn(self, what: str, took: timedelta, held: int) -> None:
        self.turns.append((what, took, held))

    def on_health(self, health: NodeHealth) -> None:
        self.healths.append(health)

    def on_lease_lost(self, node: str) -> None:
        self.lost.append(node)

    def on_burial(self, node: str, dead: NodeView) -> None:
        self.burials.append((node, dead))


class Player(TaskExecutor):
    """Does what its stage says."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage

    async def execute(self, run: Run) -> Result:
        stage = self.stage
        stage.starts.append((stage.clock.now(), run.attempt.run_key, run.attempt.number))
        await stage.clock.wait(stage.takes)
        return stage.result


class Stage:
    """A store, a clock, and nodes that can be started on it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock, lease=LEASE)
        self.told = Told()
        self.starts: list[tuple[datetime, str, int]] = []
        self.takes = timedelta(seconds=1)
        self.result = Result(Outcome.SUCCEEDED)
        self._ids = count(1)
        self._revisions = count(1)
        self._lives: list[tuple[Engine, asyncio.Task[None]]] = []

    async def declare(self, *jobs: Job) -> None:
        await reconcile(self.store, "code", Snapshot(f"r{next(self._revisions)}", jobs), self.clock.now())

    async def start(
        self,
        store: Any = None,
        slots: int = 10,
        hints: Notifier | None = None,
        executors: Mapping[str, Executor] | None = None,
        monitors: Sequence[Monitor] = (),
        **settings: Any,
    ) -> Engine:
        engine = Engine(
            store or self.store,
            executors or {"x": Player(self)},
            clock=self.clock,
            settings=Settings(slots={"default": slots}, **settings),
            new_id=lambda: f"id-{next(self._ids)}",
            listeners=(self.told,),
            monitors=monitors,
            outputs=self.store,
            hints=hints,
            version="1.2.3",
        )
        self._lives.append((engine, asyncio.ensure_future(engine.run())))
        await self.clock.settle()
        return engine

    async def stop_all(self) -> None:
        for engine, life in self._lives:
            engine.stop()
            while not life.done():
                await self.clock.advance(SECOND)
            await life
        self._lives.clear()

    async def kill_all(self) -> None:
        """They die without a word: nobody leaves, and nothing is reported."""
        for engine, _ in list(self._lives):
            await self.kill(engine)

    async def kill(self, doomed: Engine) -> None:
        for engine, life in list(self._lives):
            if engine is doomed:
                life.cancel()
                await asyncio.wait([life])
                self._lives.remove((engine, life))

    async def runs(self, **query: Any) -> tuple[Attempt, ...]:
        return (await self.store.runs(RunQuery(**query)))[::-1]


def staged(test: Callable[[Stage], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A test as a coroutine on a stage of its own."""

    async def play() -> None:
        stage = Stage()
        try:
            await test(stage)
        finally:
            await stage.stop_all()

    def run() -> None:
        asyncio.run(play())

    run.__name__ = test.__name__
    return run


def job(name: str = "a", rule: str = "* * * * *", **policy: Any) -> Job:
    return Job(
        source="code", name=name, schedule=Cron(rule), action=Action(kind="x"), policy=Policy(**policy)
    )
