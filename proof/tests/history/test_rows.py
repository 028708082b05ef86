"""What a run's rows count up to: its retries, and its losses in a row."""

from __future__ import annotations

import pytest

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot_proof.history.rows import Row, Run
from history.case_builder import clock

LOST, FAILED, OK = Outcome.LOST, Outcome.FAILED, Outcome.SUCCEEDED
FIRST, RETRY, AGAIN, ASKED = Trigger.SCHEDULE, Trigger.RETRY, Trigger.LOST, Trigger.BACKFILL


@pytest.mark.parametrize(
    ("story", "retries", "losses"),
    [
        ([(FIRST, OK)], [0], [0]),
        ([(FIRST, FAILED), (RETRY, FAILED), (RETRY, OK)], [0, 1, 2], [0, 0, 0]),
        ([(FIRST, LOST), (AGAIN, LOST), (AGAIN, OK)], [0, 0, 0], [1, 2, 0]),
        ([(FIRST, LOST), (AGAIN, FAILED), (RETRY, LOST), (AGAIN, OK)], [0, 0, 1, 1], [1, 0, 1, 0]),
        ([(FIRST, FAILED), (RETRY, FAILED), (ASKED, FAILED), (RETRY, OK)], [0, 1, 0, 1], [0, 0, 0, 0]),
    ],
    ids=["in peace", "failures", "losses", "both", "asked for again"],
)
def test_a_run_counts_its_retries_and_its_losses(
    story: list[tuple[Trigger, Outcome]], retries: list[int], losses: list[int]
) -> None:
    rows = tuple(
        Row(Attempt("j", n, trigger, AttemptState.ENDED, clock("10:00"), outcome=outcome), "j@10:00", ())
        for n, (trigger, outcome) in enumerate(story, 1)
    )
    run = Run("j@10:00", rows)
    assert [run.retries(row) for row in rows] == retries
    assert [run.losses(row) for row in rows] == losses
