"""States of the scheduler and of its polling, and the events in their order."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from doors.declarative.scene import MINUTE, SECOND, Stage, staged
from foliot.doors.declarative import (
    Scheduler,
    SchedulerAlreadyActiveError,
    SchedulerEvent,
    SchedulerInitializationError,
    SchedulerInitializationFailed,
    TaskRunFailed,
    read_tasks,
)
from foliot.errors import InvalidStoreError, StoreUnavailableError

START = ["SchedulerInitializationStarted", "PollingStarted", "SchedulerInitializationCompleted"]
STOP = ["SchedulerStopRequested", "PollingStopRequested", "PollingStopped", "SchedulerStopped"]
LATER = "0 0 1 1 *"


def states(scheduler: Scheduler) -> tuple[str, str]:
    found = re.search(r": (\w+), polling (\w+)>", repr(scheduler))
    assert found
    return found[1], found[2]


@pytest.mark.req("DECL-29", "DECL-36")
@staged
async def test_a_life_tells_its_events_in_order(stage: Stage) -> None:
    scheduler = await stage.started(stage.task(delay=10 * SECOND))
    stage.failing.add("a")
    await stage.passes(MINUTE)
    stage.failing.clear()
    await stage.passes(10 * SECOND)
    stage.failing.add("a")
    stage.takes["a"] = 20 * SECOND
    await stage.passes(49 * SECOND)
    await stage.passes(75 * SECOND)
    await stage.passes(50 * SECOND)
    stage.failing.clear()
    await stage.passes(30 * SECOND)
    await scheduler.stop()
    assert stage.names() == [
        *START,
        *("TaskRunStarted", "TaskRunCompleted"),  # the present minute matches
        *("TaskRunStarted", "TaskRunFailed", "TaskRetryStarted", "TaskRunCompleted"),
        *("TaskRunStarted", "TaskRunFailed", "TaskRetryStarted", "TaskRunFailed"),
        *("TaskRetryPreempted", "TaskRunStarted", "TaskRunFailed"),
        *("TaskRetryStarted", "TaskRunFailed", "TaskRetryPreempted", "TaskRunStarted", "TaskRunCompleted"),
        *STOP,
    ]


@pytest.mark.req("DECL-19")
@staged
async def test_states_follow_the_document(stage: Stage) -> None:
    scheduler = stage.scheduler()
    assert states(scheduler) == ("uninitialized", "inactive")
    starting = asyncio.ensure_future(scheduler.initialize([stage.task()]))
    await asyncio.sleep(0)  # noqa: TID251 - a turn, no time
    seen = [states(scheduler)]
    await starting
    seen.append(states(scheduler))
    stage.takes["a"] = 10 * SECOND
    await stage.passes(MINUTE)
    stopping = asyncio.ensure_future(scheduler.stop())
    await stage.clock.settle()
    seen.append(states(scheduler))
    await stage.passes(10 * SECOND)
    await stopping
    seen.append(states(scheduler))
    assert seen == [
        ("initializing", "inactive"),
        ("running", "active"),
        ("stopping", "stopping"),
        ("stopped", "inactive"),
    ]


@pytest.mark.req("DECL-19", "DECL-36")
@staged
async def test_initialize_while_active_raises_and_changes_nothing(stage: Stage) -> None:
    scheduler = stage.scheduler()
    both = await asyncio.gather(
        scheduler.initialize([stage.task()]), scheduler.initialize([stage.task("b")]), return_exceptions=True
    )
    assert both[0] is None
    errors = [both[1]]
    told = stage.names()
    for registrations in ([stage.task()], [stage.task("b")], "wrong"):
        with pytest.raises(SchedulerAlreadyActiveError) as error:
            await scheduler.initialize(registrations)
        errors.append(error.value)
    assert [(str(e), e.details) for e in errors if isinstance(e, SchedulerAlreadyActiveError)] == [
        (f"Cannot initialize scheduler: scheduler is already {state}", {"current_state": state})
        for state in ("initializing", "running", "running", "running")
    ]
    assert stage.names() == told
    assert list(await read_tasks(stage.store)) == ["a"]
    await scheduler.stop()


@pytest.mark.req("DECL-20", "DECL-38")
@pytest.mark.parametrize(
    ("verb", "step"), [("jobs", "reading the persisted tasks"), ("reconcile", "applying the registrations")]
)
def test_a_start_that_fails_leaves_nothing_behind(stage: Stage, verb: str, step: str) -> None:
    @staged
    async def play(stage: Stage) -> None:
        scheduler = stage.scheduler()
        for cause, told in (
            (ValueError("postgres://me:secret@host"), "ValueError"),
            (StoreUnavailableError("verb", "disk full"), "StoreUnavailableError: verb: disk full"),
        ):
            stage.store.failures[verb] = cause
            with pytest.raises(SchedulerInitializationError) as caught:
                await scheduler.initialize([stage.task()])
            error = caught.value
            assert str(error) == f"Cannot initialize scheduler: {step} failed with {told}"
            assert error.details == {"step": step, "cause": cause}
            assert error.__cause__ is cause
            assert states(scheduler) == ("uninitialized", "inactive")
            assert stage.names() == ["SchedulerInitializationStarted", "SchedulerInitializationFailed"]
            assert isinstance(stage.told[-1], SchedulerInitializationFailed)
            assert stage.told[-1].error is error
            stage.store.failures.clear()
            assert await read_tasks(stage.store) == {}
            stage.told.clear()
        await scheduler.initialize([stage.task()])
        await scheduler.stop()
        assert stage.names()[:3] == START

    play(stage)


@staged
async def test_a_start_that_is_cancelled_leaves_nothing_behind(stage: Stage) -> None:
    scheduler = stage.scheduler()
    starting = asyncio.ensure_future(scheduler.initialize([stage.task()]))
    await asyncio.sleep(0)  # noqa: TID251 - a turn, no time
    starting.cancel()
    await asyncio.wait((starting,))
    if starting.cancelled():  # memory may have been quicker
        assert states(scheduler) == ("uninitialized", "inactive")
        await scheduler.initialize([stage.task()])
    await scheduler.stop()
    assert states(scheduler) == ("stopped", "inactive")


@pytest.mark.req("DECL-21")
@staged
async def test_stop_waits_for_initialize_and_for_callbacks_however_long(stage: Stage) -> None:
    stage.takes = {"a": 10 * MINUTE, "b": 3 * MINUTE}
    stage.failing.add("b")
    scheduler = stage.scheduler()
    starting = asyncio.ensure_future(scheduler.initialize([stage.task(cron="1 12 * * *"), stage.task("b")]))
    await asyncio.sleep(0)  # noqa: TID251 - a turn, no time
    early = asyncio.ensure_future(scheduler.stop())
    await asyncio.wait((starting, early))
    assert states(scheduler) == ("stopped", "inactive")
    assert stage.starts == []

    await scheduler.initialize([stage.task(cron="1 12 * * *"), stage.task("b")])
    await stage.passes(MINUTE)
    assert sorted(name for name, _ in stage.starts) == ["a", "b"]
    stops = [asyncio.ensure_future(scheduler.stop()) for _ in range(3)]
    await stage.passes(9 * MINUTE)
    assert not any(stop.done() for stop in stops)
    assert states(scheduler) == ("stopping", "stopping")
    await stage.passes(MINUTE)
    await asyncio.gather(*stops)
    assert not +stage.running
    assert stage.names().count("SchedulerStopped") == 2
    calls = len(stage.starts)
    await stage.passes(10 * MINUTE)
    assert len(stage.starts) == calls


@staged
async def test_initialize_while_stopping_waits_and_one_of_several_proceeds(stage: Stage) -> None:
    stage.takes["a"] = MINUTE
    scheduler = await stage.started(stage.task())
    stopping = asyncio.ensure_future(scheduler.stop())
    await stage.clock.settle()
    again = [asyncio.ensure_future(scheduler.initialize([stage.task("b", LATER)])) for _ in range(2)]
    await stage.clock.settle()
    assert not any(task.done() for task in again)
    await stage.passes(MINUTE)
    await stopping
    ends = await asyncio.gather(*again, return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["NoneType", "SchedulerAlreadyActiveError"]
    assert states(scheduler) == ("running", "active")
    await scheduler.stop()


@pytest.mark.req("DECL-21")
@staged
async def test_a_stop_also_stops_the_initialize_before_it_that_waits_for_another_stop(stage: Stage) -> None:
    stage.takes["a"] = MINUTE
    scheduler = await stage.started(stage.task())
    first = asyncio.ensure_future(scheduler.stop())
    await stage.clock.settle()
    again = asyncio.ensure_future(scheduler.initialize([stage.task("b", LATER)]))
    await stage.clock.settle()
    second = asyncio.ensure_future(scheduler.stop())
    await stage.passes(MINUTE)
    await asyncio.gather(first, again, second)
    assert states(scheduler) == ("stopped", "inactive")
    assert list(await read_tasks(stage.store)) == ["b"]


@staged
async def test_a_stop_does_not_stop_an_initialize_that_came_after_it(stage: Stage) -> None:
    """A listener that starts anew when the scheduler has stopped."""
    again: list[asyncio.Future[None]] = []

    def restart(event: SchedulerEvent) -> None:
        if event.name == "SchedulerStopped" and not again:
            again.append(asyncio.ensure_future(scheduler.initialize([stage.task("b", LATER)])))

    scheduler = Scheduler(stage.store, clock=stage.clock, listeners=[restart])
    await scheduler.initialize([stage.task("a", LATER)])
    await scheduler.stop()
    await again[0]
    assert states(scheduler) == ("running", "active")
    await scheduler.stop()


@staged
async def test_stop_when_idle_does_nothing(stage: Stage) -> None:
    scheduler = stage.scheduler()
    await scheduler.stop()
    await scheduler.initialize([stage.task("a", LATER)])
    await scheduler.stop()
    told = stage.names()
    await scheduler.stop()
    assert told == stage.names() == START + STOP


@staged
async def test_whoever_stops_waiting_does_not_stop_the_stop(stage: Stage) -> None:
    stage.takes["a"] = MINUTE
    scheduler = await stage.started(stage.task())
    stopping = asyncio.ensure_future(scheduler.stop())
    await stage.clock.settle()
    stopping.cancel()
    await stage.passes(MINUTE)
    assert states(scheduler) == ("stopped", "inactive")


@pytest.mark.req("DECL-37")
@staged
async def test_polling_is_inactive_without_tasks(stage: Stage) -> None:
    scheduler = await stage.started(stage.task())
    await scheduler.stop()
    stage.told.clear()
    await scheduler.initialize([])
    assert states(scheduler) == ("running", "inactive")
    assert await read_tasks(stage.store) == {}
    await scheduler.stop()
    assert states(scheduler) == ("stopped", "inactive")
    assert stage.names() == [START[0], START[2], STOP[0], STOP[3]]


@pytest.mark.req("DECL-25")
@staged
async def test_each_scheduler_has_an_identifier_of_its_own(stage: Stage) -> None:
    stage.takes["a"] = MINUTE
    one, _ = await stage.started(stage.task()), await stage.started(stage.task(), namespace="other")
    ids = {event.scheduler for event in stage.told}
    assert len(ids) == 2
    task, its = await stage.stored(), await stage.stored(namespace="other")
    assert {task.started_by, its.started_by} == ids
    assert f" {task.started_by}: " in repr(one)


@staged
async def test_a_listener_that_fails_harms_nobody(stage: Stage) -> None:
    told: list[Any] = []

    def bad(_: object) -> None:
        raise ValueError

    scheduler = Scheduler(stage.store, clock=stage.clock, listeners=[bad, told.append])
    await scheduler.initialize([stage.task()])
    await stage.passes(MINUTE)
    await scheduler.stop()
    assert len(told) == len(START) + 4 + len(STOP)


@staged
async def test_a_failure_tells_what_was_raised_and_when_it_is_retried(stage: Stage) -> None:
    stage.failing.add("a")
    await stage.started(stage.task(delay=30 * SECOND))
    failed = stage.told[-1]
    assert isinstance(failed, TaskRunFailed)
    assert (failed.error or "").startswith("RuntimeError: a fails")
    assert failed.pending_retry_until == stage.clock.now() + 30 * SECOND


@pytest.mark.req("DECL-38")
@pytest.mark.parametrize(
    "store", ["redis://:secret@host/no", "mysql://me:secret@host", "mongodb://a:secret@b?w=0"]
)
def test_a_refused_store_does_not_show_its_password(store: str) -> None:
    with pytest.raises(InvalidStoreError) as error:
        Scheduler(store)
    assert "secret" not in f"{error.value}{error.value.details}{error.value.hint}"


def test_what_is_no_store_is_refused() -> None:
    with pytest.raises(InvalidStoreError, match="neither a URL nor an open store"):
        Scheduler(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_by_its_url_a_store_is_opened_for_each_start_and_remembers(kind: str, tmp_path: Path) -> None:
    """The engine has a thread of its own, callbacks and listeners are on the caller's loop."""
    told: list[str] = []
    loops = []

    async def callback() -> None:
        loops.append(asyncio.get_running_loop())
        called.set()

    async def main() -> None:
        for turn in range(2):
            await scheduler.initialize([("a", "* * * * *", callback, MINUTE)])
            if turn == 0:
                await asyncio.wait_for(called.wait(), 60)
            await scheduler.stop()
            assert [name for name in told if "Task" not in name] == (START + STOP) * (turn + 1)
        assert set(loops) == {asyncio.get_running_loop()}

    scheduler = Scheduler(
        "memory://" if kind == "memory" else f"sqlite:///{tmp_path}/tasks.db",
        listeners=[lambda event: told.append(event.name)],
    )
    called = asyncio.Event()
    asyncio.run(main())
    # The second start found the minute served, unless it was another one by then.
    assert 1 <= told.count("TaskRunStarted") == told.count("TaskRunCompleted") <= 2


def test_a_store_that_cannot_be_opened_is_a_failed_start(tmp_path: Path) -> None:
    scheduler = Scheduler(f"sqlite:///{tmp_path}/missing/tasks.db")
    with pytest.raises(SchedulerInitializationError, match="opening the store failed with InvalidStoreError"):
        asyncio.run(scheduler.initialize([]))
    assert states(scheduler) == ("uninitialized", "inactive")
