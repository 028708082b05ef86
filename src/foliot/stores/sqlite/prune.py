"""Retention: what no policy keeps is looked for by a reader, and forgotten by the writer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from foliot.model.attempt import Attempt
from foliot.model.state import Skip
from foliot.protocols import Pruned
from foliot.stores.retention import superfluous, superfluous_skips
from foliot.stores.sqlite import chain
from foliot.stores.sqlite.book import Book, Desk, Entry
from foliot.stores.sqlite.codes import UNREADABLE, whole
from foliot.stores.sqlite.question import skips
from foliot.stores.sqlite.rows import Row, read_attempt

# A job without a past has nothing to forget, and need not be read: most of a million have none.
_NEXT = """
    SELECT j.key, s.newest_at IS NOT NULL OR EXISTS (SELECT 1 FROM skips AS k WHERE k.job_no = j.job_no)
    FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no WHERE j.key > ? ORDER BY j.key LIMIT ?
"""


class Page(NamedTuple):
    """Jobs in the order of their keys, those that have something to forget, and whether more follow."""

    keys: tuple[str, ...]
    ripe: frozenset[str]
    has_more: bool


class _Surplus(NamedTuple):
    rows: list[Row]
    gone: list[Row]
    skips: list[Skip]


def look(desk: Desk, now: datetime, limit: int, after: str) -> Page:
    """Which of the next jobs have something to forget."""
    found = desk.connection.execute(_NEXT, (after, limit + 1)).fetchall()
    keys = tuple(key for key, _ in found[:limit])
    entries = Book(desk).by_key([key for key, has_past in found[:limit] if has_past])
    ripe = (key for key, entry in entries.items() if any(_surplus(desk, entry, now)[1:]))
    return Page(keys, frozenset(ripe), has_more=len(found) > limit)


def forget(desk: Desk, page: Page, now: datetime, limit: int, after: str) -> Pruned:
    """Forget at most so much of a page; the same is looked for again, because things may have changed."""
    entries = Book(desk).by_key(page.ripe)
    count = 0
    for key in page.keys:
        if key in entries:
            surplus = _surplus(desk, entries[key], now)
            count_before, wanted = count, len(surplus.gone) + len(surplus.skips)
            count += _forget_some(desk, entries[key], surplus, limit - count)
            if count - count_before < wanted:
                return Pruned(count, after)  # there is more to forget of this one
        after = key
    return Pruned(count, after if page.has_more else "")


def _surplus(desk: Desk, entry: Entry, now: datetime) -> _Surplus:
    """What the policy of a job does not keep. Of one that cannot be read, nobody knows."""
    if entry.record is None:
        return _Surplus([], [], [])
    rows = chain.attempts_of(desk.connection, entry.job_no)
    history = _readable_history(desk, entry, rows)
    gone = [history[a] for a in superfluous(entry.record, history, now)]
    return _Surplus(rows, gone, superfluous_skips(entry.record, skips(desk, entry.key), now))


def _readable_history(desk: Desk, entry: Entry, rows: list[Row]) -> Mapping[Attempt, Row]:
    found = {}
    for row in rows:
        try:
            attempt = read_attempt(row, entry.key, desk.shelf)
        except UNREADABLE:
            continue
        if not attempt.is_open:
            found[attempt] = row
    return found


def _forget_some(desk: Desk, entry: Entry, surplus: _Surplus, most: int) -> int:
    """Runs first, then skips; how many."""
    gone = surplus.gone[:most]
    desk.kept.pop(entry.key, None)
    if gone:
        chain.forget_outputs(desk.connection, entry.key, gone)
        chain.forget(desk.connection, entry.job_no, surplus.rows, gone)
    old = surplus.skips[: most - len(gone)]
    desk.connection.executemany(
        "DELETE FROM skips WHERE job_no = ? AND first_at = ? AND last_at = ?",
        [(entry.job_no, whole(skip.first), whole(skip.last)) for skip in old],
    )
    return len(gone) + len(old)
