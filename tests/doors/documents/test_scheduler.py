"""The scheduler's options, handlers, flags and loop, on a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from doors.documents.recording import MINUTE, SECOND, RecordingStore, due, scheduler_on, until
from foliot.doors.documents import (
    Config,
    InvalidConfigError,
    Job,
    JobUpdate,
    Scheduler,
)
from foliot.testing.clock import ManualClock


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
