"""Connections to the server, how a transaction begins, and what the driver's errors mean."""

from __future__ import annotations

import logging
import math
import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Self

import psycopg
from psycopg import errors

from foliot.errors import StoreError, StoreUnavailableError, shorten
from foliot.stores.postgres.address import Address

Connection = psycopg.Connection[tuple[Any, ...]]

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"  # independent of the database's default
OLDEST = 14  # version of the server; later ones are tried
_VERSION = 10_000  # by how much the driver multiplies it
_SHORTEST_CONNECT = 2  # seconds; the driver knows no less
_ENCODINGS = (None, "UTF8", "SQL_ASCII")  # they store every text; None: a pooler hides it
THREADS = "foliot-"  # how the names of our threads begin
# Always use indexes. With old statistics PostgreSQL may choose a full scan: ending 500 attempts took 90 ms
# instead of 3.
_BY_INDEX = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_sort": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
_NO_ANSWER = (
    errors.OperationalError,  # no connection, shutting down, out of memory or disk, too many clients
    errors.InterfaceError,  # the connection is closed
    errors.QueryCanceled,  # the statement's own deadline
    errors.LockNotAvailable,
    errors.IdleInTransactionSessionTimeout,
    errors.ReadOnlySqlTransaction,  # a replica, until it is made the primary
)
_HINTS: dict[type[psycopg.Error], str] = {
    errors.ReadOnlySqlTransaction: "name all hosts in the URL, with target_session_attrs=read-write",
    errors.InsufficientPrivilege: (
        "to create the schema, a role needs CREATE on the database (foliot store migrate); others need "
        "USAGE on the schema and its sequences, and SELECT, INSERT, UPDATE, DELETE on its tables"
    ),
}
_AGAIN = (
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.UniqueViolation,  # another node did the same at the same time, and was faster
)


class PipelinedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that knows which pipeline it is in."""

    current: psycopg.Pipeline | None = None

    @contextmanager
    def pipeline(self) -> Iterator[psycopg.Pipeline]:
        with super().pipeline() as pipeline:
            self.current = pipeline
            try:
                yield pipeline
            finally:
                self.current = None


class SyncingCursor(psycopg.Cursor[tuple[Any, ...]]):
    """A cursor that sends Sync before it waits for an answer.

    Without Sync the server is inside one request for the whole pipeline, and none of its time limits
    applies: a frozen node would keep its locks for as long as it is frozen.
    """

    def fetchone(self) -> tuple[Any, ...] | None:
        self._sync()
        return super().fetchone()

    def fetchall(self) -> list[tuple[Any, ...]]:
        self._sync()
        return super().fetchall()

    def __iter__(self) -> Self:
        self._sync()
        return super().__iter__()

    def _sync(self) -> None:
        line = self.connection
        if self.pgresult is None and isinstance(line, PipelinedConnection) and line.current is not None:
            line.current.sync()


def _is_of_use(record: logging.LogRecord) -> bool:
    """Whether to keep a log line of the driver. Lost connections are reported by the calls themselves."""
    is_ours = (record.threadName or "").startswith(THREADS)
    return not (is_ours and record.msg.startswith("error ignored terminating"))


logging.getLogger("psycopg").addFilter(_is_of_use)


def connect(address: Address, deadline: timedelta) -> Connection:
    """A connection without session state: no prepared statement, no setting that stays."""
    seconds = deadline.total_seconds()
    connection = PipelinedConnection.connect(
        address.server,
        cursor_factory=SyncingCursor,
        autocommit=True,
        prepare_threshold=None,
        connect_timeout=max(_SHORTEST_CONNECT, math.ceil(seconds)),
        tcp_user_timeout=math.ceil(seconds * 1000),
        keepalives_idle=max(1, math.ceil(seconds)),
        keepalives_interval=1,
        keepalives_count=3,
        application_name=f"foliot {address.schema}",  # a node ends silent sessions of its own schema only
        client_encoding="utf8",
    )
    connection.prepare_threshold = None
    refusal = _refusal_of(connection)
    if refusal is not None:
        connection.close()
        raise refusal
    return connection


def _refusal_of(connection: Connection) -> StoreError | None:
    """Why a server cannot be used, if it cannot."""
    version = connection.info.server_version // _VERSION
    if version < OLDEST:
        return StoreError(
            f"the server is PostgreSQL {version}, which is too old", hint=f"PostgreSQL {OLDEST} or newer"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in _ENCODINGS:
        return StoreError(
            f"the database {shorten(connection.info.dbname)} has the encoding {encoding}, "
            "which cannot hold every text",
            hint="CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )
    return None


def begin(  # noqa: PLR0913 - a transaction is all this
    connection: Connection,
    how: str,
    schema: str,
    deadline: timedelta,
    *,
    silence: timedelta | None = None,
    steps: str = "",
) -> psycopg.Cursor[tuple[Any, ...]]:
    """Begin a transaction with its own settings, and read `steps` in the same round trip.

    A statement may take `deadline`. The server ends the transaction if this side is silent for `silence`, or
    if it waits that long for a lock, because others wait for its locks.
    """
    silent = _milliseconds(deadline if silence is None else silence)
    settings = {
        # pg_temp last: temporary tables of a pooled session must not hide our tables.
        "search_path": f'"{schema}", pg_temp',
        "statement_timeout": _milliseconds(deadline),
        "lock_timeout": silent,
        "idle_in_transaction_session_timeout": silent,
        "array_nulls": "on",
        **_BY_INDEX,
    }
    connection.execute(how)
    calls = ", ".join(["set_config(%s, %s, true)"] * len(settings))
    sql = f"SELECT {calls}, number FROM {steps}" if steps else f"SELECT {calls}"  # noqa: S608 - of our own
    return connection.execute(sql, [text for item in settings.items() for text in item])


def _milliseconds(span: timedelta) -> str:
    return str(math.ceil(span.total_seconds() * 1000))


def is_stale(connection: Connection) -> bool:
    """Whether the server has closed the idle connection."""
    if connection.closed:
        return True
    with suppress(OSError, ValueError, psycopg.Error):
        readable, _, _ = select.select([connection.fileno()], [], [], 0)
        return bool(readable)
    return True


def cut(connection: Connection) -> None:
    """Cut a connection from another thread, so that the thread that waits for an answer stops waiting."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)


def translated(verb: str, error: psycopg.Error) -> StoreError:
    """Translate an error of the driver: temporary (no answer), or permanent. The message has no password."""
    said = shorten(str(error).strip().partition("\n")[0]) or type(error).__name__
    hint = next((hint for kind, hint in _HINTS.items() if isinstance(error, kind)), None)
    if isinstance(error, _NO_ANSWER):
        return StoreUnavailableError(verb, f"PostgreSQL says: {said}", hint=hint)
    return StoreError(f"{verb}: PostgreSQL says: {said}", details={"verb": verb, "reason": said}, hint=hint)


def is_worth_repeating(error: psycopg.Error) -> bool:
    """Whether this transaction lost a conflict with another one, and may be repeated."""
    return isinstance(error, _AGAIN)
