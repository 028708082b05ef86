"""Turns rows, some of them damaged, into the answers of queries. The readable part is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from foliot.model.query import JobPage, JobQuery, JobView, RunQuery
from foliot.stores.sql.codes import OUTCOMES, TRIGGERS, UNREADABLE, an_instant, instant
from foliot.stores.sql.entry import DAMAGE, REMOVED_AT, Entry
from foliot.stores.sql.rows import Row

_ENDED = 3  # see codes


class Shown(NamedTuple):
    """Jobs, and the numbers of unreadable jobs among them, which the store then sets aside."""

    views: JobPage
    damaged: tuple[int, ...] = ()


class Woken(NamedTuple):
    """When the next job wakes, and jobs whose wake cannot be read."""

    at: datetime | None
    damaged: tuple[int, ...] = ()
    due: int = 0


def bounds(query: JobQuery) -> tuple[str, str | None]:
    """After which key, and before which, the jobs of a query are."""
    if query.source is None:
        return query.after, None
    return max(query.after, f"{query.source}/"), f"{query.source}0"  # "0" follows "/"


def wanted(entries: Iterable[Entry], query: JobQuery) -> list[Entry]:
    """The entries that match a query, in the order of their keys."""
    meant = [entry for entry in entries if entry.key > query.after and _is_meant(entry, query)]
    return sorted(meant, key=lambda entry: entry.key)


def _is_meant(entry: Entry, query: JobQuery) -> bool:
    is_there = query.with_removed or entry.row[REMOVED_AT] is None
    source, _, name = entry.key.partition("/")
    return is_there and query.source in (None, source) and query.name in (None, name)


def show(entries: Sequence[Entry], successes: Iterable[int | None]) -> Shown:
    """Jobs, each with the time of its last success. Entries that are set aside are not reported again."""
    return Shown(
        JobPage(
            JobView(entry.key, entry.record, _shown(at), entry.damage)
            for entry, at in zip(entries, successes, strict=True)
        ),
        tuple(entry.job_no for entry in entries if _is_to_be_set_aside(entry)),
    )


def _shown(at: int | None) -> datetime | None:
    """An instant; none, if it is damaged."""
    try:
        return instant(at)
    except UNREADABLE:
        return None


def _is_to_be_set_aside(entry: Entry) -> bool:
    return entry.record is None and entry.row[DAMAGE] is None and not entry.is_unknown_here


def is_of(row: Row, query: RunQuery, node_no: int | None) -> bool:
    """Whether an attempt matches a query, apart from its time. The row ends with the job's key."""
    return (
        (query.node is None or row[8] == node_no)
        and query.is_open in (None, row[3] != _ENDED)
        and query.outcome in (None, OUTCOMES.get(row[14]))
        and query.trigger in (None, TRIGGERS.get(row[2]))
        and query.job in (None, row[-1])
        and query.source in (None, row[-1].partition("/")[0])
    )


def first_wake(rows: Iterable[Row]) -> Woken:
    """The earliest of some wakes, each with the number of its job."""
    wakes, damaged = [], []
    for at, job_no in rows:
        try:
            wakes.append(an_instant(at))
        except UNREADABLE:
            damaged.append(job_no)
    return Woken(min(wakes, default=None), tuple(damaged))
