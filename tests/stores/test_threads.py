"""A store's threads, as its callers see them: their own faults come back, and a fork is told of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from foliot.errors import StoreError
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery
from foliot.stores.postgres import PostgresStore
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched
from stores.test_call_thread import in_child

CLOCK = ManualClock()
Store = SqliteStore | PostgresStore


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "jobs.db", CLOCK)
    return PostgresStore(request.getfixturevalue("url"), time=CLOCK)


def on(store: Store, scene: Callable[[], Awaitable[None]]) -> None:
    """Play a scene with a store that has three jobs and a node."""

    async def play() -> None:
        async with store:
            await declare(store, declare_at(CLOCK.now(), CLOCK.now()))
            await store.join(Node("a"))
            await asyncio.wait_for(scene(), 60)

    asyncio.run(play())


async def declare(store: Store, decide: Any, base: str | None = None, revision: str = "r1") -> None:
    await store.reconcile(SOURCE, base, revision, Changes(some_jobs(3)), declared=decide, removed=untouched)


@pytest.mark.parametrize("fault", [SystemExit, KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_what_a_function_of_the_caller_raises_is_the_callers(
    store: Store, fault: type[BaseException]
) -> None:
    async def scene() -> None:
        raised = fault("mine")

        def decide(*_: object) -> Any:
            raise raised

        asked: list[Callable[[], Awaitable[object]]] = [
            lambda: store.update(f"{SOURCE}/job-0000", decide),
            lambda: declare(store, decide, "r1", "r2"),
        ]
        for ask in asked:
            assert await told(ask) is raised
        assert await store.revision(SOURCE) == "r1"
        claimed = await store.claim("a", CLOCK.now(), {"default": 9}, start_due, "claim")
        assert len(claimed.runs) == 3, "the thread that did it goes on"

    on(store, scene)


async def told(ask: Callable[[], Awaitable[object]]) -> BaseException | None:
    """What somebody is told who asks, caught before it ends the loop."""
    try:
        await ask()
    except BaseException as error:  # noqa: BLE001 - that is asked
        return error
    return None


@pytest.mark.parametrize("fault", [SystemExit, KeyboardInterrupt])
def test_a_decision_that_would_end_the_program_ends_no_thread(
    store: Store, fault: type[BaseException]
) -> None:
    async def scene() -> None:
        def decide(*_: object) -> Any:
            raise fault

        await told(lambda: store.claim("a", CLOCK.now(), {"default": 9}, decide, "first"))
        await store.renew("a")
        await store.claim("a", CLOCK.now(), {"default": 9}, start_due, "second")

    on(store, scene)


def test_in_a_forked_child_every_call_is_refused_at_once(store: Store) -> None:
    async def scene() -> None:
        await store.jobs(JobQuery())
        hinted = asyncio.ensure_future(store.changed())
        await asyncio.wait([hinted], timeout=0.2)
        asked: list[Callable[[], Awaitable[object]]] = [
            lambda: store.jobs(JobQuery()),
            lambda: store.renew("a"),
            lambda: store.join(Node("a")),
            store.changed,
        ]
        for ask in asked:
            answer = await asyncio.to_thread(in_child, ask)
            assert "StoreError" in answer, answer
            assert "before a fork" in answer, answer
        assert await asyncio.to_thread(in_child, store.close) == "None"
        assert (await store.renew("a")).open_count == 0, "the parent goes on"
        hinted.cancel()

    on(store, scene)


def test_who_waits_for_a_hint_is_told_when_the_store_is_closed(store: Store) -> None:
    async def play() -> None:
        async with store:
            heeding = asyncio.ensure_future(heed_all(store))
            await asyncio.wait([heeding], timeout=0.2)
        with pytest.raises(StoreError, match="not open"):
            await asyncio.wait_for(heeding, 60)
        with pytest.raises(StoreError, match="not open"):
            await store.changed()

    asyncio.run(play())


async def heed_all(store: Store) -> None:
    while True:
        await store.changed()
