"""Errors of handlers and of stores: they are told, and the loop goes on."""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise
from typing import Any

import pytest

from doors.documents.recording import MINUTE, SECOND, RecordingStore, ThreeVerbs, due, scheduler_on, until
from foliot.doors.documents import (
    Config,
    Job,
    LockLostError,
    MemoryStore,
    Scheduler,
    StoreUnavailableError,
)
from foliot.testing.clock import ManualClock


@pytest.mark.req("DOC-11")
def test_an_error_is_told_and_the_document_runs_again_at_its_locks_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock, "bad"), due(clock, "good"))
        ran: list[tuple[str, float]] = []
        told: list[tuple[str, str]] = []

        def handle(job: Job) -> None:
            ran.append((job.id, clock.monotonic()))
            if job.id == "bad":
                raise RuntimeError("on purpose")

        def on_error(error: Exception, job: Job) -> None:
            told.append((str(error), job.id))
            raise ValueError("on_error fails, too")

        scheduler, _ = scheduler_on(
            store, on_document=handle, on_error=on_error, idle_delay="1s", lock_duration="1m"
        )
        await scheduler.start()
        await until(lambda: len(ran) == 2 and scheduler.is_idle())
        for _ in range(125):
            await clock.advance(SECOND)
            await until(lambda: not scheduler.is_processing())
        await until(lambda: len(told) == 3)
        await scheduler.stop()
        assert [id_ for id_, _ in ran] == ["bad", "good", "bad", "bad"]
        times = [at for id_, at in ran if id_ == "bad"]
        assert [later - earlier for earlier, later in pairwise(times)] == [60, 60]
        assert told == [("on purpose", "bad")] * 3
        assert "on_error_failed" in caplog.text

    with caplog.at_level(logging.ERROR):
        asyncio.run(play())


@pytest.mark.req("DOC-05")
def test_the_job_of_a_worker_that_is_gone_comes_back_after_ten_minutes() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock))
        ran: list[float] = []
        begun = asyncio.Event()

        async def hang(_: Job) -> None:
            begun.set()
            await asyncio.Event().wait()

        first, _ = scheduler_on(store, on_document=hang, renews=False)
        await first.start()
        await begun.wait()
        assert first._task is not None
        first._task.cancel()  # the nearest thing to a crash within a process
        await until(lambda: not first.is_running())

        async def note(_: Job) -> None:
            ran.append(clock.monotonic())

        second, _ = scheduler_on(store, on_document=note, idle_delay="1s")
        await second.start()
        for _ in range(605):
            await clock.advance(SECOND)
        await until(lambda: store.at("a") is None)
        await second.stop()
        assert ran == [600]

    asyncio.run(play())


def test_a_store_that_is_away_is_told_once_and_waited_for() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock))
        store.failing = {
            "lock_next": [StoreUnavailableError("lock_next", "no answer")] * 5,
            "settle": [ConnectionResetError("gone")] * 3,
        }
        scheduler, errors = scheduler_on(store)
        await scheduler.start()
        for _ in range(80):
            await clock.advance(SECOND / 10)
            await until(lambda: True)
        await until(lambda: store.at("a") is None)
        await scheduler.stop()
        assert [str(error) for error in errors] == ["lock_next: no answer", "gone"]

    asyncio.run(play())


def test_an_end_that_the_store_refuses_is_told_and_does_not_hold_up_the_others() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock, "a"), due(clock, "b"))
        store.failing = {"settle": [PermissionDenied("no")]}
        scheduler, errors = scheduler_on(store)
        await scheduler.start()
        await until(lambda: store.at("b") is None)
        await scheduler.stop()
        assert [str(error) for error in errors] == ["no"]
        assert store.at("a") == clock.now() + 10 * MINUTE

    asyncio.run(play())


class PermissionDenied(Exception):  # noqa: N818 - as drivers have it
    pass


@pytest.mark.req("DOC-03")
def test_three_verbs_are_enough_and_behave_as_the_seed_says() -> None:
    async def play() -> None:
        clock = ManualClock()
        inner = MemoryStore([due(clock, "a"), due(clock, "b", autoRemove=True)], clock=clock)
        store: Any = ThreeVerbs(inner)
        errors: list[Exception] = []

        async def handle(job: Job) -> None:
            await clock.wait(30 * MINUTE)  # three times the lock
            if job.id == "b":
                await inner.remove("b")
                await inner.put({"_id": "c", "sleepUntil": clock.now()})

        scheduler = Scheduler(Config(store=store, on_document=handle, on_error=errors.append, clock=clock))
        await scheduler.start()
        await clock.advance(70 * MINUTE)
        await scheduler.stop("0s")
        assert errors == []
        assert [found["_id"] for found in inner.documents] == ["a", "c"]
        assert inner.documents[0]["sleepUntil"] is None, (
            "written without a question, though the lock had ended"
        )

    asyncio.run(play())


def test_a_deleted_document_is_not_made_again() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock, interval="@hourly"))

        async def handle(_: Job) -> None:
            await store.remove("a")

        scheduler, errors = scheduler_on(store, on_document=handle)
        await scheduler.start()
        await until(lambda: bool(errors))
        await scheduler.stop()
        assert isinstance(errors[0], LockLostError)
        assert errors[0].why == "gone"
        assert store.documents == []

    asyncio.run(play())
