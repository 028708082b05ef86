"""A cancel that another process asks for reaches the node that looks for work."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from foliot.engine.engine import Engine
from foliot.engine.plan_command import Cancel, RunNow, plan_command
from foliot.engine.planner import plan_due
from foliot.engine.reconciler import reconcile
from foliot.engine.settings import Settings
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import Result, Run, Snapshot
from foliot.schedules import Every
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock


def test_a_cancel_asked_for_elsewhere_is_a_hint_at_the_next_look(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        job = Job(source="code", name="a", schedule=Every(timedelta(days=1)), action=Action(kind="x"))
        path = tmp_path / "jobs.db"
        async with SqliteStore(path, clock) as node, SqliteStore(path, clock) as other:
            await reconcile(node, "code", Snapshot("r1", (job,)), clock.now())
            await node.join(Node("n1"))
            await node.update("code/a", lambda record: plan_command(record, RunNow("please"), clock.now()))
            [(_, attempt)] = (await node.claim("n1", clock.now(), {"default": 1}, plan_due, "c1")).runs
            hinted = asyncio.ensure_future(node.changed())
            await node.wakes(["default"])
            assert not hinted.done()

            key = attempt.run_key
            await other.update("code/a", lambda record: plan_command(record, Cancel(key), clock.now()))
            await node.wakes(["default"])

            await asyncio.wait_for(hinted, 10)
            assert (await node.renew("n1")).cancels == (attempt.key,)

    asyncio.run(scene())


class Deaf:
    """Runs what it is given, and does not look whether it is to end."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.asked = 0
        self._ends: list[Callable[[Run, Result], None]] = []

    def start(self, run: Run, ended: Callable[[Run, Result], None]) -> Callable[[], None]:
        self.runs.append(run)
        self._ends.append(ended)
        return self._be_asked

    def _be_asked(self) -> None:
        self.asked += 1

    def end_all(self) -> None:
        for run, ended in zip(self.runs, self._ends, strict=True):
            ended(run, Result(Outcome.SUCCEEDED))


class CountingStore(SqliteStore):
    """Counts what it is asked for."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.counts: Counter[str] = Counter()

    async def claim(self, *arguments: Any) -> Any:
        self.counts["claim"] += 1
        return await super().claim(*arguments)

    async def renew(self, node: str) -> Any:
        self.counts["renew"] += 1
        return await super().renew(node)


async def pass_time(clock: ManualClock, store: SqliteStore, steps: int) -> None:
    """So many tenths of a second; in each, everybody has several turns with the file."""
    for _ in range(steps):
        await clock.advance(timedelta(seconds=0.1))
        for _ in range(4):
            for worker in (store._writer, store._lookout):
                await worker.call("barrier", lambda _: None)
            await clock.settle()


def test_an_attempt_that_does_not_heed_its_cancel_keeps_no_node_busy(tmp_path: Path) -> None:
    async def scene() -> None:
        clock, deaf, ids = ManualClock(), Deaf(), count()
        job = Job(source="code", name="a", schedule=Every(timedelta(days=1)), action=Action(kind="x"))
        path = tmp_path / "jobs.db"
        async with CountingStore(path, clock) as store, SqliteStore(path, clock) as other:
            await reconcile(store, "code", Snapshot("r1", (job,)), clock.now())
            await store.update("code/a", lambda record: plan_command(record, RunNow("please"), clock.now()))
            engine = Engine(
                store, {"x": deaf}, clock=clock,
                settings=Settings(slots={"default": 9}, poll=timedelta(seconds=1)),
                new_id=lambda: f"id-{next(ids)}", hints=store,
            )  # fmt: skip
            life = asyncio.ensure_future(engine.run())
            await pass_time(clock, store, 20)
            [run] = deaf.runs
            await other.update(
                "code/a", lambda record: plan_command(record, Cancel(run.attempt.run_key), clock.now())
            )
            await pass_time(clock, store, 25)
            assert deaf.asked == 1, "the cancel of another process is seen soon"

            store.counts.clear()
            await pass_time(clock, store, 50)
            assert store.counts["claim"] <= 6, "as often as without: five seconds, a look each"
            assert store.counts["renew"] <= 1

            deaf.end_all()
            engine.stop()
            while not life.done():
                await pass_time(clock, store, 1)
            await life

    asyncio.run(scene())


def test_each_cancel_is_a_hint_once(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        rule, action = Every(timedelta(days=1)), Action(kind="x")
        jobs = tuple(Job(source="code", name=name, schedule=rule, action=action) for name in "ab")
        async with SqliteStore(tmp_path / "jobs.db", clock) as store:
            await reconcile(store, "code", Snapshot("r1", jobs), clock.now())
            await store.join(Node("n1"))
            for job in jobs:
                await store.update(job.key, lambda record: plan_command(record, RunNow("go"), clock.now()))
            await store.claim("n1", clock.now(), {"default": 2}, plan_due, "c1")
            for job in jobs:
                hinted = asyncio.ensure_future(store.changed())
                key = f"{job.key}!go"
                await store.update(job.key, lambda r, key=key: plan_command(r, Cancel(key), clock.now()))  # type: ignore[misc] # its default
                await store.wakes(["default"])
                await asyncio.wait_for(hinted, 10)
                hinted = asyncio.ensure_future(store.changed())
                await store.wakes(["default"])
                await clock.settle()
                assert not hinted.done(), "nothing new"
                hinted.cancel()

    asyncio.run(scene())
