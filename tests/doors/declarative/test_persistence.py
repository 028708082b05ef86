"""What is kept over restarts, what an override changes, and what happens to damaged state."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from doors.declarative.scene import DAY, HOUR, MINUTE, NOON, SECOND, Stage, crash, staged
from foliot.doors.declarative import (
    SchedulerInitializationError,
    TaskInvalidStructureError,
    TaskInvalidTypeError,
    TaskInvalidValueError,
    TaskMissingFieldError,
    TaskRunFailed,
    TaskTryDeserializeError,
    read_tasks,
)
from foliot.engine import reconciler
from foliot.engine.plan_definition import plan_declared
from foliot.protocols import JobQuery, RunQuery

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


@staged
async def test_a_task_that_is_registered_elsewhere_fails_here_and_says_why(stage: Stage) -> None:
    await stage.started(stage.task("a", LATER))
    other = await stage.started(stage.task("a", LATER), stage.task("b", "1 12 * * *", delay=SECOND))
    await other.stop()
    await stage.passes(MINUTE)
    failed = [event for event in stage.told if isinstance(event, TaskRunFailed)]
    assert (failed[0].error or "").startswith("LookupError: task b is not registered with this scheduler")


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
        patch.setattr(reconciler, "plan_declared", fail_at_c)
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


# What the store says, the error, its message, its details.
DAMAGES: list[tuple[str, type[TaskTryDeserializeError], str, dict[str, Any]]] = [
    (
        "DamagedRecordError: invalid schedule.timezone None: is missing",
        TaskMissingFieldError,
        "Missing required field: schedule.timezone",
        {"field": "schedule.timezone"},
    ),
    (
        "DamagedRecordError: invalid enabled 5: must be true or false",
        TaskInvalidTypeError,
        "Invalid type for field 'enabled': expected true or false, got number",
        {"field": "enabled", "value": "5", "expected_type": "true or false", "actual_type": "number"},
    ),
    (
        "TypeError: 'yesterday' is no instant",
        TaskInvalidTypeError,
        "Invalid type for field 'state': expected an instant, got string",
        {"field": "state", "value": "'yesterday'", "expected_type": "an instant", "actual_type": "string"},
    ),
    (
        'DamagedRecordError: invalid schedule.cron 99 * * * *: Invalid cron expression "99 * * * *"',
        TaskInvalidValueError,
        "Invalid value for field 'schedule.cron': Invalid cron expression \"99 * * * *\"",
        {
            "field": "schedule.cron",
            "value": "99 * * * *",
            "reason": 'Invalid cron expression "99 * * * *"',
        },
    ),
    (
        "DamagedRecordError: invalid job {oops: is not JSON: Expecting a name at character 2",
        TaskInvalidStructureError,
        "Invalid task structure: job is not JSON: Expecting a name at character 2",
        {"value": "{oops"},
    ),
    (
        "KeyError: 9",
        TaskInvalidStructureError,
        "Invalid task structure: KeyError: 9",
        {"value": "KeyError: 9"},
    ),
]


@pytest.mark.req("DECL-04", "DECL-27", "DECL-39")
@pytest.mark.parametrize(("damage", "kind", "message", "details"), DAMAGES)
def test_damage_is_told_in_the_words_of_the_document(
    damage: str, kind: type[TaskTryDeserializeError], message: str, details: dict[str, Any]
) -> None:
    @staged
    async def play(stage: Stage) -> None:
        scheduler = await stage.started(stage.task(), stage.task("b"))
        await scheduler.stop()
        stage.raw.set_aside("declarative/b", damage)
        before = await stage.store.jobs(JobQuery())
        with pytest.raises(TaskTryDeserializeError) as error:
            await scheduler.initialize([stage.task(cron=LATER), stage.task("b", LATER)])
        assert (type(error.value), str(error.value), error.value.details) == (kind, message, details)
        assert error.value.hint == "repair or remove what is stored of b"
        assert await stage.store.jobs(JobQuery()) == before
        assert stage.names()[-2:] == ["SchedulerInitializationStarted", "SchedulerInitializationFailed"]

    play(Stage(None))


@pytest.mark.req("DECL-27")
@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE states SET next_at = 'soon'", TaskInvalidTypeError),
        ("UPDATE states SET last_attempt_at = 'then'", TaskInvalidTypeError),
        ("UPDATE states SET token = 'x'", TaskInvalidTypeError),
        ("UPDATE states SET fired_count = -5", TaskInvalidValueError),
        ("UPDATE states SET created_at = 'x'", TaskInvalidTypeError),
        ("UPDATE jobs SET frame = replace(frame, 'cron', 'corn')", TaskTryDeserializeError),
        ("UPDATE jobs SET frame = '{'", TaskInvalidStructureError),
        ("UPDATE jobs SET frame = '[]'", TaskInvalidStructureError),
        ('UPDATE jobs SET frame = replace(frame, \'"cron":"*\', \'"cron":"x\')', TaskInvalidValueError),
        ("UPDATE jobs SET frame = replace(frame, '\"enabled\":true', '\"enabled\":1')", TaskInvalidTypeError),
    ],
)
def test_damage_in_a_file_raises_and_nothing_is_overwritten(
    tmp_path: Path, statement: str, kind: type[TaskTryDeserializeError]
) -> None:
    file = tmp_path / "tasks.db"

    @staged
    async def play(stage: Stage, kind: type[TaskTryDeserializeError] | None = None) -> None:
        if kind is None:
            await (await stage.started(stage.task())).stop()
            return
        with pytest.raises(kind):
            await stage.scheduler().initialize([stage.task(cron=LATER)])

    play(Stage(file))
    dump(file, statement)
    before = dump(file)
    play(Stage(file), kind=kind)
    assert dump(file) == before


def test_what_was_removed_by_hand_counts_as_new(tmp_path: Path) -> None:
    file = tmp_path / "tasks.db"

    @staged
    async def play(stage: Stage, names: list[str]) -> None:
        await (await stage.started(stage.task("a"), stage.task("b"))).stop()
        assert [name for name, _ in stage.starts] == names
        assert sorted(await read_tasks(stage.store)) == ["a", "b"]

    play(Stage(file), names=["a", "b"])
    dump(file, "DELETE FROM states WHERE job_no = (SELECT job_no FROM jobs WHERE key = 'declarative/b')")
    dump(file, "DELETE FROM jobs WHERE key = 'declarative/b'")
    play(Stage(file), names=["b"])


def dump(file: Path, statement: str | None = None) -> list[Any]:
    """All that is stored of tasks, but for the mark that it is damaged; after a change, if one is given."""
    connection = sqlite3.connect(file)
    try:
        if statement is not None:
            with connection:
                connection.execute("PRAGMA ignore_check_constraints = ON")
                assert connection.execute(statement).rowcount > 0
        tables = [
            connection.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608 - our own names
            for name in ("jobs", "policies", "attempts", "skips", "sources")
        ]
        columns = [row[1] for row in connection.execute("PRAGMA table_info(states)") if row[1] != "damage"]
        tables.append(connection.execute(f"SELECT {', '.join(columns)} FROM states").fetchall())  # noqa: S608 - as above
        return tables
    finally:
        connection.close()
