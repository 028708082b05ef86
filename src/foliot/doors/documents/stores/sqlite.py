"""Rows of a table in an SQLite file as documents."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from os import PathLike, fspath
from typing import Any, Literal, TypeVar

from foliot.clock import SystemClock
from foliot.doors.documents.errors import InvalidConfigError
from foliot.doors.documents.job import floor_ms, milliseconds
from foliot.doors.documents.stores.table import NO_PARAMS, Columns, Row, TableStore, quoted
from foliot.doors.documents.stores.thread import OwnThread
from foliot.errors import StoreError, StoreUnavailableError, shorten
from foliot.protocols import Clock
from foliot.schedules.schedule import EPOCH

T = TypeVar("T")
_PATIENCE = 5.0  # seconds for another writer to end
_FORMAT = "%Y-%m-%d %H:%M:%S.%f"


class SqliteStore(TableStore):
    """A table of a file. Times are texts in UTC, as Django and SQLAlchemy write them; or numbers ("ms").

    A text is read in any form of ISO 8601; without an offset it is UTC. What is no time is never picked.
    """

    def __init__(  # noqa: PLR0913 - where the rows are, and what they look like
        self,
        path: str | PathLike[str],
        table: str,
        *,
        columns: Columns | None = None,
        condition: str | None = None,
        params: Sequence[Any] = NO_PARAMS,
        times: Literal["text", "ms"] = "text",
        clock: Clock | None = None,
    ) -> None:
        super().__init__(table, columns, condition, params)
        if times not in {"text", "ms"}:
            raise InvalidConfigError("times", f'must be "text" or "ms", not {shorten(times)}')
        self._path = fspath(path)
        self._is_text = times == "text"
        self._clock: Clock = clock or SystemClock()
        self._thread = OwnThread("sqlite")
        self._connection: sqlite3.Connection | None = None

    async def now(self) -> datetime:
        return self._clock.now()

    async def close(self) -> None:
        await self._thread.run(self._disconnect)
        self._thread.close()

    # -- values ------------------------------------------------------------------------------------

    def stored(self, value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        if not self._is_text:
            return milliseconds(value)
        return floor_ms(value).strftime(_FORMAT)

    def time_of(self, value: Any) -> Any:
        if isinstance(value, int) and not self._is_text:
            return EPOCH + timedelta(milliseconds=value)
        if not isinstance(value, str):
            return value
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            return value
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)

    def comparable(self, column: str) -> str:
        name = quoted(column)
        if not self._is_text:
            return f"iif(typeof({name}) = 'integer', {name}, NULL)"
        return f"iif(typeof({name}) = 'text', strftime('%Y-%m-%d %H:%M:%f000', {name}), NULL)"

    # -- statements --------------------------------------------------------------------------------

    async def take(self, lock_until: datetime, due_by: datetime) -> Row | None:
        at, name = self.comparable(self.columns.sleep_until), quoted(self.columns.sleep_until)
        condition = f" AND ({self.condition})" if self.condition else ""
        # The first comparison is for an index: a text that is due begins with a date up to tomorrow.
        find = (
            f"SELECT rowid AS foliot_row, * FROM {self.table} WHERE {name} < ? AND {at} <= ?{condition} "  # noqa: S608 - quoted
            f"ORDER BY {at} LIMIT 1"
        )
        lock = f"UPDATE {self.table} SET {name} = ? WHERE rowid = ?"  # noqa: S608 - quoted

        def work(connection: sqlite3.Connection) -> Row | None:
            due = min(self._clock.now(), due_by)
            bound = self.stored(due + timedelta(days=2))
            connection.execute("BEGIN IMMEDIATE")
            row = connection.execute(find, [bound, self.stored(due), *self.params]).fetchone()
            if row is None:
                return None
            found = dict(row)
            connection.execute(lock, [self.stored(lock_until), found.pop("foliot_row")])
            return found

        return await self._transaction("lock_next", work)

    async def execute(self, verb: str, sql: str, params: Sequence[Any]) -> tuple[int, list[Row]]:
        def work(connection: sqlite3.Connection) -> tuple[int, list[Row]]:
            with closing(connection.execute(sql, params)) as cursor:
                rows = [dict(row) for row in cursor.fetchall()]
                return cursor.rowcount, rows

        return await self._transaction(verb, work)

    async def _transaction(self, verb: str, work: Callable[[sqlite3.Connection], T]) -> T:
        def do() -> T:
            try:
                connection = self._connected()
                try:
                    answer = work(connection)
                    if connection.in_transaction:
                        connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.OperationalError as error:
                if "locked" in str(error) or "busy" in str(error) or "unable to open" in str(error):
                    raise StoreUnavailableError(verb, str(error)) from error
                raise StoreError(f"{verb}: {error}", details={"verb": verb}) from error
            except sqlite3.Error as error:
                raise StoreError(f"{verb}: {error}", details={"verb": verb}) from error
            return answer

        return await self._thread.run(do)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
            self._connection.row_factory = sqlite3.Row
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
