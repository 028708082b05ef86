"""Retention: what no policy keeps is looked for by a reader, and forgotten by the writer."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from foliot.protocols import Pruned
from foliot.stores.sql.book import Entry
from foliot.stores.sql.chain import Stretch
from foliot.stores.sql.codes import whole
from foliot.stores.sql.prune import Page, Surplus, forget_page, surplus_of
from foliot.stores.sqlite import chain
from foliot.stores.sqlite.book import Book, Desk
from foliot.stores.sqlite.question import skips

MOST_MOMENTS = 10_000  # read at once, if there is something to forget among them
# A job without a past has nothing to forget, and need not be read: most of a million have none.
_NEXT = """
    SELECT j.key, s.newest_at IS NOT NULL OR EXISTS (SELECT 1 FROM skips AS k WHERE k.job_no = j.job_no)
    FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no WHERE j.key > ? ORDER BY j.key LIMIT ?
"""
_DELETE_SKIP = "DELETE FROM skips WHERE job_no = ? AND first_at = ? AND last_at = ?"


def look(desk: Desk, now: datetime, limit: int, after: str) -> Page:
    """Which of the next jobs have something to forget."""
    found = desk.connection.execute(_NEXT, (after, limit + 1)).fetchall()
    keys = tuple(key for key, _ in found[:limit])
    entries = Book(desk).by_key([key for key, has_past in found[:limit] if has_past])
    ripe = frozenset(key for key, entry in entries.items() if _surplus(desk, entry, now).size)
    return Page(keys, ripe, has_more=len(found) > limit)


def forget(desk: Desk, page: Page, now: datetime, limit: int, after: str) -> Pruned:
    """Forget at most so much of a page; the same is looked for again, because things may have changed."""
    entries = Book(desk).by_key(page.ripe)

    def forget_some(key: str, surplus: Surplus) -> None:
        _forget_some(desk, entries[key], surplus)

    surplus = {key: partial(_surplus, desk, entry, now) for key, entry in entries.items()}
    return forget_page(page, limit, after, surplus, forget_some)


def _surplus(desk: Desk, entry: Entry, now: datetime) -> Surplus:
    """What the policy of a job does not keep; of a long history, of its newest part, if there is any."""
    old = skips(desk, entry.key)
    rows = chain.newest_of(desk.connection, entry.job_no, MOST_MOMENTS)
    surplus = surplus_of(entry, rows, old, desk.shelf, now)
    known = {row[4] for row in rows}
    ends = [row for row in rows if row[-1] is not None and row[-1] not in known]
    if not ends or len(known) < MOST_MOMENTS:
        return surplus
    stretch = Stretch(None, ends[0][4], ends[0][-1])
    gone = [row for row in surplus.gone if row[4] != stretch.last]
    if gone and len({row[-1] for row in ends}) == 1:
        return surplus._replace(gone=gone, stretch=stretch)
    return surplus_of(entry, chain.attempts_of(desk.connection, entry.job_no), old, desk.shelf, now)


def _forget_some(desk: Desk, entry: Entry, surplus: Surplus) -> None:
    rows, gone, old, stretch = surplus
    desk.kept.pop(entry.key, None)
    if gone:
        chain.forget_outputs(desk.connection, entry.key, gone)
        chain.forget(desk.connection, entry.job_no, rows, gone, stretch)
    places = [(entry.job_no, whole(skip.first), whole(skip.last)) for skip in old]
    desk.connection.executemany(_DELETE_SKIP, places)
