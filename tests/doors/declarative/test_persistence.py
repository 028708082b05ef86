"""What is kept over restarts, and what an override changes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doors.declarative.scene import DAY, HOUR, MINUTE, NOON, SECOND, Stage, crash, staged
from foliot.doors.declarative import (
    SchedulerInitializationError,
    read_tasks,
)
from foliot.engine import plan_definition
from foliot.engine.plan_definition import plan_declared
from foliot.protocols import Changes, JobQuery, RunQuery
from foliot.schedules import Cron

LATER = "0 0 1 1 *"


@pytest.mark.req("DECL-12")
@staged
async def test_what_was_missed_causes_one_run(stage: Stage) -> None:
    registration = stage.task(cron="0,15,30,45 * * * *")
    await (await stage.started(registration)).stop()
    await stage.passes(HOUR + MINUTE)
    await stage.started(registration)
    await stage.passes(13 * MINUTE)
    assert stage.times() == ["12:00", "13:01"]
    await stage.passes(MINUTE)
    assert stage.times() == ["12:00", "13:01", "13:15"]


@pytest.mark.parametrize("outage", [MINUTE, 2 * MINUTE, 90 * MINUTE, DAY, 31 * DAY, 400 * DAY], ids=str)
@pytest.mark.parametrize("cron", ["* * * * *", "0 * * * *", "0 12 * * *"])
@pytest.mark.req("DECL-12")
def test_an_outage_of_any_length_gives_one_catch_up(stage: Stage, cron: str, outage: Any) -> None:
    """R6. An occurrence that did not come during the outage is not caught up, of course."""

    @staged
    async def play(stage: Stage) -> None:
        await stage.started(stage.task(cron=cron))
        await crash()
        before = len(stage.starts)
        stage.clock._waiting.clear()  # of those who died
        await stage.passes(outage + 30 * SECOND)
        (view,) = await stage.store.jobs(JobQuery())
        owed = view.record.job.schedule.previous(stage.clock.now()) > NOON
        await stage.started(stage.task(cron=cron))
        await stage.passes(20 * SECOND)
        assert len(stage.starts) - before == owed

    play(stage)


@pytest.mark.req("DECL-13")
@staged
async def test_a_task_that_never_ran_is_not_caught_up(stage: Stage) -> None:
    registration = stage.task(cron="30 * * * *")
    await (await stage.started(registration)).stop()
    await stage.passes(3 * HOUR)
    await stage.started(registration)
    assert stage.starts == []
    await stage.passes(HOUR)
    assert stage.times() == ["15:30"]


@pytest.mark.req("DECL-18", "DECL-35")
@staged
async def test_timestamps_survive_restart_crash_and_override(stage: Stage) -> None:
    scheduler = await stage.started(stage.task(cron="0,1 * * * *", delay=HOUR))
    stage.failing.add("a")
    await stage.passes(90 * SECOND)
    expected = (NOON + MINUTE, NOON, NOON + MINUTE, NOON + MINUTE + HOUR)
    for turn in range(4):
        task = await stage.stored()
        found = (task.last_attempt_at, task.last_success_at, task.last_failure_at, task.pending_retry_until)
        assert found == expected
        if turn == 0:
            await scheduler.stop()
            await stage.started(stage.task(cron="0,1 * * * *", delay=HOUR))
        elif turn == 1:
            await crash()
        else:
            await stage.started(stage.task(cron=LATER, delay=2 * HOUR), namespace="declarative")
            await crash()
    assert (await stage.stored()).as_json() == {
        "name": "a",
        "cron": LATER,
        "timezone": "UTC",
        "retry_delay_ms": 7_200_000,
        "state": "awaiting_retry",
        "last_attempt_at": "2026-03-10T12:01:00Z",
        "last_success_at": "2026-03-10T12:00:00Z",
        "last_failure_at": "2026-03-10T12:01:00Z",
        "pending_retry_until": "2026-03-10T13:01:00Z",
        "started_by": None,
    }


@pytest.mark.req("DECL-18")
@staged
async def test_the_last_success_survives_any_number_of_failures(stage: Stage) -> None:
    await stage.started(stage.task(delay=10 * SECOND))
    stage.failing.add("a")
    await stage.passes(25 * MINUTE)
    assert (await stage.stored()).last_success_at == NOON


@pytest.mark.req("DECL-24")
@staged
async def test_new_preserved_overridden_and_dropped_tasks(stage: Stage) -> None:
    tasks = [stage.task("same", LATER), stage.task("cron"), stage.task("delay", LATER), stage.task("gone")]
    await (await stage.started(*tasks, namespace="mine")).stop()
    await (await stage.started(stage.task("theirs"), namespace="other")).stop()
    before = {view.key: view.record for view in await stage.store.jobs(JobQuery())}
    await (
        await stage.started(
            stage.task("new", LATER),
            stage.task("same", LATER),
            stage.task("cron", "5 * * * *"),
            stage.task("delay", LATER, HOUR),
            namespace="mine",
        )
    ).stop()
    after = {view.key: view.record for view in await stage.store.jobs(JobQuery())}
    assert sorted(after) == ["mine/cron", "mine/delay", "mine/new", "mine/same", "other/theirs"]
    assert after["mine/same"] == before["mine/same"]
    assert after["other/theirs"] == before["other/theirs"]
    found = await read_tasks(stage.store, "mine")
    assert (found["cron"].cron, found["cron"].last_success_at) == ("5 * * * *", NOON)
    assert found["delay"].retry_delay == HOUR


@pytest.mark.req("DECL-24", "DECL-31")
@pytest.mark.parametrize("cron", ["0 12 * * *", "1 12 * * *"], ids=["preserved", "overridden"])
def test_an_orphan_is_restarted_and_the_task_of_a_living_scheduler_is_none(stage: Stage, cron: str) -> None:
    @staged
    async def play(stage: Stage) -> None:
        stage.takes["a"] = DAY
        await stage.started(stage.task(cron="0 12 * * *"))
        await stage.started(stage.task(cron="0 12 * * *"))
        await stage.passes(5 * MINUTE)
        assert stage.times() == ["12:00"]  # the first one lives, and its task with it
        await crash()
        stage.clock._waiting.clear()
        died_at = stage.clock.now()
        await stage.passes(SECOND)
        stage.takes.clear()
        await stage.started(stage.task(cron=cron))
        await stage.passes(MINUTE)
        assert [at - died_at <= MINUTE for _, at in stage.starts[1:]] == [True]
        assert stage.of_tasks()[-2:] == ["TaskRunStarted", "TaskRunCompleted"]

    play(stage)


@pytest.mark.req("DECL-24")
@staged
async def test_what_is_stored_counts_and_not_what_was_registered_last(stage: Stage) -> None:
    """Somebody has changed a persisted task by hand: it differs, and is overridden like any other."""
    registrations = [stage.task(cron=LATER), stage.task("b", LATER)]
    scheduler = await stage.started(*registrations)
    for _ in range(2):
        await scheduler.stop()
        await scheduler.initialize(registrations)
    await scheduler.stop()
    (view, *_) = await stage.store.jobs(JobQuery())
    edited = replace(view.record.job, schedule=Cron("7 * * * *", timezone="UTC", dialect="posix"))
    await stage.store.reconcile(
        "declarative",
        await stage.store.revision("declarative"),
        await stage.store.revision("declarative") + "-by-hand",
        Changes((edited,)),
        declared=lambda job, record: plan_declared(job, record, NOON),
        removed=None,
    )
    assert (await stage.stored()).cron == "7 * * * *"
    await scheduler.initialize(registrations)
    assert (await stage.stored()).cron == LATER


@pytest.mark.req("DECL-11", "DECL-24")
@pytest.mark.parametrize(("has_run", "cron", "calls"), [
    (False, "0 12 * * *", ["12:00:30"]),
    (False, "59 11 * * *", []),
    (True, "0 12 * * *", ["12:00"]),
    (True, "0,1 12 * * *", ["12:00", "12:01"]),
])  # fmt: skip
def test_an_override_whose_rule_matches_the_present_minute_runs_unless_it_has(
    stage: Stage, cron: str, calls: list[str], *, has_run: bool
) -> None:
    @staged
    async def play(stage: Stage) -> None:
        scheduler = await stage.started(stage.task(cron="* * * * *" if has_run else "30 * * * *"))
        await scheduler.stop()
        await stage.passes(30 * SECOND)
        await scheduler.initialize([stage.task(cron=cron)])
        await stage.passes(2 * MINUTE)
        assert stage.times() == calls

    play(stage)


@pytest.mark.req("DECL-26", "DECL-33")
@staged
async def test_an_override_is_all_or_nothing(stage: Stage) -> None:
    tasks = [stage.task(name, LATER) for name in "abc"]
    scheduler = await stage.started(*tasks)
    await scheduler.stop()
    before = await stage.store.jobs(JobQuery())
    revision = await stage.store.revision("declarative")

    def fail_at_c(job: Any, record: Any, now: Any) -> Any:
        if job.name == "c":
            raise OSError("no space left")
        return plan_declared(job, record, now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_definition, "plan_declared", fail_at_c)
        with pytest.raises(SchedulerInitializationError) as error:
            await scheduler.initialize([stage.task(name, "5 * * * *") for name in "abc"])
    assert isinstance(error.value.details["cause"], OSError)
    assert await stage.store.jobs(JobQuery()) == before
    assert await stage.store.revision("declarative") == revision
    await scheduler.initialize([stage.task(name, "5 * * * *") for name in "abc"])
    assert {task.cron for task in (await read_tasks(stage.store)).values()} == {"5 * * * *"}


@pytest.mark.req("DECL-28", "DECL-33")
@staged
async def test_the_same_registrations_write_nothing_and_decide_the_same(stage: Stage) -> None:
    tasks = [stage.task(name, "5 * * * *") for name in "ba"]
    scheduler = await stage.started(*tasks)
    before = await stage.store.jobs(JobQuery())
    for _ in range(3):
        await scheduler.stop()
        await scheduler.initialize(list(reversed(tasks)))
    assert await stage.store.jobs(JobQuery()) == before
    assert stage.starts == []
    await stage.passes(5 * MINUTE)
    assert sorted(stage.starts) == [("a", NOON + 5 * MINUTE), ("b", NOON + 5 * MINUTE)]


@pytest.mark.req("DECL-28")
def test_equal_worlds_make_equal_decisions(tmp_path: Path) -> None:
    """The memory and the SQLite store see the same life, twice each: all that is stored is the same."""

    async def live(stage: Stage) -> Any:
        async with stage:
            stage.failing.add("b")
            stage.takes["c"] = 100 * SECOND
            names = [stage.task(name, delay=20 * SECOND) for name in "abc"]
            scheduler = await stage.started(*names)
            await stage.passes(3 * MINUTE)
            stopping = asyncio.ensure_future(scheduler.stop())
            await stage.passes(2 * MINUTE)
            await stopping
            await stage.started(*names)
            await stage.passes(MINUTE)
            runs = await stage.store.runs(RunQuery())
            return [(a.run_key, a.number, a.trigger, a.outcome, a.claimed_at, a.finished_at) for a in runs]

    lives = [asyncio.run(live(Stage(file))) for file in (None, None, tmp_path / "a", tmp_path / "b")]
    assert lives[0] == lives[1] == lives[2] == lives[3]
