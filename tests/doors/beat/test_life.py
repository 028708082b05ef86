"""Starting, stopping, restarting; and what people do to schedules while they run."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from doors.beat.scene import A_LITTLE, CLOCK, Place, Recorder, eventually, often, running, yearly
from foliot.doors.beat import BeatError, DuplicateScheduleError, Job, Registry, Schedule
from foliot.observability import configure_logging
from programs import BIN


@pytest.mark.req("BAN-23", "BAN-22")
def test_start_runs_until_it_is_cancelled_and_lets_an_enqueue_end(
    place: Place, queue: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="foliot")

    async def act() -> None:
        queue.gate = asyncio.Event()
        task = asyncio.create_task(place.scheduler(queue, yearly("a")).start())
        await eventually(lambda: queue.calls)
        task.cancel()
        await eventually(lambda: "Cron scheduler stopping" in caplog.text)
        assert not task.done(), "an enqueue is under way"
        queue.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(act())
    assert len(queue.jobs) == 1
    assert place.state("a")["run_count"] == "1"
    levels = {record.getMessage().partition("msg=")[2]: record.levelname for record in caplog.records}
    told = {text.partition(" component")[0].strip('"'): level for text, level in levels.items() if text}
    assert told == dict.fromkeys(
        ("Cron scheduler started", "Scheduled job enqueued", "Cron scheduler stopping"), "INFO"
    )
    assert "interval=0.1" in caplog.text


@pytest.mark.req("BAN-23")
def test_it_stops_starts_again_and_refuses_to_start_twice(place: Place, queue: Recorder) -> None:
    async def act() -> None:
        scheduler = place.scheduler(queue, yearly("a"))
        await scheduler.stop()
        async with running(scheduler):
            await eventually(lambda: queue.jobs)
            with pytest.raises(BeatError, match="is running already"):
                await scheduler.start()
        await scheduler.stop()
        async with running(scheduler):
            await scheduler.trigger("a")
            await eventually(lambda: len(queue.jobs) == 2)

    asyncio.run(act())


class Choosy(Recorder):
    """A queue that refuses some schedules, and counts its closings."""

    closings = 0

    def check(self, schedule: Schedule) -> None:
        if schedule.payload == b"no":
            raise BeatError(f"{schedule.id} can never be taken")

    async def close(self) -> None:
        self.closings += 1


def test_a_queue_may_refuse_a_schedule_before_anything_starts(place: Place) -> None:
    queue = Choosy()

    async def act() -> None:
        with pytest.raises(BeatError, match="bad can never be taken"):
            await place.scheduler(queue, yearly("a"), yearly("bad", payload=b"no")).start()
        assert not queue.calls
        registry = Registry()
        scheduler = place.scheduler(queue, yearly("a"))
        scheduler._registry = registry
        async with running(scheduler):
            with pytest.raises(BeatError, match="can never be taken"):
                await scheduler.add(yearly("bad", payload=b"no"))
            with pytest.raises(BeatError, match="can never be taken"):
                registry.register(yearly("bad", payload=b"no"))
            assert registry.list() == []

    asyncio.run(act())
    assert queue.closings == 2


def test_what_is_registered_while_it_runs_is_scheduled(place: Place, queue: Recorder) -> None:
    async def act() -> None:
        scheduler = place.scheduler(queue, yearly("a"))
        async with running(scheduler):
            await eventually(lambda: queue.of("a"))
            registry = scheduler._registry
            for number in range(5):
                await asyncio.to_thread(registry.register, yearly(f"late{number}"))
            await eventually(lambda: len(queue.jobs) == 6)

    asyncio.run(act())


@pytest.mark.req("BAN-15", "BAN-27")
def test_after_a_restart_nothing_fires_twice_and_counts_go_on(place: Place, queue: Recorder) -> None:
    async def act() -> None:
        async with running(place.scheduler(queue, yearly("a"), often("b"))):
            await eventually(lambda: queue.of("a") and len(queue.of("b")) >= 2)
        await eventually(lambda: place.state("b")["run_count"] == str(len(queue.of("b"))))
        async with running(place.scheduler(queue, yearly("a"), often("b"), yearly("c"))):
            before = len(queue.of("b"))
            await eventually(lambda: len(queue.of("b")) >= before + 2 and queue.of("c"))

    asyncio.run(act())
    assert len(queue.of("a")) == 1
    assert place.state("a")["run_count"] == "1"
    assert place.state("b")["run_count"] == str(len(queue.of("b")))
    times = [job.metadata["scheduled_for"] for job in queue.of("b")]
    assert times == sorted(set(times))


@pytest.mark.req("BAN-06", "BAN-27")
def test_of_many_instances_one_enqueues_each_occurrence(place: Place, queue: Recorder) -> None:
    async def act() -> None:
        schedules = [often(f"s{number}") for number in range(10)]
        async with running(*(place.scheduler(queue, *schedules) for _ in range(4))):
            await eventually(lambda: min(len(queue.of(one.id)) for one in schedules) >= 3)

    asyncio.run(act())
    assert len({job.id for job in queue.jobs}) == len(queue.jobs)
    for number in range(10):
        times = [job.metadata["scheduled_for"] for job in queue.of(f"s{number}")]
        assert len(set(times)) == len(times)


@pytest.mark.prove
@pytest.mark.req("BAN-16")
def test_it_is_paused_from_a_shell_resumed_triggered_and_tells_its_history(
    place: Place, queue: Recorder
) -> None:
    store = f"{place.url}?namespace={place.prefix}"

    def foliot(*words: str) -> Any:
        command = [str(BIN / "foliot"), *words, "--store", store, "-o", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own
        return json.loads(done.stdout)

    async def act() -> None:
        scheduler = place.scheduler(queue, often("a"), yearly("b"))
        async with running(scheduler):
            await eventually(lambda: len(queue.of("a")) >= 2 and queue.of("b"))
            await asyncio.to_thread(foliot, "job", "pause", f"{place.prefix}/a")
            await eventually(lambda: place.state("a")["run_count"] == str(len(queue.of("a"))))
            count = len(queue.of("a"))
            key = await scheduler.trigger("a")
            await eventually(lambda: len(queue.of("a")) > count)
            assert [job.metadata["run_key"] for job in queue.of("a")[count:]] == [key], "it rests"
            await scheduler.resume("a")
            await eventually(lambda: len(queue.of("a")) >= count + 3)
            await scheduler.pause("a", reason="enough")
            listed = await asyncio.to_thread(foliot, "run", "list", "--job", f"{place.prefix}/a")
            assert listed
            history = await scheduler.history("a", limit=100)
        ids = [one.job_id for one in history if one.outcome == "succeeded"]
        assert sorted(ids) == sorted(job.id for job in queue.of("a"))

    asyncio.run(act())


@pytest.mark.req("BAN-16")
def test_schedules_are_added_changed_and_removed_while_it_runs(place: Place, queue: Recorder) -> None:
    async def act() -> None:
        scheduler, other = (place.scheduler(queue, yearly("code")) for _ in range(2))
        async with running(scheduler, other):
            await scheduler.add(yearly("new", payload=b"1"))
            await eventually(lambda: queue.of("new") and queue.of("code"))
            for again in (yearly("new"), yearly("code")):
                with pytest.raises(DuplicateScheduleError):
                    await scheduler.add(again)
            with pytest.raises(DuplicateScheduleError):
                await other.add(yearly("new"))
            await other.change(replace(often("new"), payload=b"2"))
            await eventually(lambda: queue.of("new")[-1].payload == b"2")
            await scheduler.change(replace(often("code"), priority="low"))
            await eventually(lambda: queue.of("code")[-1].priority == "low")
            await scheduler.remove("new")
            for late in (scheduler.remove("new"), scheduler.change(yearly("new")), scheduler.trigger("new")):
                with pytest.raises(BeatError, match=r"^schedule with ID new does not exist$"):
                    await late
        assert not place.state("new")
        async with running(place.scheduler(queue, yearly("code"), yearly("later"))):
            count = len(queue.of("new"))
            await eventually(lambda: queue.of("later"))
        assert len(queue.of("new")) == count

    asyncio.run(act())


@pytest.mark.req("BAN-16")
def test_a_schedule_of_the_code_is_removed_while_it_runs(place: Place, queue: Recorder) -> None:
    async def act() -> None:
        scheduler = place.scheduler(queue, often("a"), often("b"))
        async with running(scheduler):
            await eventually(lambda: queue.of("a"))
            await scheduler.remove("a")
            count, others = len(queue.of("a")), len(queue.of("b"))
            await eventually(lambda: len(queue.of("b")) >= others + 2)
            assert len(queue.of("a")) <= count + 1, "one may have been under way"
            with pytest.raises(BeatError, match="does not exist"):
                await scheduler.pause("a")

    asyncio.run(act())


@pytest.fixture
def stderr() -> Iterator[io.StringIO]:
    logger = logging.getLogger("foliot")
    before = (logger.handlers[:], logger.level, logger.propagate)
    stream = io.StringIO()
    configure_logging("json", stream=stream)
    yield stream
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


@pytest.mark.req("BAN-14")
def test_each_enqueue_is_a_line_of_json(place: Place, queue: Recorder, stderr: io.StringIO) -> None:
    async def act() -> None:
        async with running(place.scheduler(queue, yearly("a", priority="low"))):
            await eventually(lambda: place.state("a"))

    asyncio.run(act())
    lines = [json.loads(line) for line in stderr.getvalue().splitlines()]
    (line,) = [line for line in lines if line.get("msg") == "Scheduled job enqueued"]
    assert line.pop("at").endswith("Z")
    assert line == {
        "level": "INFO",
        "event": "job_enqueued",
        "msg": "Scheduled job enqueued",
        "component": "scheduler",
        "schedule_id": "a",
        "job_name": "do_a",
        "job_id": queue.jobs[0].id,
        "priority": "low",
        "next_run": place.state("a")["next_run"],
    }


@pytest.mark.req("BAN-14")
def test_a_flood_of_enqueues_is_summed_up(place: Place, queue: Recorder, stderr: io.StringIO) -> None:
    async def act() -> None:
        scheduler = place.scheduler(queue, *(yearly(f"s{number}") for number in range(150)))
        async with running(scheduler):
            await eventually(lambda: len(queue.jobs) == 150)
            while (
                "enqueues_suppressed" not in stderr.getvalue()
            ):  # told with the first line of the next second
                await scheduler.trigger("s0")
                await CLOCK.wait(A_LITTLE * 20)

    asyncio.run(act())
    lines = [json.loads(line) for line in stderr.getvalue().splitlines()]
    each = sum(line["event"] == "job_enqueued" for line in lines)
    summed = sum(line["count"] for line in lines if line["event"] == "enqueues_suppressed")
    assert each + summed <= len(queue.jobs)
    assert summed >= 1


def test_job_is_a_value() -> None:
    job = Job("id", "name", b"", "low", {})
    assert job == Job("id", "name", b"", "low", {})
