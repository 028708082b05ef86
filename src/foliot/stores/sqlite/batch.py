"""The batch of one call, on SQLite: reads due jobs and their definitions in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from foliot.stores.sql.batch import MOST_STRAY_ROUNDS, STRAY, WriteBatch
from foliot.stores.sql.entry import DUE_AT, DUE_ROW, Place
from foliot.stores.sql.rows import Row

if TYPE_CHECKING:
    from foliot.stores.sqlite.session import SqliteSession

# ruff: noqa: S608 - made of constants only

_ROW = f"{DUE_ROW}, s.last_run"  # not used; reading it shows bad text before it is replaced
DUE = f"""
    SELECT {_ROW}
    FROM states AS s INDEXED BY states_due LEFT JOIN jobs AS j ON j.job_no = s.job_no
    WHERE s.lane_no = :lane AND s.wake_at <= :now AND (s.wake_at, s.job_no) > (:at, :after)
    AND s.damage IS NULL
    ORDER BY s.wake_at, s.job_no LIMIT :count
"""
# Two conditions instead of a row value: for a row value SQLite searches from the start of that time.
_NEXT = """
    coalesce((
        SELECT n.job_no FROM states AS n INDEXED BY states_due
        WHERE n.lane_no = {lane} AND n.wake_at = {at} AND n.job_no > {after} AND n.damage IS NULL
        ORDER BY n.job_no LIMIT 1
    ), (
        SELECT n.job_no FROM states AS n INDEXED BY states_due
        WHERE n.lane_no = {lane} AND n.wake_at > {at} AND n.wake_at <= :now AND n.damage IS NULL
        ORDER BY n.wake_at, n.job_no LIMIT 1
    ))
"""
# A recursive query with ORDER BY works as a priority queue. It begins with the first job of each lane; each
# job that is taken out adds the next job of its lane. So one statement merges any number of lanes and reads
# only a few extra rows. Separate statements for each lane would all be open, and compiled, at once.
MERGED = f"""
    WITH RECURSIVE lane (lane_no) AS (VALUES {{lanes}}),
    due (wake_at, job_no, lane_no) AS (
        SELECT s.wake_at, s.job_no, s.lane_no FROM lane AS l CROSS JOIN states AS s
        WHERE s.job_no = {_NEXT.format(lane="l.lane_no", at=":at", after=":after")}
        UNION ALL
        SELECT s.wake_at, s.job_no, s.lane_no FROM due AS d CROSS JOIN states AS s
        WHERE s.job_no = {_NEXT.format(lane="d.lane_no", at="d.wake_at", after="d.job_no")}
        ORDER BY 1, 2 LIMIT :count
    )
    SELECT {_ROW}
    FROM due AS d CROSS JOIN states AS s ON s.job_no = d.job_no LEFT JOIN jobs AS j ON j.job_no = s.job_no
"""


class SqliteBatch(WriteBatch):
    """Only one call writes at a time, so it needs no locks."""

    def __init__(self, session: SqliteSession) -> None:
        super().__init__(session)
        self._session = session
        self._connection = session.connection

    def due(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Row]:
        rows: list[Row] = []
        for _ in range(MOST_STRAY_ROUNDS):
            found = self._due_rows(lanes, now, count, after)
            rows = [row for row in found if row[1] is not None]  # its key
            if len(rows) == len(found):
                break
            self._set_aside([row[0] for row in found if row[1] is None], STRAY)
        return rows

    def _due_rows(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Row]:
        values = {"now": now, "at": after.wake_at, "after": after.job_no, "count": count}
        if len(lanes) == 1:
            return self._connection.execute(DUE, {"lane": lanes[0], **values}).fetchall()
        rows = self._connection.execute(merged(tuple(lanes)), values).fetchall()
        rows.sort(key=lambda row: (row[DUE_AT], row[0]))
        return rows

    def wait_for_others(self, lanes: Sequence[int], now: int) -> bool:  # noqa: ARG002 - see the base
        return False  # no other call holds jobs


@lru_cache(maxsize=16)
def merged(lanes: tuple[int, ...]) -> str:
    """The statement for these lanes.

    Their numbers are part of the text, because lanes of a node seldom change.
    """
    return MERGED.format(lanes=", ".join(f"({lane:d})" for lane in lanes))
