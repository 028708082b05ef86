"""The page of the declarative scheduler names every event and error, with what they hold."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from foliot.doors import declarative
from foliot.doors.declarative import SchedulerEvent, Task, TaskEvent

PAGE = (Path(__file__).parents[3] / "docs/reference/declarative.md").read_text()
EVENTS = [
    value
    for value in vars(declarative).values()
    if isinstance(value, type)
    and issubclass(value, SchedulerEvent)
    and value not in (SchedulerEvent, TaskEvent)
]


@pytest.mark.parametrize("name", declarative.__all__)
def test_every_public_name_is_on_the_page(name: str) -> None:
    assert name in PAGE


@pytest.mark.req("DECL-29", "DECL-36")
def test_there_are_the_events_of_the_document_and_no_others() -> None:
    assert sorted(event.__name__ for event in EVENTS) == [
        "PollingStarted",
        "PollingStopRequested",
        "PollingStopped",
        "SchedulerInitializationCompleted",
        "SchedulerInitializationFailed",
        "SchedulerInitializationStarted",
        "SchedulerStopRequested",
        "SchedulerStopped",
        "TaskRetryPreempted",
        "TaskRetryStarted",
        "TaskRunCompleted",
        "TaskRunFailed",
        "TaskRunStarted",
    ]


@pytest.mark.parametrize("event", [*EVENTS, Task])
def test_every_field_is_on_the_page(event: type) -> None:
    for field in dataclasses.fields(event):
        assert f"`{field.name}`" in PAGE
