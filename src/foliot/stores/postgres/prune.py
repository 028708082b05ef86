"""Retention: what no policy keeps is looked for by a reader, and forgotten by the writer, in batches."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import partial

from foliot.protocols import Pruned
from foliot.stores.postgres import arrays, chain
from foliot.stores.postgres.book import Book, Desk
from foliot.stores.postgres.question import skips_of
from foliot.stores.sql.book import Entry
from foliot.stores.sql.codes import whole
from foliot.stores.sql.prune import Page, Surplus, forget_page, surplus_of

# A job without a past has nothing to forget, and need not be read: most of a million have none.
_NEXT = """
    SELECT j.key, s.newest_at IS NOT NULL OR EXISTS (SELECT 1 FROM skips AS k WHERE k.job_no = j.job_no)
    FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no WHERE j.key > %s ORDER BY j.key LIMIT %s
"""
_DELETE_SKIPS = """
    DELETE FROM skips AS s USING unnest(%s::bigint[], %s::bigint[]) AS v (first_at, last_at)
    WHERE s.job_no = %s AND s.first_at = v.first_at AND s.last_at = v.last_at
"""


def look(desk: Desk, now: datetime, limit: int, after: str) -> Page:
    """Which of the next jobs have something to forget."""
    found = desk.connection.execute(_NEXT, (after, limit + 1)).fetchall()
    keys = tuple(key for key, _ in found[:limit])
    old = [key for key, has_past in found[:limit] if has_past]
    entries = Book(desk, locks=False).by_key(old) if old else {}
    surplus = _surplus(desk, entries.values(), now)
    ripe = frozenset(key for key, found in surplus.items() if found.size)
    return Page(keys, ripe, has_more=len(found) > limit)


def forget(desk: Desk, page: Page, now: datetime, limit: int, after: str) -> Pruned:
    """Forget at most so much of a page; the same is looked for again, because things may have changed."""
    entries = Book(desk).by_key(page.ripe)
    surplus = _surplus(desk, entries.values(), now)

    def forget_some(key: str, surplus: Surplus) -> None:
        _forget_some(desk, entries[key], surplus)

    known = {key: partial(surplus.__getitem__, key) for key in surplus}
    return forget_page(page, limit, after, known, forget_some)


def _surplus(desk: Desk, entries: Collection[Entry], now: datetime) -> dict[str, Surplus]:
    """What the policies of jobs do not keep, by their keys."""
    if not entries:
        return {}
    rows = chain.attempts_of(desk.connection, [entry.job_no for entry in entries])
    skips = skips_of(desk, entries)
    return {e.key: surplus_of(e, rows[e.job_no], skips[e.job_no], desk.shelf, now) for e in entries}


def _forget_some(desk: Desk, entry: Entry, surplus: Surplus) -> None:
    rows, gone, old = surplus
    if gone:
        chain.forget_outputs(desk.connection, entry.key, gone)
        chain.forget(desk.connection, entry.job_no, rows, gone)
    if old:
        firsts = arrays.numbers(whole(skip.first) for skip in old)
        lasts = arrays.numbers(whole(skip.last) for skip in old)
        desk.connection.execute(_DELETE_SKIPS, (firsts, lasts, entry.job_no))
