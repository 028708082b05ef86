"""The scheduler's life, its handlers and its loop, on a clock that is moved by hand."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from doors.documents.recording import MINUTE, SECOND, RecordingStore, ThreeVerbs, scheduler_on, until
from foliot.doors.documents import (
    Config,
    InvalidConfigError,
    Job,
    JobUpdate,
    LockLostError,
    MemoryStore,
    Scheduler,
    StoreUnavailableError,
)
from foliot.testing.clock import ManualClock


def due(clock: ManualClock, id_: str = "a", **fields: Any) -> dict[str, Any]:
    return {"_id": id_, "sleepUntil": clock.now() - SECOND, **fields}


@pytest.mark.req("DOC-14")
def test_defaults_are_those_of_the_seed() -> None:
    config = Config()
    delays = (config.next_delay, config.reprocess_delay, config.idle_delay)
    assert delays == (timedelta(0),) * 3
    assert config.lock_duration == timedelta(minutes=10)
    with pytest.raises(InvalidConfigError, match="store is required"):
        Scheduler(config)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": object()}, "store has no method lock_next"),
        ({"lock_duration": 0}, "lock_duration must be a millisecond"),
        ({"idle_delay": 5}, "idle_delay must be a duration"),
        ({"idle_delay": "soon"}, 'idle_delay "soon"'),
        ({"next_delay": timedelta(seconds=-1)}, "next_delay must not be negative"),
        ({"on_document": "print"}, "on_document must be a function"),
        ({"catch_up": "later"}, "catch_up must be"),
        ({"timezone": "Mars/North"}, "timezone"),
    ],
)
def test_bad_options_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        Scheduler(Config(**options))


@pytest.mark.req("DOC-07")
def test_durations_are_texts_or_timedeltas() -> None:
    config = Config(next_delay="1s", reprocess_delay=MINUTE, idle_delay="5m", lock_duration="1h30m")
    assert (config.next_delay, config.reprocess_delay) == (SECOND, MINUTE)
    assert (config.idle_delay, config.lock_duration) == (5 * MINUTE, 90 * MINUTE)


@pytest.mark.req("DOC-15")
def test_an_update_tells_apart_to_leave_to_clear_and_to_set() -> None:
    clock = ManualClock()
    assert JobUpdate() != JobUpdate(sleep_until=None) != JobUpdate(sleep_until=clock.now())
    assert repr(JobUpdate()) == "JobUpdate(sleep_until=LEAVE, auto_remove=LEAVE)"
    with pytest.raises(ValueError, match="time zone"):
        JobUpdate(sleep_until=clock.now().replace(tzinfo=None))


@pytest.mark.req("DOC-19")
def test_the_order_of_the_loop() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock, "a"), due(clock, "b"))

        async def handle(job: Job) -> None:
            store.told.append(f"begin {job.id}")
            await clock.wait(10 * SECOND)
            store.told.append(f"end {job.id}")

        scheduler, errors = scheduler_on(
            store,
            on_document=handle,
            on_idle=lambda: store.told.append("idle"),
            next_delay="1s",
            idle_delay="1h",
        )
        await scheduler.start()
        await clock.settle()
        assert store.told == [], "next_delay comes before the first look"
        await clock.advance(SECOND)
        assert store.told == ["lock_next", "begin a"]
        await clock.advance(10 * SECOND)
        await clock.advance(SECOND)
        await clock.advance(10 * SECOND)
        await clock.advance(SECOND)
        await until(lambda: "idle" in store.told)
        one = ["lock_next", "begin {0}", "end {0}", "settle"]
        expected = [word.format(id_) for id_ in "ab" for word in one]
        assert store.told == [*expected, "lock_next", "idle"]
        assert errors == []
        await scheduler.stop()

    asyncio.run(play())


@pytest.mark.req("DOC-06", "DOC-07")
def test_on_idle_is_called_once_for_each_idle_phase() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock)
        calls: list[str] = []
        scheduler, _ = scheduler_on(
            store,
            on_start=lambda: calls.append("start"),
            on_idle=lambda: calls.append("idle"),
            on_stop=lambda: calls.append("stop"),
            on_document=lambda job: calls.append(job.id),
            idle_delay="1s",
        )
        await scheduler.start()
        await until(lambda: calls == ["start", "idle"])
        for _ in range(5):
            await clock.advance(SECOND)
        assert store.told.count("lock_next") > 4
        assert calls == ["start", "idle"]
        await store.put(due(clock))
        await clock.advance(SECOND)
        await until(lambda: calls == ["start", "idle", "a", "idle"])
        await scheduler.stop()
        assert calls == ["start", "idle", "a", "idle", "stop"]

    asyncio.run(play())


@pytest.mark.req("DOC-08")
def test_the_flags_through_a_run_and_a_second_start() -> None:
    async def play() -> None:
        clock = ManualClock()
        store = RecordingStore(clock, due(clock))
        go = asyncio.Event()
        begun = asyncio.Event()

        async def handle(_: Job) -> None:
            begun.set()
            await go.wait()

        scheduler, _ = scheduler_on(store, on_document=handle)

        def flags() -> tuple[bool, bool, bool]:
            return scheduler.is_running(), scheduler.is_processing(), scheduler.is_idle()

        assert flags() == (False, False, False)
        await scheduler.stop()  # nothing runs
        await scheduler.start()
        await scheduler.start()  # it runs already
        await begun.wait()
        assert flags() == (True, True, False)
        go.set()
        await until(lambda: flags() == (True, False, True))
        await asyncio.gather(scheduler.stop(), scheduler.stop())
        assert flags() == (False, False, False)
        await store.put(due(clock, "b"))
        await scheduler.start()
        await until(lambda: store.at("b") is None)
        await scheduler.stop()

    asyncio.run(play())
    asyncio.run(play())


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
