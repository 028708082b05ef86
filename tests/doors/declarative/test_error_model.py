"""The document's Error Model, word by word: every class, when it is raised, its message, its details.

The messages stand here as the document has them; what it leaves open is filled in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from doors.declarative.scene import NOON, Stage, staged
from foliot import errors as common
from foliot.doors import declarative
from foliot.doors.declarative import Scheduler
from foliot.errors import DamagedRecordError, FoliotError
from foliot.model.attempt import format_instant
from foliot.model.damage import Damage, Flaw, damage_of

MINUTE = timedelta(minutes=1)


async def good() -> None:
    """A callback."""


class Told(NamedTuple):
    """An error of the document."""

    name: str
    message: str
    details: dict[str, Any]


def registered(*registrations: Any) -> Callable[[Stage], Any]:
    return lambda stage: stage.scheduler().initialize(list(registrations))


def damaged(damage: Damage) -> Callable[[Stage], Any]:
    async def act(stage: Stage) -> None:
        scheduler = await stage.started(stage.task())
        await scheduler.stop()
        stage.raw.set_aside("declarative/a", damage)
        await scheduler.initialize([stage.task()])

    return act


async def initialize_twice(stage: Stage) -> None:
    scheduler = stage.scheduler()
    calls = [scheduler.initialize([stage.task()]) for _ in range(2)]
    for end in await asyncio.gather(*calls, return_exceptions=True):
        if end is not None:
            raise end


async def initialize_while_running(stage: Stage) -> None:
    await (await stage.started(stage.task())).initialize([stage.task()])


BAD_SHAPE = ("a", "* * * * *", good)
MODEL: list[tuple[Callable[[Stage], Any], Told]] = [
    (
        lambda stage: stage.scheduler().initialize("no list"),
        Told("RegistrationsNotArrayError", "Registrations must be an array", {}),
    ),
    (
        registered(("ok", "* * * * *", good, MINUTE), BAD_SHAPE),
        Told(
            "RegistrationShapeError",
            "Invalid registration shape: expected [string, string, function, Duration]",
            {"registration_index": 1, "received": BAD_SHAPE},
        ),
    ),
    (
        registered(("", "* * * * *", good, MINUTE)),
        Told(
            "InvalidRegistrationError",
            "Invalid registration: name must not be empty",
            {"field": "name", "value": "", "reason": "must not be empty"},
        ),
    ),
    (
        registered(("a", "* * * * *", good, MINUTE), ("a", "0 0 * * *", good, MINUTE)),
        Told("ScheduleDuplicateTaskError", 'Task with name "a" is already scheduled', {"task_name": "a"}),
    ),
    (
        initialize_twice,
        Told(
            "SchedulerAlreadyActiveError",
            "Cannot initialize scheduler: scheduler is already initializing",
            {"current_state": "initializing"},
        ),
    ),
    (
        initialize_while_running,
        Told(
            "SchedulerAlreadyActiveError",
            "Cannot initialize scheduler: scheduler is already running",
            {"current_state": "running"},
        ),
    ),
    (
        registered(("a", "*/15 * * * *", good, MINUTE)),
        Told(
            "InvalidCronExpressionError",
            'Invalid cron expression "*/15 * * * *": '
            "minute field slash syntax not supported (POSIX violation)",
            {
                "expression": "*/15 * * * *",
                "field": "minute",
                "reason": "slash syntax not supported (POSIX violation)",
            },
        ),
    ),
    (
        registered(("a", "* * * * *", good, timedelta(milliseconds=-1500))),
        Told("NegativeRetryDelayError", "Retry delay must be non-negative", {"retry_delay_ms": -1500}),
    ),
    (
        registered(("a", "0 0 30 2 *", good, MINUTE)),
        Told(
            "CronCalculationError",
            "Failed to calculate next occurrence: no valid execution times: there is no day 30 in month 2",
            {"expression": "0 0 30 2 *", "current_time": format_instant(NOON), "cause": ...},
        ),
    ),
    (
        damaged(damage_of(DamagedRecordError("created_at", None, "is missing", flaw=Flaw.MISSING))),
        Told("TaskMissingFieldError", "Missing required field: created_at", {"field": "created_at"}),
    ),
    (
        damaged(
            damage_of(
                DamagedRecordError("token", "x", "must be a number", flaw=Flaw.TYPE, expected="a number")
            )
        ),
        Told(
            "TaskInvalidTypeError",
            "Invalid type for field 'token': expected a number, got string",
            {"field": "token", "value": "x", "expected_type": "a number", "actual_type": "string"},
        ),
    ),
    (
        damaged(damage_of(DamagedRecordError("token", -1, "is negative"))),
        Told(
            "TaskInvalidValueError",
            "Invalid value for field 'token': is negative",
            {"field": "token", "value": -1, "reason": "is negative"},
        ),
    ),
    (
        damaged(damage_of(DamagedRecordError("job", "{", "is not JSON", flaw=Flaw.STRUCTURE))),
        Told("TaskInvalidStructureError", "Invalid task structure: job is not JSON", {"value": "{"}),
    ),
]


@pytest.mark.req("DECL-04", "DECL-38")
@pytest.mark.parametrize(("act", "told"), MODEL, ids=[told.name for _, told in MODEL])
def test_every_error_says_what_the_document_says(act: Callable[[Stage], Any], told: Told) -> None:
    @staged
    async def play(stage: Stage) -> None:
        with pytest.raises(FoliotError) as caught:
            await act(stage)
        error = caught.value
        expected = {key: error.__cause__ if value is ... else value for key, value in told.details.items()}
        assert (type(error).__name__, str(error), error.details) == (told.name, told.message, expected)

    play(Stage(None))


@pytest.mark.req("DECL-04", "DECL-39")
def test_all_classes_of_the_document_are_there_and_stand_where_it_says() -> None:
    named = {told.name for _, told in MODEL}
    for name in named | {"CronExpressionInvalidError", "FieldParseError", "TaskTryDeserializeError"}:
        assert issubclass(getattr(declarative, name, None) or getattr(common, name), FoliotError)
    assert issubclass(common.InvalidCronExpressionError, common.CronExpressionInvalidError)
    for name in named:
        if name.startswith("Task"):
            assert issubclass(getattr(declarative, name), declarative.TaskTryDeserializeError)


@pytest.mark.req("DECL-04")
def test_the_field_that_cannot_be_read_is_the_cause_of_a_cron_error() -> None:
    with pytest.raises(common.InvalidCronExpressionError) as caught:
        asyncio.run(Scheduler("memory://").initialize([("a", "0 25 * * *", good, MINUTE)]))
    cause = caught.value.__cause__
    assert isinstance(cause, common.FieldParseError)
    assert cause.details == {"field_value": "25", "field_name": "hour"}
    assert str(cause) == 'hour field "25" value 25 out of range (0-23)'
