from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foliot.errors import DamagedRecordError
from foliot.model.alert import LONGEST_FIELD, LONGEST_OUTPUT, Alert, AlertKind
from foliot.model.attempt import Outcome

AT = datetime(2026, 11, 16, 2, 0, tzinfo=UTC)
ALERT = Alert(
    "a1", AT, AlertKind.FAILURE, "ops/backup", title="Backup", run="ops/backup@2026-11-16T02:00:00Z",
    attempt=2, outcome=Outcome.FAILED, exit_code=3, error="disk full", failures_in_row=2, since=AT,
    next_at=AT, node="n1", revision="3f2a", why="its last attempt failed", episode="e1", reminder=1,
    is_test=True, output="tail",
)  # fmt: skip


def test_an_alert_comes_back_as_it_was_written() -> None:
    assert Alert.from_json(ALERT.to_json()) == ALERT
    short = Alert("a2", AT, AlertKind.MISSED, "ops/backup")
    assert Alert.from_json(short.to_json()) == short
    assert "output" not in short.as_data()


def test_fields_of_a_newer_version_are_ignored() -> None:
    data = {**json.loads(ALERT.to_json()), "colour": "red"}

    assert Alert.from_json(json.dumps(data)) == ALERT


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[]", "alert"),
        ("{", "alert"),
        ('{"id": "a"}', "alert.at"),
        ('{"id": "a", "at": "2026-11-16T02:00:00Z", "kind": "panic", "job": "x"}', "alert.kind"),
        ('{"id": 1, "at": "2026-11-16T02:00:00Z", "kind": "late", "job": "x"}', "alert.id"),
    ],
)
def test_what_is_no_alert_is_refused_with_its_field(text: str, field: str) -> None:
    with pytest.raises(DamagedRecordError) as caught:
        Alert.from_json(text)

    assert caught.value.details["field"] == field


@given(st.text(max_size=50), st.text(max_size=50))
@example("\N{PILE OF POO}", "\N{PILE OF POO}")
@example("\ud800\0", "\ud800\0")
def test_no_text_keeps_an_alert_from_being_written(error: str, output: str) -> None:
    alert = ALERT._replace(
        error=error * 3000, output=output * 10_000, why=error * 3000, title=error * 3000, job=error
    )

    again = Alert.from_json(alert.to_json())

    assert len(again.error or "") <= LONGEST_FIELD + 1
    assert len(again.output or "") <= LONGEST_OUTPUT + 1


def test_of_a_long_output_the_end_is_kept() -> None:
    alert = ALERT._replace(output="x" * 20_000 + "the end")

    assert (Alert.from_json(alert.to_json()).output or "").endswith("the end")
