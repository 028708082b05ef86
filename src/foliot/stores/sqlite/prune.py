"""Retention, in one file: see `foliot.stores.sql.prune`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from foliot.protocols import Pruned
from foliot.stores.sql.book import Entry
from foliot.stores.sql.chain import Walk
from foliot.stores.sql.prune import Bounds, Page, Pruner, Surplus
from foliot.stores.sql.rows import Row
from foliot.stores.sqlite import chain, remains
from foliot.stores.sqlite.book import Book, Desk

# A job without a past has nothing to forget, and need not be read: most of a million have none.
_NEXT = """
    SELECT j.key, s.newest_at IS NOT NULL OR EXISTS (SELECT 1 FROM skips AS k WHERE k.job_no = j.job_no)
    FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no WHERE j.key > ? ORDER BY j.key LIMIT ?
"""
# None began after it has ended, so those that are old are at the beginning.
OLD_SKIPS = """
    SELECT first_at, last_at FROM skips WHERE job_no = ? AND first_at < ? AND last_at < ?
    ORDER BY first_at, last_at LIMIT ?
"""
COUNT_SKIPS = "SELECT count(*) FROM (SELECT 1 FROM skips WHERE job_no = ? LIMIT ?)"
FIRST_SKIPS = "SELECT first_at, last_at FROM skips WHERE job_no = ? ORDER BY first_at, last_at LIMIT ?"
_DELETE_SKIP = "DELETE FROM skips WHERE job_no = ? AND first_at = ? AND last_at = ?"


def look(desk: Desk, now: datetime, limit: int, after: str) -> Page:
    """Which of the next jobs have something to forget."""
    return Pruner(Past(desk), desk.shelf, now, limit).look(after)


def forget(desk: Desk, page: Page, now: datetime, limit: int, after: str) -> Pruned:
    """Forget at most so much of a page."""
    return Pruner(Past(desk), desk.shelf, now, limit).forget(page, after)


class Past:
    """The history of jobs."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._connection = desk.connection

    def page(self, after: str, count: int) -> list[Row]:
        return self._connection.execute(_NEXT, (after, count)).fetchall()

    def entries(self, keys: Collection[str]) -> Collection[Entry]:
        return Book(self._desk).by_key(keys).values()

    def walk(self, firsts: Mapping[int, int | None], most: int) -> Walk:
        return chain.walk(self._connection, firsts, most)

    def old_skips(self, bounds: Mapping[int, Bounds], most: int) -> Mapping[int, list[Row]]:
        found = {}
        for job_no, (last, since) in bounds.items():
            old: dict[Row, None] = {}
            if since is not None:
                old |= dict.fromkeys(self._connection.execute(OLD_SKIPS, (job_no, since, since, most)))
            if last is not None:
                (count,) = self._connection.execute(COUNT_SKIPS, (job_no, last + most)).fetchone()
                surplus = max(0, count - last)
                old |= dict.fromkeys(self._connection.execute(FIRST_SKIPS, (job_no, surplus)))
            found[job_no] = list(old)[:most]
        return found

    def forget(self, entry: Entry, surplus: Surplus) -> None:
        rows, gone, skips, stretch = surplus
        self._desk.kept.pop(entry.key, None)
        if gone:
            chain.forget_outputs(self._connection, entry.key, gone)
            chain.forget(self._connection, entry.job_no, rows, gone, stretch)
        places = [(entry.job_no, *skip) for skip in skips]
        self._connection.executemany(_DELETE_SKIP, places)

    def has_remains(self) -> bool:
        return remains.are_there(self._connection)

    def forget_remains(self, most: int) -> int:
        return remains.forget(self._connection, most)
