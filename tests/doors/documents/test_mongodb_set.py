"""A replica set whose primary steps down, is killed or hangs: no document is lost or processed twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import AsyncMongoClient

from doors.documents.recording import until
from foliot.clock import SystemClock
from foliot.doors.documents import Config, Job, MongoStore, Scheduler, StoreUnavailableError
from foliot.testing.servers import MongoSet
from real_mongodb import fresh_database
from real_mongodb_set import a_set, frozen, kill_primary, others_of, step_down

pytestmark = [pytest.mark.prove, pytest.mark.req("DOC-04", "DOC-05", "DOC-21")]
OLD = datetime(2026, 1, 1, 9, tzinfo=UTC)
DOCUMENTS = 400
PATIENCE = 2000  # milliseconds that a call of the driver may take


@pytest.fixture(scope="module")
def three() -> Iterator[MongoSet]:
    with a_set(3) as found:
        yield found


async def work_through(url: str, disturb: Callable[[], Awaitable[None]]) -> tuple[Counter[Any], list[Any]]:
    """Two workers process many documents while something is done; how often each was, and what was told."""
    ran: Counter[Any] = Counter()
    errors: list[Exception] = []

    async def handle(job: Job) -> None:
        ran[job.id] += 1
        await SystemClock().wait(timedelta(milliseconds=10))

    async with AsyncExitStack() as stack, asyncio.timeout(240):
        client = await stack.enter_async_context(AsyncMongoClient[Any](url, timeoutMS=30_000))
        jobs = client[fresh_database()].jobs
        await jobs.insert_many([{"_id": number, "sleepUntil": OLD} for number in range(DOCUMENTS)])
        # A worker whose lock was written and not answered leaves the document until that lock has run out.
        config = Config(
            store=MongoStore(jobs), on_document=handle, on_error=errors.append, lock_duration="30s"
        )
        for _ in range(2):
            await stack.enter_async_context(Scheduler(config))
        await disturb()
        while await jobs.count_documents({"sleepUntil": {"$ne": None}}):
            await SystemClock().wait(timedelta(milliseconds=50))
    return ran, errors


def test_step_downs_cost_no_document_and_none_is_processed_twice(three: MongoSet) -> None:
    async def disturb() -> None:
        for _ in range(2):
            await asyncio.to_thread(step_down, three)

    ran, errors = asyncio.run(work_through(three.url, disturb))
    assert ran == Counter(range(DOCUMENTS))
    assert all(isinstance(error, StoreUnavailableError) for error in errors), errors


def test_a_primary_that_is_killed_costs_no_document_and_none_is_processed_twice(three: MongoSet) -> None:
    async def disturb() -> None:
        killed = await asyncio.to_thread(kill_primary, three)
        await asyncio.to_thread(killed.start)

    ran, errors = asyncio.run(work_through(three.url, disturb))
    assert ran == Counter(range(DOCUMENTS))
    assert all(isinstance(error, StoreUnavailableError) for error in errors), errors


class Play:
    """One document in a handler that waits, on a driver that is impatient."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.ran = 0
        self.errors: list[Exception] = []

    async def handle(self, _: Job) -> None:
        self.ran += 1
        self.begun.set()
        await self.go.wait()

    async def on(self, url: str, disturb: Callable[[Play, Scheduler], Awaitable[None]]) -> Any:
        """The document when all is over."""
        async with asyncio.timeout(180), AsyncMongoClient[Any](url, timeoutMS=PATIENCE) as client:
            jobs = client[fresh_database()].jobs
            await MongoStore(jobs).put({"_id": 1, "sleepUntil": OLD})
            config = Config(
                store=MongoStore(jobs), on_document=self.handle, on_error=self.errors.append, idle_delay="1s"
            )
            async with Scheduler(config) as scheduler:
                await self.begun.wait()
                await disturb(self, scheduler)
                await until(lambda: not scheduler.is_processing())
            return await jobs.find_one()


def test_an_end_that_no_majority_confirms_is_written_again_until_it_is(three: MongoSet) -> None:
    async def disturb(play: Play, scheduler: Scheduler) -> None:
        with frozen(*others_of(three, three.primary())):
            play.go.set()
            await until(lambda: bool(play.errors))
            assert scheduler.is_processing(), "it does not count as written"

    play = Play()
    found = asyncio.run(play.on(three.url, disturb))
    assert (play.ran, found["sleepUntil"]) == (1, None)
    assert all(isinstance(error, StoreUnavailableError) for error in play.errors), play.errors


def test_a_primary_that_hangs_is_replaced_and_the_end_is_written_there(three: MongoSet) -> None:
    async def disturb(play: Play, scheduler: Scheduler) -> None:
        old = three.primary()
        with frozen(old):
            play.go.set()
            await until(lambda: any(one.is_primary() for one in others_of(three, old)))
            await until(lambda: not scheduler.is_processing())

    play = Play()
    found = asyncio.run(play.on(three.url, disturb))
    assert (play.ran, found["sleepUntil"]) == (1, None)
    assert all(isinstance(error, StoreUnavailableError) for error in play.errors), play.errors
