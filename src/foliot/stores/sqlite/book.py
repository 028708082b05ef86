"""The book of one call, on SQLite, and what a connection keeps from one call to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from heapq import merge
from itertools import islice

from foliot.model.damage import Damage
from foliot.protocols import Clock
from foliot.stores.sql.book import MOST_STRAY_ROUNDS, STRAY
from foliot.stores.sql.book import Book as SqlBook
from foliot.stores.sql.definition import Reader, Writer
from foliot.stores.sql.entry import WAKE_AT, Entry
from foliot.stores.sql.herd import Herds
from foliot.stores.sql.rows import Row
from foliot.stores.sql.sweep import Place, Sweep
from foliot.stores.sqlite import statement
from foliot.stores.sqlite.dialect import SqliteDialect
from foliot.stores.sqlite.shelf import Shelf

_MOST_KEPT = 8192


class Desk:
    """What a connection has to work with: itself, the shared texts, and the jobs that were read last.

    `kept` are entries of jobs that this connection has claimed, as they are in the file unless somebody
    else has written to it: their ends come soon. Whatever writes to a job takes it out.
    """

    def __init__(self, connection: sqlite3.Connection, reader: Reader, writer: Writer, clock: Clock) -> None:
        self.connection = connection
        self.dialect = SqliteDialect(connection)
        self.clock = clock
        self.told: set[str] = set()
        self.shelf = Shelf(connection)
        self.reader = reader
        self.writer = writer
        self.sweep = Sweep(clock, has_litter=False)
        self.herds = Herds(reader, self.shelf)
        self.kept: dict[str, Entry] = {}
        self.is_careful = True  # see `sql.book`; after a trouble there is a new desk
        self._kept_version = 0

    def refresh(self) -> None:
        """Forget the entries that were kept if somebody else has written to the file meanwhile."""
        (version,) = self.connection.execute("PRAGMA data_version").fetchone()
        if version != self._kept_version or len(self.kept) > _MOST_KEPT:
            self.kept.clear()
            self._kept_version = version


class Book(SqlBook):
    """Reads, asks, and writes, for one call. One writes at a time, so nothing need be locked."""

    trouble = sqlite3.Error

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.dialect, desk.shelf, desk.reader, desk.writer, desk.kept)
        self.desk = desk
        self.connection = desk.connection

    # -- reading -----------------------------------------------------------------------------------

    def due(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Entry]:
        rows: list[Row] = []
        for _ in range(MOST_STRAY_ROUNDS):
            found = self._due_rows(lanes, now, count, after)
            rows = [row for row in found if row[1] is not None]  # its key
            if len(rows) == len(found):
                break
            strays = [(STRAY, row[0]) for row in found if row[1] is None]
            self.connection.executemany(statement.SET_ASIDE, strays)
        return self._unread(rows, self._open_of(rows))

    def _due_rows(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Row]:
        cursors = [self.connection.execute(statement.DUE, (lane, now, *after, count)) for lane in lanes]
        if len(cursors) == 1:
            rows = cursors[0].fetchall()
        else:
            rows = list(islice(merge(*cursors, key=lambda row: (row[WAKE_AT], row[0])), count))
            for cursor in cursors:
                cursor.close()
        return rows

    def _has_attempt(self, key: Row) -> bool:
        return self.connection.execute(statement.ATTEMPT, key).fetchone() is not None

    def wait_for_others(self, lanes: Sequence[int], now: int) -> bool:  # noqa: ARG002 - see the base
        return False  # nobody else has any at hand

    def by_key(self, keys: Iterable[str]) -> dict[str, Entry]:
        return {entry.key: entry for entry in self.entries(self._select(statement.BY_KEY, keys))}

    def recalled(self, keys: set[str]) -> dict[str, Entry]:
        """The same; entries that were kept need not be read again."""
        self.desk.refresh()
        found = {key: self.kept[key] for key in keys if key in self.kept}
        missing = keys - found.keys() if len(found) < len(keys) else ()
        return found | self.by_key(missing) if missing else found

    def by_number(self, numbers: Iterable[int]) -> dict[int, Entry]:
        """Jobs by their numbers, those that are there."""
        return {entry.job_no: entry for entry in self.entries(self._select(statement.BY_NUMBER, numbers))}

    def entries(self, rows: list[Row]) -> list[Entry]:
        """The entries of rows, with the open attempts of their jobs."""
        return self._together(rows, self._open_of(rows))

    def _open_of(self, rows: list[Row]) -> list[Row]:
        return self._select(statement.OPEN_OF_JOBS, [row[0] for row in rows])

    def _select(self, start: str, values: Iterable[object]) -> list[Row]:
        """Rows for distinct values, in no order; a value that was repeated to fill up counts once."""
        found: list[Row] = []
        for chunk in statement.chunks(list(values)):
            found += self.connection.execute(statement.one_of(start, chunk), chunk)
        return found

    # -- writing -----------------------------------------------------------------------------------

    def flush(self) -> None:
        for rows, put in (
            (self._jobs, statement.ADD_JOB),
            (self.starts, statement.START),
            (self.moves, statement.MOVE),
            (self.ends, statement.END),
            (self._attempts, statement.PUT_ATTEMPT),
            (self._states, statement.PUT_STATE),
            (self._skips, statement.PUT_SKIP),
        ):
            if rows:
                put.execute(self.connection, rows)
                rows.clear()

    def set_aside(self, entry: Entry, damage: Damage) -> None:
        entry.damage = damage
        self.kept.pop(entry.key, None)
        self.connection.execute(statement.SET_ASIDE, (str(damage), entry.job_no))

    def _change_definition(self, job_no: int, definition: Row) -> None:
        self.connection.execute(statement.CHANGE_JOB, (*definition, job_no))

    def _change_lane(self, job_no: int, lane: int) -> None:
        self.connection.execute(statement.CHANGE_LANE, (lane, job_no))
