"""Stopping: gracefully, at a deadline, and without leaving a lock behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from doors.documents.recording import MINUTE, SECOND, RecordingStore, due, scheduler_on, until
from foliot.doors.documents import (
    Job,
)
from foliot.testing.clock import ManualClock


@pytest.mark.req("DOC-08", "DOC-18")
def test_stop_waits_for_the_handler_and_takes_no_further_job() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock, "a"), due(clock, "b"))
        go, begun = asyncio.Event(), asyncio.Event()

        async def handle(_: Job) -> None:
            begun.set()
            await go.wait()

        scheduler, _ = scheduler_on(store, on_document=handle)
        await scheduler.start()
        await begun.wait()
        stopping = asyncio.create_task(scheduler.stop())
        await clock.settle()
        assert not stopping.done()
        go.set()
        await stopping
        assert (store.at("a"), store.at("b")) == (None, clock.now() - SECOND)

    asyncio.run(play())


@pytest.mark.req("DOC-18")
def test_stop_cancels_the_handler_at_its_deadline_and_the_job_stays_locked() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock))
        seen: list[str] = []

        async def handle(_: Job) -> None:
            try:
                seen.append("begun")
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        scheduler, errors = scheduler_on(store, on_document=handle, on_stop=lambda: seen.append("stop"))
        await scheduler.start()
        await until(lambda: seen == ["begun"])
        stopping = asyncio.create_task(scheduler.stop("30s"))
        await clock.advance(29 * SECOND)
        assert seen == ["begun"]
        await clock.advance(SECOND)
        await stopping
        assert seen == ["begun", "cancelled", "stop"]
        assert errors == []
        assert store.at("a") == clock.now() + 10 * MINUTE - 30 * SECOND, "it runs again when its lock ends"

    asyncio.run(play())


@pytest.mark.req("DOC-18")
@pytest.mark.parametrize("deadline", [None, "0s"])  # "0s": the loop is cancelled in the middle of the lock
def test_a_job_that_was_locked_while_we_were_told_to_stop_is_given_back(deadline: str | None) -> None:
    class SlowStore(RecordingStore):
        async def lock_next(self, lock_until: Any) -> Job | None:
            job = await super().lock_next(lock_until)
            asked.set()
            await answer.wait()
            return job

    asked, answer = asyncio.Event(), asyncio.Event()

    async def play() -> None:
        clock = ManualClock()
        store = SlowStore(clock, due(clock))
        ran: list[Any] = []
        scheduler, _ = scheduler_on(store, on_document=ran.append)
        await scheduler.start()
        await asked.wait()
        assert store.at("a") == clock.now() + 10 * MINUTE
        stopping = asyncio.create_task(scheduler.stop(deadline))
        await clock.advance(SECOND)
        answer.set()
        await stopping
        assert ran == []
        assert store.at("a") == clock.now() - 2 * SECOND

    asyncio.run(play())


@pytest.mark.req("DOC-18")
def test_two_hundred_starts_and_stops_leave_no_lock_behind() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, *(due(clock, str(number)) for number in range(300)))
        ran: list[Any] = []

        async def handle(job: Job) -> None:
            ran.append(job.id)

        scheduler, errors = scheduler_on(store, on_document=handle)
        for turn in range(200):
            await scheduler.start()
            for _ in range(turn % 11):
                await clock.settle(1)
            await scheduler.stop(["0s", None][turn % 2])
        assert errors == []
        assert len(set(ran)) == len(ran) > 50
        for document in store.documents:
            expected = None if document["_id"] in ran else clock.now() - SECOND
            assert document["sleepUntil"] == expected, "processed to its end, or untouched"

    asyncio.run(play())


def test_a_handler_may_stop_the_scheduler() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock))
        calls: list[str] = []

        async def idle() -> None:
            await scheduler.stop()
            calls.append("idle")

        scheduler, _ = scheduler_on(store, on_idle=idle, on_stop=lambda: calls.append("stop"))
        await scheduler.run()
        assert calls == ["idle", "stop"]
        assert store.at("a") is None

    asyncio.run(play())


def test_an_error_of_on_start_is_raised_and_nothing_runs() -> None:
    async def play() -> None:
        store = RecordingStore(ManualClock())

        def fail() -> None:
            raise LookupError("no such thing")

        scheduler, _ = scheduler_on(store, on_start=fail)
        with pytest.raises(LookupError):
            await scheduler.start()
        assert not scheduler.is_running()
        assert store.told == []

    asyncio.run(play())


def test_a_cancellation_is_not_lost_when_the_store_fails_at_the_same_time() -> None:
    class FailingStore(RecordingStore):
        async def lock_next(self, lock_until: Any) -> Job | None:
            asked.set()
            await answer.wait()
            raise ConnectionResetError(f"no lock until {lock_until}")

    asked, answer = asyncio.Event(), asyncio.Event()

    async def play() -> None:
        scheduler, _ = scheduler_on(FailingStore(ManualClock()))
        await scheduler.start()
        await asked.wait()
        assert scheduler._task is not None
        scheduler._task.cancel()  # as an event loop does that ends
        await asyncio.to_thread(int)
        answer.set()
        await until(lambda: not scheduler.is_running())

    asyncio.run(play())
