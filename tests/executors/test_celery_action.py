"""Which Celery task a job sends: what is taken, and what is refused, where it is written."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from foliot.errors import InvalidJobError
from foliot.executors.celery_action import celery_task, read_call
from foliot.model.job import Action
from foliot.wiring import check_action

ADD = {"task": "proj.tasks.add"}


def test_a_whole_action_is_read() -> None:
    options = {"queue": "mail", "priority": "high", "expires": 60, "headers": {"tenant": 7}}
    data = {**ADD, "args": [1, [2]], "kwargs": {"x": {"y": 3}}, "options": options, "track": "result"}
    call = read_call("celery", Action(kind="celery", data=data).data)
    assert call == ("proj.tasks.add", [1, [2]], {"x": {"y": 3}}, options, "result")


def test_an_action_is_made_of_a_name_or_of_the_task_itself() -> None:
    class Task:
        name = "proj.tasks.add"

    made = celery_task(Task(), [2, 3], queue="mail")
    assert made == celery_task("proj.tasks.add", [2, 3], queue="mail")
    assert made == Action(kind="celery", data={**ADD, "args": [2, 3], "options": {"queue": "mail"}})
    assert celery_task("proj.tasks.add") == Action(kind="celery", data=ADD)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "data.task None: is missing"),
        ({"task": ""}, r"data\.task : must be a printable text"),
        ({"task": " a"}, "must be a printable text"),
        ({"task": 7}, r"data\.task 7: must be a printable text"),
        ({**ADD, "arguments": []}, r"data\.arguments .*: is not known"),
        ({**ADD, "args": "ab"}, "must be a list of arguments"),
        ({**ADD, "args": {"a": 1}}, "must be a list of arguments"),
        ({**ADD, "kwargs": [1]}, "must be arguments by name"),
        ({**ADD, "options": []}, "must be options by name"),
        ({**ADD, "track": "end"}, r"data\.track end: is not known"),
    ],
)
def test_what_cannot_be_sent_is_refused(data: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidJobError, match=words):
        check_action(Action(kind="celery", data=data))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("countdown", 5),
        ("eta", "2026-11-15T07:00:00Z"),
        ("task_id", "x"),
        ("retry", True),
        ("queue", ""),
        ("queue", 7),
        ("routing_key", ["a"]),
        ("priority", "urgent"),
        ("priority", -1),
        ("priority", 256),
        ("priority", True),
        ("priority", 1.5),
        ("expires", 0),
        ("expires", -1),
        ("expires", True),
        ("expires", "tomorrow"),
        ("expires", "2026-11-15T07:00:00"),
        ("time_limit", "5"),
        ("soft_time_limit", 0),
        ("delivery_mode", 3),
        ("ignore_result", "no"),
        ("headers", []),
        ("headers", {"id": "x"}),
        ("headers", {"task": "x"}),
        ("headers", {"run_key": "x"}),
        ("headers", {"": "x"}),
        ("headers", dict.fromkeys(map(str, range(51)), 1)),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(InvalidJobError, match=rf"action\.data\.options\.{name}"):
        check_action(Action(kind="celery", data={**ADD, "options": {name: value}}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("priority", "low"),
        ("priority", 0),
        ("priority", 9),
        ("expires", 0.5),
        ("expires", "2026-11-15T07:00:00Z"),
        ("expires", "2026-11-15T07:00:00+01:00"),
        ("time_limit", 5),
        ("delivery_mode", "transient"),
        ("ignore_result", True),
        ("serializer", "json"),
    ],
)
def test_an_option_that_can_be_is_kept(name: str, value: object) -> None:
    assert read_call("celery", {**ADD, "options": {name: value}}).options == {name: value}


def test_the_kind_has_no_second_part() -> None:
    with pytest.raises(InvalidJobError, match="celery:add: is no kind"):
        check_action(Action(kind="celery:add", data=ADD))


def test_an_action_is_checked_where_celery_is_not_installed() -> None:
    code = (
        "import sys; sys.modules['celery'] = sys.modules['kombu'] = None\n"
        "from foliot.executors.celery_action import celery_task; celery_task('a', [1])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own code
