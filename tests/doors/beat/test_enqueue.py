"""What reaches the queue, what Redis has of it, and what becomes of a try that fails."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from doors.beat.scene import Place, Recorder, eventually, often, running, yearly
from foliot.doors.beat import BeatError, CronScheduler, Job, Schedule, ScheduleState
from foliot.doors.beat.state import job_id_of
from foliot.errors import InvalidPolicyError

STATE = {"last_run", "next_run", "run_count", "last_success", "last_job_id"}


def this_year(place: Place, schedule: str) -> str:
    """The key of the run that a yearly schedule owes when it is first seen."""
    return f"{place.prefix}/{schedule}@{datetime.now(UTC).year}-01-01T00:00:00Z"  # noqa: TID251 - the server's time is real


@pytest.mark.req("BAN-09", "BAN-01", "BAN-24", "BAN-27")
def test_the_queue_gets_the_job_field_by_field(place: Place, queue: Recorder) -> None:
    payload = b'{"b":1,  "a":2}'
    schedule = yearly("a", payload=payload, priority="high", timezone="UTC", description="once a year")

    async def act() -> None:
        async with running(place.scheduler(queue, schedule)):
            await eventually(lambda: queue.jobs)

    asyncio.run(act())

    (job,) = queue.jobs
    metadata = dict(job.metadata)
    fired_at = datetime.fromisoformat(metadata.pop("scheduled_at"))
    assert job.metadata["scheduled_at"].endswith("Z")
    assert fired_at.tzinfo is not None
    assert metadata == {
        "schedule_id": "a",
        "trigger_type": "cron",
        "scheduled_for": this_year(place, "a").partition("@")[2],
        "run_key": this_year(place, "a"),
        "attempt": "1",
    }
    assert job == Job(str(UUID(job.id)), "do_a", payload, "high", job.metadata)
    assert str(job.priority) == "high"


PAYLOADS = [b"", b"{}", b'{"b":1,  "a":2}', b"\xff\x00 no text", b"\x00", "é \u2028".encode(), b" \n"]


@pytest.mark.req("BAN-01")
def test_a_payload_comes_byte_for_byte_after_a_restart_too(place: Place, queue: Recorder) -> None:
    schedules = [yearly(f"p{number}", payload=payload) for number, payload in enumerate(PAYLOADS)]

    async def act() -> None:
        scheduler = place.scheduler(queue, *schedules)
        async with running(scheduler):
            await eventually(lambda: len(queue.jobs) == len(PAYLOADS))
            await scheduler.add(replace(often("added"), payload=PAYLOADS[3]))
        again = place.scheduler(queue, *schedules)
        async with running(again):
            for schedule in schedules:
                await again.trigger(schedule.id)
            await eventually(lambda: len(queue.of("p6")) == 2 and queue.of("added"))

    asyncio.run(act())

    for number, payload in enumerate(PAYLOADS):
        assert [job.payload for job in queue.of(f"p{number}")] == [payload, payload]
    assert queue.of("added")[-1].payload == PAYLOADS[3]
    assert {job.metadata["trigger_type"] for job in queue.of("p0")} == {"cron", "manual"}
    assert queue.of("p0")[0].priority == "normal"


@pytest.mark.req("BAN-11", "BAN-25", "BAN-27")
def test_redis_has_the_state_as_the_document_shows_it(place: Place, queue: Recorder) -> None:
    async def act() -> tuple[ScheduleState, ScheduleState]:
        scheduler = place.scheduler(queue, yearly("a"))
        before = await scheduler.get_state("a")
        async with running(scheduler):
            await eventually(lambda: place.state("a"))
            return before, await scheduler.get_state("a")

    before, after = asyncio.run(act())
    state = place.state("a")

    assert before == ScheduleState("a")
    assert state.keys() == STATE
    assert state["run_count"] == "1"
    assert state["last_job_id"] == queue.jobs[0].id
    assert state["last_run"] == queue.jobs[0].metadata["scheduled_at"]
    for name in ("last_run", "next_run", "last_success"):
        assert state[name] == datetime.fromisoformat(state[name]).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert after == ScheduleState(
        id="a",
        last_run=datetime.fromisoformat(state["last_run"]),
        next_run=datetime(datetime.fromisoformat(state["last_run"]).year + 1, 1, 1, tzinfo=UTC),
        run_count=1,
        last_success=datetime.fromisoformat(state["last_success"]),
    )
    assert not place.client.exists(place.lock_key("a"))


@pytest.mark.req("BAN-07")
def test_the_lock_is_there_while_the_queue_takes_the_job(place: Place, queue: Recorder) -> None:
    async def act() -> None:
        queue.gate = asyncio.Event()
        async with running(place.scheduler(queue, yearly("a"))):
            await eventually(lambda: queue.calls)
            token: Any = place.client.get(place.lock_key("a"))
            remaining: Any = place.client.pttl(place.lock_key("a"))
            assert str(UUID(token)) == token
            assert 0 < remaining <= 60_000
            queue.gate.set()
            await eventually(lambda: place.state("a"))
            assert not place.client.exists(place.lock_key("a"))

    asyncio.run(act())


@pytest.mark.req("BAN-07", "BAN-06")
def test_a_lock_that_is_lost_or_stolen_meanwhile_changes_nothing(place: Place, queue: Recorder) -> None:
    async def act() -> None:
        queue.gate = asyncio.Event()
        schedulers = [place.scheduler(queue, yearly("a"), yearly("b"), lock_ttl="50ms") for _ in range(2)]
        async with running(*schedulers):
            await eventually(lambda: len(queue.calls) == 2)
            await eventually(lambda: not place.client.exists(place.lock_key("a"), place.lock_key("b")))
            place.client.set(place.lock_key("b"), "a stranger's")
            queue.gate.set()
            await eventually(lambda: place.state("a") and place.state("b"))
            assert place.client.get(place.lock_key("b")) == "a stranger's"

    asyncio.run(act())
    assert sorted(job.metadata["schedule_id"] for job in queue.calls) == ["a", "b"]
    assert {place.state(name)["run_count"] for name in "ab"} == {"1"}


@pytest.mark.req("BAN-08")
def test_a_lock_that_another_holds_only_delays(
    place: Place, queue: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="foliot")
    place.client.rpush(place.lock_key("a"), "of whatever type")

    async def act() -> None:
        async with running(place.scheduler(queue, yearly("a"))):
            await eventually(lambda: "Schedule already locked by another instance" in caplog.text)
            told = [record for record in caplog.records if "schedule_id" in record.getMessage()]
            assert {record.levelno for record in told} == {logging.DEBUG}
            assert not [record for record in caplog.records if record.levelno > logging.INFO]
            assert not queue.calls
            place.client.delete(place.lock_key("a"))
            await eventually(lambda: queue.jobs)

    asyncio.run(act())
    assert len(queue.jobs) == 1
    assert queue.jobs[0].id == job_id_of(this_year(place, "a"))


@pytest.fixture
def user(place: Place) -> Iterator[str]:
    """A user of the server who may not touch the lock of `a`."""
    name = f"u{uuid4().hex}"
    keys = [f"{{{place.prefix}}}*", f"{place.prefix}:schedules:*", place.lock_key("b")]
    rights = ["+@all", "&*", *(f"~{key}" for key in keys)]
    place.command("ACL", "SETUSER", name, "on", ">secret", *rights)
    yield name
    place.command("ACL", "DELUSER", name)


@pytest.mark.req("BAN-08", "BAN-22")
def test_a_lock_that_cannot_be_asked_for_stops_its_schedule_only(
    place: Place, queue: Recorder, user: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="foliot")
    url = f"redis://{user}:secret@{place.url.rpartition('@')[2]}"

    async def act() -> None:
        async with running(place.scheduler(queue, yearly("a"), yearly("b"), client=url)):
            await eventually(lambda: queue.of("b") and "Failed to acquire schedule lock" in caplog.text)
            (record, *_) = [one for one in caplog.records if "acquire schedule lock" in one.getMessage()]
            assert record.levelno == logging.ERROR
            assert "schedule_id=a" in record.getMessage()
            assert not queue.of("a")
            place.command("ACL", "SETUSER", user, f"~{place.lock_key('a')}")
            await eventually(lambda: queue.of("a"))

    asyncio.run(act())
    assert len(queue.calls) == 2
    assert "secret" not in caplog.text


@pytest.mark.req("BAN-10", "BAN-22", "BAN-27")
def test_a_failed_enqueue_is_tried_again_with_the_same_id(
    place: Place, queue: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="foliot")
    queue.refuse = ConnectionError("no route to amqp://guest:pass-word@broker")

    async def act() -> None:
        scheduler = place.scheduler(queue, yearly("a"))
        async with running(scheduler):
            await eventually(lambda: len(queue.calls) >= 3 and place.state("a"))
            state = await scheduler.get_state("a")
            assert state.last_error == "ConnectionError: no route to amqp://…@broker"
            assert (state.run_count, state.last_run) == (0, None)
            queue.refuse = None
            await eventually(lambda: queue.jobs)
            await eventually(lambda: "last_error" not in place.state("a"))
            history = await scheduler.history("a", limit=50)
        assert [one.outcome for one in history] == ["succeeded", *["failed"] * (len(queue.calls) - 1)]
        assert {one.job_id for one in history} == {queue.jobs[0].id}

    asyncio.run(act())
    assert len({job.id for job in queue.calls}) == 1
    assert place.state("a")["run_count"] == "1"
    told = [record for record in caplog.records if "Failed to enqueue scheduled job" in record.getMessage()]
    assert {record.levelno for record in told} == {logging.ERROR}
    assert "job_name=do_a" in told[0].getMessage()
    assert "pass-word" not in caplog.text
    assert "attempt_failed" not in caplog.text, "it is told once"


@pytest.mark.prove
@pytest.mark.req("BAN-10")
def test_after_a_long_failure_the_latest_occurrence_is_enqueued_once(place: Place, queue: Recorder) -> None:
    queue.refuse = TimeoutError("the broker hangs")

    async def act() -> None:
        async with running(place.scheduler(queue, often("a"))):
            await eventually(lambda: len({job.id for job in queue.calls}) >= 4)
            last = queue.calls[-1]
            queue.refuse = None
            await eventually(lambda: len(queue.jobs) >= 2)
            assert queue.jobs[0].metadata["scheduled_for"] >= last.metadata["scheduled_for"]

    asyncio.run(act())
    assert len({job.id for job in queue.jobs}) == len(queue.jobs)


@pytest.mark.req("BAN-12")
def test_a_schedule_that_is_off_does_not_fire_and_owes_nothing_when_it_is_on(
    place: Place, queue: Recorder
) -> None:
    async def act() -> None:
        off = place.scheduler(queue, yearly("a", enabled=False), yearly("b"))
        async with running(off):
            await eventually(lambda: queue.of("b"))
        async with running(place.scheduler(queue, yearly("a"), yearly("c"))):
            await eventually(lambda: queue.of("c"))

    asyncio.run(act())
    assert not queue.of("a")


@pytest.mark.req("BAN-19", "BAN-22")
@pytest.mark.parametrize("damage", ["type", "time", "count"])
def test_a_state_that_cannot_be_read_stops_its_schedule_only(
    place: Place, queue: Recorder, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    caplog.set_level("INFO", logger="foliot")
    if damage == "type":
        place.client.set(place.state_key("a"), "junk")
    else:
        field = {"time": "last_run", "count": "run_count"}[damage]
        place.client.hset(place.state_key("a"), field, "junk")

    async def act() -> None:
        scheduler = place.scheduler(queue, yearly("a"), yearly("b"), yearly("c"))
        async with running(scheduler):
            await eventually(lambda: queue.of("b") and queue.of("c"))
            await eventually(lambda: "Failed to get schedule state" in caplog.text)
            with pytest.raises(BeatError, match=r"^failed to get schedule state: "):
                await scheduler.get_state("a")
            assert not queue.of("a")
            await eventually(lambda: not place.client.exists(place.lock_key("a")))
            place.client.delete(place.state_key("a"))
            await eventually(lambda: queue.of("a"))

    asyncio.run(act())
    (record, *_) = [one for one in caplog.records if "Failed to get schedule state" in one.getMessage()]
    assert record.levelno == logging.ERROR
    assert "schedule_id=a" in record.getMessage()


@pytest.mark.req("BAN-11")
def test_what_the_state_says_was_enqueued_is_not_enqueued_again(place: Place, queue: Recorder) -> None:
    """As after a node that died when it had written the state, and had not told the store."""
    done = job_id_of(this_year(place, "a"))
    place.client.hset(place.state_key("a"), mapping={"last_job_id": done, "run_count": "7"})

    async def act() -> None:
        scheduler = place.scheduler(queue, yearly("a"), yearly("b"))
        async with running(scheduler):
            await eventually(lambda: queue.of("b"))
            await eventually(lambda: "last_run" in place.state("a"))
            (only,) = await scheduler.history("a")
            assert only.job_id == done

    asyncio.run(act())
    assert not queue.of("a")
    assert place.state("a")["run_count"] == "7"


class Plain:
    """A queue with one plain method, which blocks its thread until all that it waits for are inside."""

    def __init__(self, parties: int) -> None:
        self.together = threading.Barrier(parties)
        self.threads: set[int] = set()

    def enqueue(self, _: Job) -> None:
        self.threads.add(threading.get_ident())
        self.together.wait(60)


@pytest.mark.req("BAN-24")
def test_a_plain_method_runs_in_threads_and_blocks_neither_the_loop_nor_others(place: Place) -> None:
    queue = Plain(parties=20)

    async def act() -> None:
        async with running(place.scheduler(queue, *(yearly(f"s{number}") for number in range(20)))):
            await eventually(lambda: len(queue.threads) == 20)
            await eventually(lambda: place.state("s19"))

    asyncio.run(act())
    assert threading.get_ident() not in queue.threads


class Halfway:
    """A queue whose plain method gives back a coroutine."""

    def __init__(self) -> None:
        self.loops: list[asyncio.AbstractEventLoop] = []

    def enqueue(self, _: Job) -> Awaitable[None]:
        return self._enqueue()

    async def _enqueue(self) -> None:
        self.loops.append(asyncio.get_running_loop())


@pytest.mark.req("BAN-24")
def test_a_plain_method_may_give_back_a_coroutine(place: Place) -> None:
    queue = Halfway()

    async def act() -> None:
        async with running(place.scheduler(queue, yearly("a"))):
            await eventually(lambda: queue.loops)
            assert queue.loops == [asyncio.get_running_loop()]

    asyncio.run(act())


def test_a_herd_is_enqueued_whole(place: Place, queue: Recorder) -> None:
    async def act() -> None:
        async with running(place.scheduler(queue, *(yearly(f"s{number}") for number in range(250)))):
            await eventually(lambda: len(queue.jobs) == 250)
            await eventually(lambda: all(place.client.exists(place.state_key(f"s{n}")) for n in range(250)))

    asyncio.run(act())
    assert len({job.id for job in queue.calls}) == 250
    assert not place.client.exists(*(place.lock_key(f"s{number}") for number in range(250)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"interval": "0s"},
        {"interval": "soon"},
        {"lock_ttl": "-1s"},
        {"lease": "nothing"},
        {"prefix": "a b"},
        {"prefix": ""},
        {"track": "everything"},
        {"client": 7},
        {"name": "\n"},
        {"metrics": object()},
    ],
)
def test_a_scheduler_that_cannot_be_right_is_refused_at_once(place: Place, wrong: dict[str, Any]) -> None:
    with pytest.raises((BeatError, InvalidPolicyError)):
        place.scheduler(Recorder(), **wrong)


def test_what_is_no_registry_or_queue_is_refused(place: Place) -> None:
    with pytest.raises(BeatError, match="is no Registry"):
        CronScheduler([Schedule("a", "@daily", "a")], Recorder(), place.url)  # type: ignore[arg-type] # the test
    with pytest.raises(BeatError, match="is no queue"):
        place.scheduler(print)
