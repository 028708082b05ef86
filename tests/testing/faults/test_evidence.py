"""What a node declared and was not told of: had it taken effect?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foliot.testing.faults.diary import Note, Times
from foliot.testing.faults.evidence import Evidence, Ledger

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def note(what: str, seconds: float, revision: str = "new", host: str = "host-0") -> Note:
    return Note(what, host, START + timedelta(seconds=seconds), {"source": "app", "revision": revision})


DECLARING = note("declaring", 10)


@pytest.mark.parametrize(
    ("others", "proved"),
    [
        pytest.param([note("revision", 12)], 12, id="somebody found it"),
        pytest.param([note("revision", 9)], None, id="it was there before"),
        pytest.param([note("revision", 12, "old")], None, id="another was there"),
        pytest.param(
            [note("revision", 11, "old"), note("declaring", 12), note("revision", 13)], None, id="again"
        ),
        pytest.param(
            [note("declaring", 9.9, host="host-1"), note("revision", 13)], None, id="so did another"
        ),
        pytest.param([note("revision", 12), note("declaring", 13)], 12, id="found before it came again"),
    ],
)
def test_an_effect_is_proved_only_if_nobody_else_can_have_had_it(
    others: list[Note], proved: float | None
) -> None:
    notes = sorted([DECLARING, *others], key=lambda note: note.at)
    evidence = Evidence([], notes, Ledger((), (), {}, ()), Times())
    expected = None if proved is None else START + timedelta(seconds=proved)
    assert evidence._proved(DECLARING) == expected
