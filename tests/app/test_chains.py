"""The part that turns rows of the outbox into requests: nodes may die in between, and work side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from foliot.app.chains import ChainsPart, ask_for_followers
from foliot.app.part import Workplace
from foliot.engine.plan_command import Pause, RunNow, plan_command
from foliot.engine.planner import plan_due, plan_ended
from foliot.engine.reconciler import reconcile
from foliot.errors import JobNotFoundError, StoreUnavailableError
from foliot.model.attempt import Ending, Outcome, Trigger
from foliot.model.chain import Link, parent_of
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.state import Node
from foliot.protocols import RunQuery, SkipQuery, Snapshot
from foliot.schedules import Never
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock

PARENT = Job(
    source="s", name="load", schedule=Never(), action=Action(kind="x"), policy=Policy(then=(Link("report"),))
)
CHILD = Job(
    source="s", name="report", schedule=Never(), action=Action(kind="x"), policy=Policy(after=Link("load"))
)


class House:
    """A store with a parent and a child, and a node."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock, lease=timedelta(hours=30))
        self.events = 0

    async def begin(self) -> None:
        await self.store.join(Node("n1"))
        await reconcile(self.store, "s", Snapshot("1", (PARENT, CHILD)), self.clock.now())

    def host(self, store: Any = None) -> Workplace:
        return Workplace(
            store or self.store,
            self.clock,
            timedelta(seconds=30),
            lambda _: None,
            lambda _: None,
            lambda *_: None,
        )

    async def run_parent(self, request: str, outcome: Outcome = Outcome.SUCCEEDED) -> str:
        now = self.clock.now()
        await self.store.update("s/load", lambda record: plan_command(record, RunNow(request), now))
        claimed = await self.store.claim("n1", now, {"default": 9}, plan_due, f"c-{request}")
        endings = [
            Ending(attempt.job, attempt.run_key, attempt.number, attempt.token, outcome, now, now)
            for _, attempt in claimed.runs
        ]
        await self.store.finish("n1", endings, now, plan_ended)
        return f"s/load!{request}"

    async def children(self) -> list[str]:
        runs = await self.store.runs(RunQuery(job="s/report"))
        assert {run.trigger for run in runs} <= {Trigger.AFTER}
        return sorted(str(parent_of(run)) for run in runs)


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 20))


class Dying:
    """A store whose node dies at one of its calls."""

    def __init__(self, store: MemoryStore, verb: str, *, is_done: bool) -> None:
        self._store, self._verb, self._is_done = store, verb, is_done
        self.is_back = False

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if name != self._verb or self.is_back:
            return verb

        async def die(*arguments: Any) -> Any:
            if self._is_done:
                await verb(*arguments)
            raise StoreUnavailableError("memory", "killed")

        return die


@pytest.mark.req("OWN-21")
@pytest.mark.parametrize("verb", ["update", "settle", "waiting", "waiting_channels"])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_node_that_dies_anywhere_neither_loses_nor_doubles_a_run(verb: str, *, is_done: bool) -> None:
    async def scene() -> None:
        house = House()
        await house.begin()
        parents = [await house.run_parent(f"r{n}") for n in range(3)]
        dying = house.host(Dying(house.store, verb, is_done=is_done))
        with pytest.raises(StoreUnavailableError):
            await ask_for_followers(dying)
        with suppress(StoreUnavailableError):
            await ask_for_followers(dying)
        await ask_for_followers(house.host())
        await ask_for_followers(house.host())
        assert await house.children() == parents
        assert dict(await house.store.waiting_channels()) == {}

    play(scene())


def test_nodes_that_ask_at_the_same_time_ask_once() -> None:
    async def scene() -> None:
        house = House()
        await house.begin()
        parents = [await house.run_parent(f"r{n:02}") for n in range(40)]
        await asyncio.gather(*(ask_for_followers(house.host()) for _ in range(4)))
        assert await house.children() == parents

    play(scene())


@pytest.mark.req("OWN-21")
def test_a_paused_child_has_a_skip_and_no_run() -> None:
    async def scene() -> None:
        house = House()
        await house.begin()
        await house.store.update("s/report", lambda record: plan_command(record, Pause(), house.clock.now()))
        run = await house.run_parent("r1")
        await ask_for_followers(house.host())
        assert await house.children() == []
        (skip,) = await house.store.skips(SkipQuery("s/report"))
        assert skip.reason == f"the job was paused: after {run}, which succeeded"

    play(scene())


class Blind:
    """A store as an older program sees it: the child has a zone or a field that is unknown there."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def update(self, job: str, _: Any) -> Any:
        raise JobNotFoundError(job)


def test_a_child_that_this_process_cannot_read_waits_for_one_that_can() -> None:
    async def scene() -> None:
        house = House()
        await house.begin()
        run = await house.run_parent("r1")
        await ask_for_followers(house.host(Blind(house.store)))
        assert len(await house.store.waiting_channels()) == 1
        await ask_for_followers(house.host())
        assert await house.children() == [run]

    play(scene())


def test_a_child_that_is_gone_keeps_nothing_waiting() -> None:
    async def scene() -> None:
        house = House()
        await house.begin()
        await house.run_parent("r1")
        await reconcile(house.store, "s", Snapshot("2", (PARENT,)), house.clock.now())
        await ask_for_followers(house.host())
        assert dict(await house.store.waiting_channels()) == {}

    play(scene())


@pytest.mark.parametrize("is_away", [False, True])
def test_what_chains_that_are_gone_have_left_is_settled_without_a_chain(*, is_away: bool) -> None:
    async def scene() -> None:
        house = House()
        await house.begin()
        await house.run_parent("r1")
        plain = replace(PARENT, policy=Policy())
        await reconcile(house.store, "s", Snapshot("2", (plain,)), house.clock.now())
        assert await house.store.waiting_channels()
        part = ChainsPart(timedelta(minutes=1))
        store = Dying(house.store, "waiting", is_done=False) if is_away else house.store
        await part.begin(house.host(store))
        part.take([plain])
        life = asyncio.ensure_future(part.live())
        await house.clock.settle()
        if isinstance(store, Dying):
            store.is_back = True
            await house.clock.advance(timedelta(minutes=1))
        assert not await house.store.waiting_channels()
        life.cancel()

    play(scene())


def test_the_part_looks_when_a_run_has_ended_and_now_and_then() -> None:
    async def scene() -> None:
        house = House()
        await house.begin()
        part = ChainsPart(timedelta(minutes=1))
        await part.begin(house.host())
        part.take([PARENT, CHILD])
        life = asyncio.ensure_future(part.live())
        await house.clock.settle()
        first = await house.run_parent("r1")
        await house.clock.advance(timedelta(minutes=1))
        assert await house.children() == [first]
        life.cancel()

    play(scene())
