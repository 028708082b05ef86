"""What can be registered, what cannot, and what is said then: every message is the document's."""

from __future__ import annotations

import asyncio
import inspect
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from doors.declarative.scene import HOUR, MINUTE, Stage, staged
from foliot.doors.declarative import ScheduleDuplicateTaskError, Scheduler, TaskRunCompleted, read_tasks
from foliot.errors import (
    CronCalculationError,
    FoliotError,
    InvalidCronExpressionError,
    InvalidJobError,
    NeverMatchesError,
)
from foliot.protocols import JobQuery
from foliot.schedules import Cron

SHAPE = "Invalid registration shape: expected [string, string, function, Duration]"


async def good() -> None:
    """A callback."""


async def needs(_: int) -> None:
    """A callback that wants an argument."""


async def may(_: int = 1) -> None:
    """A callback that could do with one."""


class Called:
    async def __call__(self) -> None: ...

    async def method(self) -> None: ...


OK = ("ok", "* * * * *", good, MINUTE)
# what is registered, the error's name, its message, its details
WRONG: list[tuple[Any, str, str, dict[str, Any]]] = [
    (None, "RegistrationsNotArrayError", "Registrations must be an array", {}),
    ({}, "RegistrationsNotArrayError", "Registrations must be an array", {}),
    ("abcd", "RegistrationsNotArrayError", "Registrations must be an array", {}),
    ((r for r in [OK]), "RegistrationsNotArrayError", "Registrations must be an array", {}),
    *(
        ([OK, bad], "RegistrationShapeError", SHAPE, {"registration_index": 1, "received": bad})
        for bad in (
            None,
            "abcd",
            (),
            ("a", "* * * * *", good),
            ("a", "* * * * *", good, MINUTE, 1),
            (1, "* * * * *", good, MINUTE),
            ("a", 1, good, MINUTE),
            ("a", "* * * * *", None, MINUTE),
            ("a", "* * * * *", lambda: None, MINUTE),
            ("a", "* * * * *", needs, MINUTE),
            ("a", "* * * * *", good, 60),
            ("a", "* * * * *", good, "1m"),
            ("a", "* * * * *", good, None),
        )
    ),
    (
        [("", "* * * * *", good, MINUTE)],
        "InvalidRegistrationError",
        "Invalid registration: name must not be empty",
        {"field": "name", "value": "", "reason": "must not be empty"},
    ),
    (
        [("x" * 200_001, "* * * * *", good, MINUTE)],
        "InvalidRegistrationError",
        "Invalid registration: name is too long to be kept",
        {"field": "name", "value": "x" * 200_001, "reason": "is too long to be kept"},
    ),
    (
        [("a", "* * * * *", good, timedelta(days=40_000))],
        "InvalidRegistrationError",
        "Invalid registration: retry_delay must be at most a hundred years",
        {
            "field": "retry_delay",
            "value": timedelta(days=40_000),
            "reason": "must be at most a hundred years",
        },
    ),
    (
        [("a", "* * * * *", good, timedelta(milliseconds=-1500))],
        "NegativeRetryDelayError",
        "Retry delay must be non-negative",
        {"retry_delay_ms": -1500},
    ),
    (
        [OK, ["ok", "0 0 * * *", good, MINUTE]],
        "ScheduleDuplicateTaskError",
        'Task with name "ok" is already scheduled',
        {"task_name": "ok"},
    ),
    (
        [("a", "61 * * * *", good, MINUTE)],
        "InvalidCronExpressionError",
        'Invalid cron expression "61 * * * *": minute field value 61 out of range (0-59)',
        {"expression": "61 * * * *", "field": "minute", "reason": "value 61 out of range (0-59)"},
    ),
]
# Each row is wrong in two ways; the first error in the order of the checks is the one that is raised.
ORDER = [
    ([("", "x", good, -MINUTE)], "InvalidRegistrationError"),
    ([("", "* * * * *", good, -MINUTE)], "InvalidRegistrationError"),
    ([("a", "x", good, -MINUTE)], "InvalidCronExpressionError"),
    ([OK, ("ok", "* * * * *", good, -MINUTE)], "NegativeRetryDelayError"),
    ([OK, OK, ("a", "x", good, MINUTE)], "ScheduleDuplicateTaskError"),
    ([("a", "x", good, MINUTE), None], "InvalidCronExpressionError"),
    ([("", "x", good, 60)], "RegistrationShapeError"),
]


async def caught(scheduler: Scheduler, registrations: Any) -> FoliotError:
    with pytest.raises(FoliotError) as error:
        await scheduler.initialize(registrations)
    return error.value


@pytest.mark.req("DECL-03", "DECL-04")
@pytest.mark.parametrize(("registrations", "name", "message", "details"), WRONG)
def test_what_is_wrong_is_said_in_the_words_of_the_document(
    stage: Stage, registrations: Any, name: str, message: str, details: dict[str, Any]
) -> None:
    @staged
    async def play(stage: Stage) -> None:
        await (await stage.started(stage.task("kept"))).stop()
        stage.told.clear()
        error = await caught(stage.scheduler(), registrations)
        assert (type(error).__name__, error.message, error.details) == (name, message, details)
        assert stage.names() == ["SchedulerInitializationStarted", "SchedulerInitializationFailed"]
        assert stage.told[1].error is error  # type: ignore[attr-defined]
        assert list(await read_tasks(stage.store)) == ["kept"]

    play(stage)


@pytest.mark.parametrize(("registrations", "name"), ORDER)
def test_the_checks_have_an_order(registrations: Any, name: str) -> None:
    error = asyncio.run(caught(Scheduler("memory://"), registrations))
    assert type(error).__name__ == name


@pytest.mark.req("DECL-34")
def test_errors_come_before_the_first_suspension() -> None:
    coroutine = Scheduler("memory://").initialize([("a", "x", good, MINUTE)])
    with pytest.raises(InvalidCronExpressionError):
        coroutine.send(None)


@pytest.mark.req("DECL-01")
def test_there_are_two_methods_and_no_others() -> None:
    assert [name for name in dir(Scheduler) if not name.startswith("_")] == ["initialize", "stop"]
    assert inspect.iscoroutinefunction(Scheduler.initialize)
    assert inspect.iscoroutinefunction(Scheduler.stop)


@pytest.mark.req("DECL-02", "DECL-40")
@staged
async def test_registrations_are_tuples_or_lists_of_async_functions(stage: Stage) -> None:
    called = []

    async def note(name: str) -> None:
        called.append(name)

    await stage.started(
        ("function", "* * * * *", partial(note, "function"), timedelta(0)),
        ["list", "* * * * *", partial(note, "list"), MINUTE],
        ("object", "* * * * *", Called(), MINUTE),
        ("method", "* * * * *", Called().method, MINUTE),
        ("optional", "* * * * *", may, MINUTE),
    )
    assert sorted(called) == ["function", "list"]
    assert set(stage.of_tasks()) == {"TaskRunStarted", "TaskRunCompleted"}


@pytest.mark.req("DECL-10")
@staged
async def test_a_rule_that_never_matches_is_refused(stage: Stage) -> None:
    error = await caught(stage.scheduler(), [("a", "0 0 30 2 *", good, MINUTE)])
    assert isinstance(error, CronCalculationError)
    assert error.message == (
        "Failed to calculate next occurrence: no valid execution times: there is no day 30 in month 2"
    )
    assert error.details == {
        "expression": "0 0 30 2 *",
        "current_time": "2026-03-10T12:00:00Z",
        "cause": error.__cause__,
    }
    assert isinstance(error.__cause__, NeverMatchesError)


ODD_NAMES = [
    " ", "a b", "a/b", "..", "%", "%41", "100%", "A", "é", "e\u0301", "\u202e", "\U0001f570", "a\nb",
    "a\x00b", "\ud800", "\x7f", "x" * 200, "x" * 201, "x" * 202, "\n" * 60_000, "…" * 199, "%" * 199, "run",
]  # fmt: skip


@pytest.mark.req("DECL-02")
@staged
async def test_a_name_is_any_text_that_is_not_empty(stage: Stage) -> None:
    """And no two of them are taken for one."""
    registrations = [stage.task(name) for name in ODD_NAMES]
    scheduler = await stage.started(*registrations)
    assert sorted(name for name, _ in stage.starts) == sorted(ODD_NAMES)
    assert sorted(await read_tasks(stage.store)) == sorted(ODD_NAMES)
    told = [event.task for event in stage.told if isinstance(event, TaskRunCompleted)]
    assert sorted(told) == sorted(ODD_NAMES)
    await scheduler.stop()
    before = await stage.store.jobs(JobQuery())
    await scheduler.initialize(registrations[::-1])
    assert await stage.store.jobs(JobQuery()) == before
    with pytest.raises(ScheduleDuplicateTaskError):
        await stage.scheduler().initialize([*registrations, stage.task("a\nb")])


# The nine rules of rejection, and what the grammar allows.
REJECTED = [
    ["* * * *", "* * * * * *", "", "   "],
    ["*/15 * * * *", "0-30/5 * * * *"],
    ["0 0 * jan *", "0 0 * * mon", "0 0 * * sunday"],
    ["@daily", "@hourly", "@every 5m"],
    ["0 0 ? * *", "0 0 L * *", "0 0 15W * *", "0 0 * * 1#2"],
    ["0 0 * * 7"],
    ["30-10 * * * *", "0 0 * * 5-1"],
    ["60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *"],
    ["1e1 * * * *", "0x5 * * * *", "+5 * * * *", "-5 * * * *"],
    [",5 * * * *", "5, * * * *", "5,* * * * *", "*,5 * * * *", "1--2 * * * *", "CRON_TZ=UTC * * * * *"],
    ["* * * * *\n", "*\n* * * *", "* *\u00a0* * *", "٣ * * * *"],
]
ACCEPTED = [
    "0 0 * * *",
    "15 3 * * 1-5",
    "0,30 * * * *",
    "0 12 14 2 *",
    "\t05  1-2,4 \t* 1-12 0,6 ",
    "5-5 * * * *",
]


@pytest.mark.req("DECL-05")
@pytest.mark.parametrize("cron", [cron for rule in REJECTED for cron in rule])
def test_cron_is_strict(cron: str) -> None:
    error = asyncio.run(caught(Scheduler("memory://"), [("a", cron, good, MINUTE)]))
    assert isinstance(error, InvalidCronExpressionError)
    assert error.message.startswith("Invalid cron expression ")
    assert list(error.details) == ["expression", "field", "reason"]


@pytest.mark.req("DECL-05")
@staged
async def test_cron_is_no_stricter_than_the_grammar(stage: Stage) -> None:
    await stage.started(*((f"{number}", cron, good, MINUTE) for number, cron in enumerate(ACCEPTED)))
    assert [task.cron for task in (await read_tasks(stage.store)).values()] == ACCEPTED


@pytest.mark.req("DECL-06")
@pytest.mark.parametrize(
    ("cron", "days"),
    [
        ("0 0 * * *", list(range(1, 32))),
        ("0 0 * * 1", [2, 9, 16, 23, 30]),
        ("0 0 15 * *", [15]),
        ("0 0 1,15 * 1", [1, 2, 9, 15, 16, 23, 30]),
        ("0 0 1-31 * 1", list(range(1, 32))),
        ("0 0 15 * 0-6", list(range(1, 32))),
    ],
)
def test_days_of_month_and_week_combine_as_in_the_truth_table(
    stage: Stage, cron: str, days: list[int]
) -> None:
    @staged
    async def play(stage: Stage) -> None:
        await (await stage.started(stage.task(cron=cron))).stop()
        (view,) = await stage.store.jobs(JobQuery())
        rule = view.record.job.schedule
        assert rule == Cron(cron, timezone="UTC", dialect="posix")
        march = [at.day for at in rule.upcoming(stage.clock.now().replace(day=1) - 13 * HOUR, 31)]
        assert [day for i, day in enumerate(march) if day not in march[:i]][: len(days)] == days

    play(stage)


@pytest.mark.parametrize("namespace", ["", "a/b", "a\nb", "x" * 201])
def test_a_namespace_that_no_job_could_have_is_refused_at_once(namespace: str) -> None:
    with pytest.raises(InvalidJobError):
        Scheduler("memory://", namespace=namespace)


async def _listen(_: object) -> None: ...


@pytest.mark.parametrize("listeners", [5, print, [5], [None], ["print"], [_listen]])
def test_listeners_that_nobody_could_tell_anything_are_refused_at_once(listeners: Any) -> None:
    with pytest.raises(InvalidJobError, match="listeners") as caught:
        Scheduler("memory://", listeners=listeners)
    assert caught.value.hint


@pytest.mark.parametrize("odd", [5, None, b"x", True])
def test_odd_arguments_of_a_scheduler_give_errors_of_ours(odd: Any) -> None:
    with pytest.raises(FoliotError):
        Scheduler("memory://", namespace=odd)
    with pytest.raises(FoliotError):
        Scheduler(odd)
