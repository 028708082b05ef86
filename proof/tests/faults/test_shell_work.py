"""What is concluded from the signs of life of shell jobs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foliot_proof.faults import shell_work
from foliot_proof.faults.witness_log import Note

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def note(what: str, seconds: float, run: str = "one", number: int = 1, job: str = "shell/brood") -> Note:
    facts = {"job": job, "run": run, "number": number, "node": "n"}
    return Note(what, "", START + timedelta(seconds=seconds), facts)


FIRST = [note("start", 0), note("sign", 0.1), note("sign", 3.0)]


@pytest.mark.parametrize(
    ("next_one", "is_told"),
    [
        pytest.param([note("start", 4, "two"), note("end", 5, "two")], False, id="one after the other"),
        pytest.param([note("start", 2.5, "two"), note("end", 5, "two")], False, id="it was about to end"),
        pytest.param([note("start", 1, "two"), note("end", 5, "two")], True, id="for two seconds"),
        pytest.param([note("start", 1, number=2), note("end", 5, number=2)], True, id="a restart"),
        pytest.param([note("start", 1, "two", job="shell/x"), note("end", 5, "two", job="shell/x")], False,
                     id="another job"),
        pytest.param([note("start", 1, "two", job="app/x"), note("end", 5, "two", job="app/x")], False,
                     id="no shell"),
    ],
)  # fmt: skip
def test_trees_that_live_beside_the_next_one_are_told(next_one: list[Note], is_told: bool) -> None:  # noqa: FBT001 - a column of the table
    assert bool([*shell_work.problems([*FIRST, *next_one])]) is is_told


def test_who_could_write_no_end_has_lived_until_the_last_sign() -> None:
    ended = [note("start", 4, "two"), note("sign", 4.1, "two"), note("end", 5, "two")]

    [end] = shell_work.unwritten_ends([*FIRST, *ended])

    assert (end.what, end.at, end.facts["run"]) == ("end", START + timedelta(seconds=3), "one")
