"""Persisted state that cannot be read: the error that fits is raised, and nothing is overwritten."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from doors.declarative.scene import Stage, staged
from foliot.doors.declarative import (
    TaskInvalidStructureError,
    TaskInvalidTypeError,
    TaskInvalidValueError,
    TaskMissingFieldError,
    TaskTryDeserializeError,
    read_tasks,
)
from foliot.errors import DamagedRecordError
from foliot.model.damage import Damage, Flaw, damage_of
from foliot.protocols import JobQuery

LATER = "0 0 1 1 *"


# What the store says, the error, its message, its details.
DAMAGES: list[tuple[Damage, type[TaskTryDeserializeError], str, dict[str, Any]]] = [
    (
        damage_of(DamagedRecordError("schedule.timezone", None, "is missing", flaw=Flaw.MISSING)),
        TaskMissingFieldError,
        "Missing required field: schedule.timezone",
        {"field": "schedule.timezone"},
    ),
    (
        damage_of(
            DamagedRecordError(
                "enabled", 5, "must be true or false", flaw=Flaw.TYPE, expected="true or false"
            )
        ),
        TaskInvalidTypeError,
        "Invalid type for field 'enabled': expected true or false, got number",
        {"field": "enabled", "value": 5, "expected_type": "true or false", "actual_type": "number"},
    ),
    (
        damage_of(DamagedRecordError("schedule.cron", "99 * * * *", "is out of range")),
        TaskInvalidValueError,
        "Invalid value for field 'schedule.cron': is out of range",
        {"field": "schedule.cron", "value": "99 * * * *", "reason": "is out of range"},
    ),
    (
        damage_of(DamagedRecordError("job", "{oops", "is not JSON", flaw=Flaw.STRUCTURE)),
        TaskInvalidStructureError,
        "Invalid task structure: job is not JSON",
        {"value": "{oops"},
    ),
    (
        damage_of(KeyError(9)),
        TaskInvalidStructureError,
        "Invalid task structure: KeyError: 9",
        {"value": None},
    ),
]


@pytest.mark.req("DECL-04", "DECL-27", "DECL-39")
@pytest.mark.parametrize(("damage", "kind", "message", "details"), DAMAGES)
def test_damage_is_told_in_the_words_of_the_document(
    damage: Damage, kind: type[TaskTryDeserializeError], message: str, details: dict[str, Any]
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


# What is done to the file, and: the field, what it must be and what it is.
WRONG_TYPES = [
    ("states SET next_at = 'soon'", "next_at", "an instant", "string"),
    ("states SET last_attempt_at = 1.5", "last_attempt_at", "an instant", "number"),
    ("states SET created_at = 'x'", "created_at", "an instant", "string"),
    ("states SET token = 'x'", "token", "a whole number", "string"),
    ("attempts SET token = 'x'", "token", "a whole number", "string"),
    ("attempts SET wake_at = 'x'", "wake_at", "an instant", "string"),
    ("jobs SET frame = replace(frame, '\"enabled\":true', '\"enabled\":1')", "enabled", "true or false",
     "number"),
]  # fmt: skip
# ... the field, and why it cannot be right.
WRONG_VALUES = [
    ("states SET next_at = 9000000000000000000", "next_at", "is beyond all bounds of an instant"),
    ("states SET fired_count = -5", "fired_count", "is beyond all bounds of a whole number"),
    ("attempts SET trigger = 77", "trigger", "is not known"),
    ("jobs SET frame = replace(frame, '\"cron\":', '\"corn\":')", "schedule", "must have one of the fields "),
    (
        'jobs SET frame = replace(frame, \'"cron":"*\', \'"cron":"x\')',
        "schedule.cron",
        'Invalid cron expression "x * * * *": minute field ',
    ),
]
# ... why it is no task at all.
BROKEN = [
    ("jobs SET frame = '{'", "job is not JSON: "),
    ("jobs SET frame = '[]'", "job must be an object"),
    ("jobs SET data = '[]'", "action.data must be an object"),
    ("policies SET text = '{'", "policy is not JSON: "),
]
FILE_DAMAGES: list[tuple[str, type[TaskTryDeserializeError], str]] = [
    *(
        (change, TaskInvalidTypeError, f"Invalid type for field '{field}': expected {expected}, got {actual}")
        for change, field, expected, actual in WRONG_TYPES
    ),
    *(
        (change, TaskInvalidValueError, f"Invalid value for field '{field}': {reason}")
        for change, field, reason in WRONG_VALUES
    ),
    *((change, TaskInvalidStructureError, f"Invalid task structure: {reason}") for change, reason in BROKEN),
    (
        "jobs SET frame = replace(frame, ',\"timezone\":\"UTC\"', '')",
        TaskMissingFieldError,
        "Missing required field: schedule.timezone",
    ),
]


@pytest.mark.req("DECL-27")
@pytest.mark.parametrize(("change", "kind", "message"), FILE_DAMAGES)
def test_damage_in_a_file_raises_and_nothing_is_overwritten(
    tmp_path: Path, change: str, kind: type[TaskTryDeserializeError], message: str
) -> None:
    file = tmp_path / "tasks.db"

    @staged
    async def play(stage: Stage, *, is_damaged: bool) -> None:
        if not is_damaged:
            stage.failing.add("a")  # its retry is an open attempt
            await (await stage.started(stage.task())).stop()
            return
        with pytest.raises(TaskTryDeserializeError) as error:
            await stage.scheduler().initialize([stage.task(cron=LATER)])
        assert type(error.value) is kind
        assert str(error.value).startswith(message)

    play(Stage(file), is_damaged=False)
    dump(file, f"UPDATE {change}")
    before = dump(file)
    for _ in range(2):  # it is set aside by then, and told all the same
        play(Stage(file), is_damaged=True)
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
