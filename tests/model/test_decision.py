"""A decision knows whether it writes anything."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.decision import Decision
from foliot.model.job import Action, Job
from foliot.model.state import Record, Skip, State
from foliot.schedules import Once

NOW = datetime(2026, 11, 15, 7, tzinfo=UTC)
JOB = Job(source="s", name="n", schedule=Once(NOW), action=Action(kind="test"))
STATE = State(1, NOW, wake_at=NOW)
RECORD = Record(JOB, STATE)


def test_what_leaves_the_state_and_adds_nothing_is_nothing() -> None:
    assert Decision(STATE).is_nothing(RECORD)


@pytest.mark.parametrize(
    "change",
    [
        {"state": STATE._replace(token=2)},
        {"attempts": (Attempt("s/n", 1, Trigger.SCHEDULE, AttemptState.PENDING, NOW),)},
        {"skips": (Skip("s/n", NOW, NOW, "late"),)},
        {"remove": True},
        {"job": JOB},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_is_to_be_written_is_something(change: dict[str, Any]) -> None:
    assert not Decision(STATE)._replace(**change).is_nothing(RECORD)
