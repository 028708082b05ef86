"""Rows of a table in PostgreSQL as documents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzLoader

from foliot.clock import SystemClock
from foliot.doors.documents.stores.server_time import ServerTime
from foliot.doors.documents.stores.table import NO_PARAMS, Columns, Row, TableStore, quoted
from foliot.doors.documents.stores.thread import OwnThread
from foliot.errors import StoreError, StoreUnavailableError
from foliot.protocols import Clock

_AWAY = (psycopg.OperationalError, psycopg.InterfaceError)
_PATIENCE = 10  # seconds for a server to answer at first, or to take what was sent
_TYPE = (
    """SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s"""
)
Connection = psycopg.Connection[Row]


class PostgresStore(TableStore):
    """A table of a server, by its URL. The times are of type timestamptz; the server's clock decides."""

    mark = "%s"
    same = "IS NOT DISTINCT FROM"

    def __init__(  # noqa: PLR0913 - where the rows are, and what they look like
        self,
        url: str,
        table: str,
        *,
        columns: Columns | None = None,
        condition: str | None = None,
        params: Sequence[Any] = NO_PARAMS,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(table, columns, condition, params)
        self._url = url
        self._thread = OwnThread("postgres")
        self._connection: Connection | None = None
        self._time = ServerTime(self._server_time, clock or SystemClock())

    async def now(self) -> datetime:
        return await self._time.now()

    async def close(self) -> None:
        await self._thread.run(self._disconnect)
        self._thread.close()

    def stored(self, value: Any) -> Any:
        return value

    def time_of(self, value: Any) -> Any:
        return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value

    async def take(self, lock_until: datetime, due_by: datetime) -> Row | None:
        at, id_ = quoted(self.columns.sleep_until), quoted(self.columns.id)
        condition = f" AND ({self.condition})" if self.condition else ""
        # A row that another worker is about to lock is passed over, so workers do not wait for each other.
        sql = (
            f"WITH due AS MATERIALIZED (SELECT {id_} AS id, {at} AS was FROM {self.table} "  # noqa: S608 - quoted
            f"WHERE {at} <= clock_timestamp() AND {at} <= %s{condition} "
            f"ORDER BY {at} LIMIT 1 FOR UPDATE SKIP LOCKED) "
            f"UPDATE {self.table} AS job SET {at} = %s FROM due WHERE job.{id_} = due.id "
            "RETURNING job.*, due.was AS foliot_was"
        )
        _, rows = await self.execute("lock_next", sql, [due_by, *self.params, lock_until])
        if not rows:
            return None
        (row,) = rows
        row[self.columns.sleep_until] = row.pop("foliot_was")
        return row

    async def execute(self, verb: str, sql: str, params: Sequence[Any]) -> tuple[int, list[Row]]:
        def work() -> tuple[int, list[Row]]:
            try:
                cursor = self._connected().execute(sql.encode(), params)
                return cursor.rowcount, cursor.fetchall() if cursor.description else []
            except _AWAY as error:
                self._disconnect()
                raise StoreUnavailableError(verb, _first_line(error)) from error
            except psycopg.Error as error:
                raise StoreError(f"{verb}: {_first_line(error)}", details={"verb": verb}) from error

        return await self._thread.run(work)

    async def _server_time(self) -> datetime:
        _, rows = await self.execute("now", "SELECT clock_timestamp() AS now", [])
        now: datetime = rows[0]["now"]
        return now.astimezone(UTC)

    # -- in the thread -----------------------------------------------------------------------------

    def _connected(self) -> Connection:
        if self._connection is None:
            connection = psycopg.connect(
                self._url,
                autocommit=True,
                row_factory=dict_row,
                prepare_threshold=None,
                connect_timeout=_PATIENCE,
                tcp_user_timeout=_PATIENCE * 1000,
                application_name="foliot documents",
            )
            connection.adapters.register_loader("timestamptz", _AnyTime)
            self._check_columns(connection)
            self._connection = connection
        return self._connection

    def _check_columns(self, connection: Connection) -> None:
        for name in (self.columns.sleep_until, self.columns.repeat_until):
            row = connection.execute(_TYPE, [self.table, name]).fetchone()
            if row is None or row["format_type"] != "timestamp with time zone":
                connection.close()
                found = "there is none" if row is None else f"it is {row['format_type']}"
                raise StoreError(
                    f"the column {name} of {self.table} must be timestamptz; {found}",
                    hint=f"ALTER TABLE {self.table} ALTER {quoted(name)} TYPE timestamptz",
                )

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _AnyTime(TimestamptzLoader):
    """Reads also what Python's calendar does not hold, such as infinity: as its end."""

    def load(self, data: Any) -> datetime:
        try:
            return super().load(data)
        except psycopg.DataError:
            text = bytes(data)
            is_past = text.startswith(b"-") or text.endswith(b"BC")
            return datetime.min.replace(tzinfo=UTC) if is_past else datetime.max.replace(tzinfo=UTC)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0] or type(error).__name__
