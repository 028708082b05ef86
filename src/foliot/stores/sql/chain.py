"""The history of one job, without an index of all history by job.

Attempts are stored by time, so that writing one costs the same however long a job's past is. To find
those of one job all the same, each knows the next older moment of which there is an attempt of the same
job (`previous_at`), and the job's state knows the newest (`newest_at`): a chain of moments, each found by
its key. A moment may have several attempts; one of them at least carries the link. Only the newest
moment is sure to be in order; what is written for the past is put in right behind it.

So a chain goes down in time, but for a few links that lead up again, and those are in an index of their own
(`attempts_rise`): it falls into descents, each of which begins with the newest moment, or where a link leads
up to. Who wants the newest of a history reads the descents side by side, and no more than is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from foliot.model.attempt import run_key
from foliot.stores.sql.codes import UNREADABLE, an_instant
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row

# So many moments are looked through for the success that ended last; if there is none, the next behind them
# counts. What was opened last comes first in a chain: only one that ran beside so many others is overlooked.
NEAR = 32
# No further: of a job that has failed so often since, nobody knows. A list of jobs must not wait for it.
FAR = 20_000
_PREVIOUS = len(ATTEMPT_COLUMNS.split(","))  # stands behind them


class Stretch(NamedTuple):
    """A part of a chain: its first and last moment, which stay where they are, and the one beyond the last.

    No first: the chain begins with it. No last: the chain ends with it.
    """

    first: int | None = None
    last: int | None = None
    beyond: int | None = None


WHOLE = Stretch()


class Walk:
    """The chains of some jobs, one after the other, as far as was asked for; the last may be cut off.

    Each row begins with the number of the job and the moment that the chain leads to, be it there or not.
    """

    def __init__(self, rows: Iterable[Row], most: int) -> None:
        self._rows: dict[int, list[Row]] = {}
        self._moments: dict[int, set[int]] = {}
        for job_no, at, *row in rows:
            self._moments.setdefault(job_no, set()).add(at)
            if row[0] is not None:  # else the chain leads to a moment that is not there
                self._rows.setdefault(job_no, []).append(tuple(row))
        is_cut = sum(map(len, self._moments.values())) >= most
        self.cut = next(reversed(self._moments), None) if is_cut else None

    def rows(self, job_no: int) -> list[Row]:
        """The rows of a job, open and ended, with their links behind the usual columns."""
        return self._rows.get(job_no, [])

    def beyond(self, job_no: int) -> set[int]:
        """Moments that a job's rows lead to, and that were not reached; one, if its chain is in order."""
        links = {row[-1] for row in self.rows(job_no)}
        return links - self._moments.get(job_no, set()) - {None}


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


def first_of(rows: list[Row], first: int | None, most: int) -> tuple[list[Row], int | None]:
    """So many rows, from the beginning of a chain, and the moment where what is left of them begins.

    The link of a moment comes last. All of them, and no moment, if there are no more, or the chain parts.
    """
    by_moment: dict[int | None, list[Row]] = {}
    for row in rows:
        by_moment.setdefault(row[4], []).append(row)
    ordered: list[Row] = []
    at = first
    while at in by_moment:
        ordered += sorted(by_moment.pop(at), key=lambda row: row[_PREVIOUS] is not None)
        at = ordered[-1][_PREVIOUS]
    if by_moment or len(ordered) <= most:
        return rows, None
    return ordered[:most], ordered[most][4]


def output_keys(key: str, rows: Iterable[Row]) -> list[tuple[str, int]]:
    """Under which keys the outputs of some attempts of a job are kept."""
    found = []
    for row in rows:
        with suppress(*UNREADABLE):
            found.append((f"{key}{row[5]}" if row[5] else run_key(key, an_instant(row[4]), None), row[1]))
    return found


def output_ranges(key: str) -> tuple[str, str, str, str]:
    """Between which texts all keys of a job's outputs are: those of requests, and those of occurrences."""
    return f"{key}!", f'{key}"', f"{key}@", f"{key}A"
