"""Retention, on a server: see `foliot.stores.sql.prune`. A question is a journey, so many jobs share one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from foliot.protocols import Pruned
from foliot.stores.postgres import arrays, chain, remains
from foliot.stores.postgres.book import Book, Desk
from foliot.stores.sql.book import Entry
from foliot.stores.sql.chain import Walk
from foliot.stores.sql.prune import Bounds, Page, Pruner, Surplus
from foliot.stores.sql.rows import Row

# A job without a past has nothing to forget, and need not be read: most of a million have none.
_NEXT = """
    SELECT j.key, s.newest_at IS NOT NULL OR EXISTS (SELECT 1 FROM skips AS k WHERE k.job_no = j.job_no)
    FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no WHERE j.key > %s ORDER BY j.key LIMIT %s
"""
# None began after it has ended, so those that are old are at the beginning. And those are surplus that are
# more than are kept; they are counted no further than is of use.
OLD_SKIPS = """
    SELECT v.job_no, s.first_at, s.last_at
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS v (job_no, kept, since)
    CROSS JOIN LATERAL (
        (
            SELECT k.first_at, k.last_at FROM skips AS k
            WHERE k.job_no = v.job_no AND k.first_at < v.since AND k.last_at < v.since
            ORDER BY k.first_at, k.last_at LIMIT %s
        )
        UNION
        (
            SELECT k.first_at, k.last_at FROM skips AS k
            WHERE k.job_no = v.job_no ORDER BY k.first_at, k.last_at
            LIMIT (
                SELECT greatest(0, count(*) - coalesce(v.kept, 0))
                FROM (SELECT FROM skips AS c WHERE c.job_no = v.job_no LIMIT coalesce(v.kept + %s, 0)) AS c
            )
        )
    ) AS s ORDER BY v.job_no, s.first_at, s.last_at
"""
_DELETE_SKIPS = """
    DELETE FROM skips AS s
    USING unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS v (job_no, first_at, last_at)
    WHERE s.job_no = v.job_no AND s.first_at = v.first_at AND s.last_at = v.last_at
"""


def look(desk: Desk, now: datetime, limit: int, after: str) -> Page:
    """Which of the next jobs have something to forget."""
    return Pruner(Past(desk, locks=False), desk.shelf, now, limit).look(after)


def forget(desk: Desk, page: Page, now: datetime, limit: int, after: str) -> Pruned:
    """Forget at most so much of a page."""
    return Pruner(Past(desk, locks=True), desk.shelf, now, limit).forget(page, after)


class Past:
    """The history of jobs. `locks`: nobody else writes to those that are read."""

    def __init__(self, desk: Desk, *, locks: bool) -> None:
        self._desk = desk
        self._connection = desk.connection
        self._locks = locks

    def page(self, after: str, count: int) -> list[Row]:
        return self._connection.execute(_NEXT, (after, count)).fetchall()

    def entries(self, keys: Collection[str]) -> Collection[Entry]:
        return Book(self._desk, locks=self._locks).by_key(keys).values() if keys else ()

    def walk(self, firsts: Mapping[int, int | None], most: int) -> Walk:
        return chain.walk(self._connection, firsts, most)

    def old_skips(self, bounds: Mapping[int, Bounds], most: int) -> Mapping[int, list[Row]]:
        lasts, sinces = ([getattr(bound, name) for bound in bounds.values()] for name in Bounds._fields)
        values = arrays.numbers(bounds), arrays.numbers(lasts), arrays.numbers(sinces), most, most
        found: dict[int, list[Row]] = {}
        for job_no, *skip in self._connection.execute(OLD_SKIPS, values, binary=True):
            found.setdefault(job_no, []).append(tuple(skip))
        return found

    def forget(self, entry: Entry, surplus: Surplus) -> None:
        rows, gone, skips, stretch = surplus
        if gone:
            chain.forget_outputs(self._connection, entry.key, gone)
            chain.forget(self._connection, entry.job_no, rows, gone, stretch)
        if skips:
            firsts, lasts = (arrays.numbers(column) for column in zip(*skips, strict=True))
            jobs = arrays.numbers([entry.job_no] * len(skips))
            self._connection.execute(_DELETE_SKIPS, (jobs, firsts, lasts))

    def has_remains(self) -> bool:
        return remains.are_there(self._connection)

    def forget_remains(self, most: int) -> int:
        return remains.forget(self._connection, most)
