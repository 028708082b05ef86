"""The history of one job, without an index of all history by job.

Attempts are stored by time, so that writing one costs the same however long a job's past is. To find
those of one job all the same, each knows the next older moment of which there is an attempt of the same
job (`previous_at`), and the job's state knows the newest (`newest_at`): a chain of moments, each found by
its key. A moment may have several attempts; one of them at least carries the link. Only the newest
moment is sure to be in order; what is written for the past is put in right behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from foliot.model.attempt import run_key
from foliot.stores.sql.codes import UNREADABLE, an_instant
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row

_PREVIOUS = len(ATTEMPT_COLUMNS.split(","))  # stands behind them


class Stretch(NamedTuple):
    """A part of a chain: its first and last moment, which stay where they are, and the one beyond the last.

    No first: the chain begins with it. No last: the chain ends with it.
    """

    first: int | None = None
    last: int | None = None
    beyond: int | None = None


WHOLE = Stretch()


class Mended(NamedTuple):
    """The newest moment of a history, and what links are to be (link, at)."""

    newest: int | None
    links: list[tuple[int | None, int]]


def key_of(row: Row) -> Row:
    """Moment, request and number of a row."""
    return row[4], row[5], row[1]


def mend(left: Iterable[Row], stretch: Stretch = WHOLE) -> Mended:
    """How the moments that are left of a history, or a part of it, are to be linked, where they are not."""
    found: dict[int, set[int | None]] = {}
    for row in left:
        found.setdefault(row[4], set()).add(row[_PREVIOUS])

    def place(at: int) -> tuple[bool, bool, int]:
        return at == stretch.first, at != stretch.last, _in_time(at)

    moments = sorted(found, key=place, reverse=True)
    links: dict[int, int | None] = dict.fromkeys(moments, stretch.beyond)
    links.update(pairwise(moments))
    wrong = [
        (link, at) for at, link in links.items() if not found[at] <= {link, None} or link not in found[at]
    ]
    return Mended(moments[0] if moments else stretch.beyond, wrong)


def _in_time(at: object) -> int:
    """A moment that is damaged comes first."""
    return at if isinstance(at, int) else 0


def output_keys(key: str, rows: Iterable[Row]) -> list[tuple[str, int]]:
    """Under which keys the outputs of some attempts of a job are kept."""
    keys = []
    for row in rows:
        with suppress(*UNREADABLE):
            keys.append((f"{key}{row[5]}" if row[5] else run_key(key, an_instant(row[4]), None), row[1]))
    return keys
