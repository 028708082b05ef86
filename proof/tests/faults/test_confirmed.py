"""What the store has confirmed is compared with what it has."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot_proof.faults import workload
from foliot_proof.faults.confirmed import lost_endings
from foliot_proof.faults.witness_log import Note

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROW = Attempt("app/tick", 1, Trigger.SCHEDULE, AttemptState.ENDED, AT, token=7, outcome=Outcome.SUCCEEDED)
ENDED: dict[str, Any] = {
    "job": "app/tick", "run": ROW.run_key, "number": 1, "token": 7, "outcome": "succeeded", "taken": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "rows", "is_told"),
    [
        pytest.param({}, [ROW], False, id="as it was told"),
        pytest.param({}, [], True, id="gone"),
        pytest.param({"taken": False}, [], False, id="it was refused"),
        pytest.param({"job": f"app/{workload.PRUNED}"}, [], False, id="forgotten by now"),
        pytest.param({}, [ROW._replace(outcome=Outcome.LOST)], True, id="somebody else's word"),
        pytest.param({}, [ROW._replace(state=AttemptState.RUNNING, outcome=None)], True, id="open again"),
    ],
)
def test_endings_that_were_confirmed_and_are_gone_are_told(
    change: dict[str, Any],
    rows: list[Attempt],
    is_told: bool,  # noqa: FBT001 - a column of the table
) -> None:
    note = Note("finish", "host-0", AT, {**ENDED, **change})

    assert bool([*lost_endings([note], rows)]) is is_told
