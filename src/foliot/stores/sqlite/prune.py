"""Retention: what no policy keeps is looked for by a reader, and forgotten by the writer."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from foliot.protocols import Pruned
from foliot.stores.sql.book import Entry
from foliot.stores.sql.codes import whole
from foliot.stores.sql.prune import Page, Surplus, forget_page, surplus_of
from foliot.stores.sqlite import chain
from foliot.stores.sqlite.book import Book, Desk
from foliot.stores.sqlite.question import skips

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
    rows = chain.attempts_of(desk.connection, entry.job_no)
    return surplus_of(entry, rows, skips(desk, entry.key), desk.shelf, now)


def _forget_some(desk: Desk, entry: Entry, surplus: Surplus) -> None:
    rows, gone, old = surplus
    desk.kept.pop(entry.key, None)
    if gone:
        chain.forget_outputs(desk.connection, entry.key, gone)
        chain.forget(desk.connection, entry.job_no, rows, gone)
    places = [(entry.job_no, whole(skip.first), whole(skip.last)) for skip in old]
    desk.connection.executemany(_DELETE_SKIP, places)
