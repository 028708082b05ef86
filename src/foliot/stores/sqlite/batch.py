"""The batch of one call, on SQLite: what is due is read at once, with its definitions."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from foliot.stores.sql.batch import MOST_STRAY_ROUNDS, STRAY, WriteBatch
from foliot.stores.sql.claim_cursor import Place
from foliot.stores.sql.entry import ENTRY, WAKE_AT, Entry
from foliot.stores.sql.rows import Row

if TYPE_CHECKING:
    from foliot.stores.sqlite.session import SqliteSession

DUE = f"""
    SELECT {ENTRY}
    FROM states AS s INDEXED BY states_due LEFT JOIN jobs AS j ON j.job_no = s.job_no
    WHERE s.lane_no = ? AND s.wake_at <= ? AND (s.wake_at, s.job_no) > (?, ?) AND s.damage IS NULL
    ORDER BY s.wake_at, s.job_no LIMIT ?
"""  # noqa: S608 - made of constants only


class SqliteBatch(WriteBatch):
    """One call writes at a time, so nothing need be locked."""

    def __init__(self, session: SqliteSession) -> None:
        super().__init__(session)
        self._session = session
        self._connection = session.connection

    def due(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Entry]:
        rows: list[Row] = []
        for _ in range(MOST_STRAY_ROUNDS):
            found = self._due_rows(lanes, now, count, after)
            rows = [row for row in found if row[1] is not None]  # its key
            if len(rows) == len(found):
                break
            self._set_aside([row[0] for row in found if row[1] is None], STRAY)
        return self._unread(rows, self._open_of(rows))

    def _due_rows(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Row]:
        cursors = [self._connection.execute(DUE, (lane, now, *after, count)) for lane in lanes]
        if len(cursors) == 1:
            return cursors[0].fetchall()
        rows = list(islice(merge(*cursors, key=lambda row: (row[WAKE_AT], row[0])), count))
        for cursor in cursors:
            cursor.close()
        return rows

    def wait_for_others(self, lanes: Sequence[int], now: int) -> bool:  # noqa: ARG002 - see the base
        return False  # no other call has any at hand
