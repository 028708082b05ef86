"""Many rows in one statement of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from foliot.stores.sql.rows import Row
from foliot.stores.sql.upsert import Upsert

_MOST_VALUES = 900  # old versions can bind 999


class Insert:
    """Rows to insert, or to update if the key exists; many rows in one statement.

    Each statement is one call of the library, which releases the interpreter lock. If another thread is busy,
    getting the lock back may take 5 ms. So few statements are faster than many.
    """

    def __init__(self, what: Upsert) -> None:
        bound = what.columns.split(", ")
        self._head = f"INSERT INTO {what.table} ({what.columns}) VALUES "  # noqa: S608 - constants
        self._places = f"({', '.join('?' * len(bound))})"
        self._tail = f" ON CONFLICT {what.on_conflict}" if what.on_conflict else ""
        self.rows_at_once = _MOST_VALUES // len(bound)
        self._many = self.sql(self.rows_at_once)
        self._one = self.sql(1)

    def sql(self, count: int) -> str:
        """The statement for a number of rows."""
        return self._head + ", ".join([self._places] * count) + self._tail

    def execute(self, connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
        """Write the rows, in their order."""
        size = self.rows_at_once
        full = len(rows) - len(rows) % size
        for start in range(0, full, size):
            connection.execute(self._many, list(chain.from_iterable(rows[start : start + size])))
        connection.executemany(self._one, rows[full:])


insert_of = lru_cache(Insert)
