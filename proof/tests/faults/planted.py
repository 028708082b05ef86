"""Bugs to be planted into real nodes (`foliot_proof.faults.bug`), what is done to them, and what tells.

Each is one of the ten of R15, or a cousin. The rest of the ten are in `testing.simulation.planted`.
"""

from __future__ import annotations

from typing import NamedTuple

from foliot_proof.faults.fault import Kind
from foliot_proof.history.report import Code


class Bug(NamedTuple):
    """A planted bug: what brings it to light, and the codes, or the words of a problem, that tell it."""

    name: str
    kind: Kind
    codes: frozenset[Code]
    words: str = ""
    of_the_ten: str = ""
    seconds: float = 9.0


_UNDONE = frozenset({Code.DUP_CLAIM, Code.STALE_FINISH, Code.UNRECORDED_EFFECT, Code.TOKEN_NOT_MONOTONIC})

ON_A_FILE = (
    Bug(
        "answer_before_commit", Kind.KILL, _UNDONE | {Code.MISSED},  # missed: a declaration was undone
        words="was confirmed", of_the_ten="settle before commit",
    ),
    Bug("drop_the_lost", Kind.KILL, frozenset({Code.ORPHAN_DROPPED})),
    Bug(
        "ignore_the_fence", Kind.STOP, frozenset({Code.STALE_FINISH, Code.OVERLAP}),
        of_the_ten="drop fence", seconds=12,
    ),
    Bug("end_groups_only", Kind.KILL, frozenset({Code.OVERLAP}), of_the_ten="killpg only"),
)  # fmt: skip
ON_A_SERVER = (
    Bug(
        "commit_without_the_disk", Kind.RESTART, _UNDONE,
        words="was confirmed", of_the_ten="NORMAL sync", seconds=12,
    ),
    Bug(
        "wait_for_ever", Kind.BLACKHOLE, frozenset({Code.MISSED, Code.LATE, Code.STUCK}),
        words=" took ", of_the_ten="no-deadline store call", seconds=12,
    ),
    Bug(
        "bury_at_once", Kind.RESTART, frozenset({Code.UNEXPLAINED_LOSS}),
        words="by an outage of the store", seconds=16,
    ),
    Bug("bury_by_the_clock_alone", Kind.SERVERCLOCK, frozenset({Code.UNEXPLAINED_LOSS}), seconds=16),
)  # fmt: skip
BUGS = (*ON_A_FILE, *ON_A_SERVER)
