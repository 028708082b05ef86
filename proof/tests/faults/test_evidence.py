"""What a node declared and was not told of: had it taken effect?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from foliot_proof.faults.evidence import Evidence, Ledger
from foliot_proof.faults.host import Host, Life
from foliot_proof.faults.node import Orders
from foliot_proof.faults.witness_log import Note, Times

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def note(what: str, seconds: float, revision: str = "new", host: str = "host-0") -> Note:
    return Note(what, host, START + timedelta(seconds=seconds), {"source": "app", "revision": revision})


DECLARING = note("declaring", 10)
ORDERS = Orders(url="", host="", witness_log="")


def hosts() -> list[Host]:
    """Two; on the first, a second process has lived since second 7."""
    loop = asyncio.get_running_loop()
    found = [Host(name, Times(), Path("log")) for name in ("host-0", "host-1")]
    for host, pid, seconds in ((found[0], 1, 0), (found[0], 2, 7), (found[1], 3, 0)):
        host.lives.append(Life(ORDERS, pid, START + timedelta(seconds=seconds), loop.create_future()))
    return found


@pytest.mark.parametrize(
    ("others", "proved"),
    [
        pytest.param([note("revision", 12)], 12, id="somebody found it"),
        pytest.param([note("revision", 9)], None, id="it was there before"),
        pytest.param([note("revision", 12, "old")], None, id="another was there"),
        pytest.param(
            [note("revision", 11, "old"), note("declaring", 12), note("revision", 13)], None, id="again"
        ),
        pytest.param([note("declaring", 8), note("revision", 13)], 13, id="the same process tried before"),
        pytest.param([note("declaring", 6), note("revision", 13)], None, id="so had the process before it"),
        pytest.param([note("declaring", 4), note("revision", 13)], 13, id="that was too long ago"),
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
    expected = None if proved is None else START + timedelta(seconds=proved)

    async def judge() -> datetime | None:
        return Evidence(hosts(), notes, Ledger((), (), {}, ()), Times())._proved(DECLARING)

    assert asyncio.run(judge()) == expected
