"""Answers to questions, of rows that may be damaged: what can be read is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from foliot.model.attempt import Outcome
from foliot.protocols import JobQuery, JobView
from foliot.stores.sql.book import DAMAGE, REMOVED_AT, Entry
from foliot.stores.sql.codes import OUTCOME_CODES, UNREADABLE, an_instant, instant
from foliot.stores.sql.rows import Row

_FINISHED_AT, _OUTCOME = 13, 14
_SUCCEEDED = OUTCOME_CODES[Outcome.SUCCEEDED]


class Shown(NamedTuple):
    """Jobs, and those among them that cannot be read, and are to be set aside."""

    views: tuple[JobView, ...]
    damaged: tuple[int, ...] = ()


class Woken(NamedTuple):
    """When the next job wakes, and jobs whose wake cannot be read."""

    at: datetime | None
    damaged: tuple[int, ...] = ()


def bounds(query: JobQuery) -> tuple[str, str | None]:
    """After which key, and before which, the jobs of a query are."""
    if query.source is None:
        return query.after, None
    return max(query.after, f"{query.source}/"), f"{query.source}0"  # "0" follows "/"


def wanted(entries: Iterable[Entry], query: JobQuery) -> list[Entry]:
    """Those entries that a query means, in the order of their keys."""
    meant = [entry for entry in entries if entry.key > query.after and _is_meant(entry, query)]
    return sorted(meant, key=lambda entry: entry.key)[: query.limit]


def _is_meant(entry: Entry, query: JobQuery) -> bool:
    is_there = query.with_removed or entry.row[REMOVED_AT] is None
    source, _, name = entry.key.partition("/")
    return is_there and query.source in (None, source) and query.name in (None, name)


def show(entries: Sequence[Entry], histories: Iterable[Sequence[Row]]) -> Shown:
    """Jobs, each with when it last succeeded; entries that were set aside before are known to be damaged."""
    return Shown(
        tuple(_view(entry, rows) for entry, rows in zip(entries, histories, strict=True)),
        tuple(entry.job_no for entry in entries if entry.record is None and entry.row[DAMAGE] is None),
    )


def _view(entry: Entry, rows: Sequence[Row]) -> JobView:
    ends = [
        row[_FINISHED_AT] for row in rows if row[_OUTCOME] == _SUCCEEDED and type(row[_FINISHED_AT]) is int
    ]
    return JobView(entry.key, entry.record, instant(max(ends, default=None)), entry.damage)


def first_wake(rows: Iterable[Row]) -> Woken:
    """The earliest of some wakes, each with the number of its job."""
    wakes, damaged = [], []
    for at, job_no in rows:
        try:
            wakes.append(an_instant(at))
        except UNREADABLE:
            damaged.append(job_no)
    return Woken(min(wakes, default=None), tuple(damaged))
