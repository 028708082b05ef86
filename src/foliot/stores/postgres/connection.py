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
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"  # whatever the database's own default is
OLDEST = 14  # version of the server; later ones are tried
_VERSION = 10_000  # by how much the driver multiplies it
_SHORTEST_CONNECT = 2  # seconds; the driver knows no less
_ENCODINGS = (None, "UTF8", "SQL_ASCII")  # what can hold every text; None: a pooler that does not say
THREADS = "foliot-"  # how the names of our threads begin
# Rows are found by an index, always. A planner that has not seen the tables grow may choose otherwise:
# ending 500 attempts took 90 ms instead of 3, because it walked through all of them first.
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
        "whoever makes the schema needs CREATE on the database (foliot store migrate); others need USAGE on "
        "the schema and its sequences, and SELECT, INSERT, UPDATE, DELETE on its tables"
    ),
}
_AGAIN = (
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.UniqueViolation,  # the same was asked twice at once, and the other was quicker
)


class Line(psycopg.Connection[tuple[Any, ...]]):
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


class LineCursor(psycopg.Cursor[tuple[Any, ...]]):
    """Says Sync before it waits for an answer.

    Without it the server is in the middle of a request for as long as the pipeline lasts, and no time
    limit of it runs: a node that stands still there would keep what it has locked for as long as it stands.
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
        if self.pgresult is None and isinstance(line, Line) and line.current is not None:
            line.current.sync()


def _is_of_use(record: logging.LogRecord) -> bool:
    """Whether something that the driver logs is news: that a connection was lost, a call says itself."""
    is_ours = (record.threadName or "").startswith(THREADS)
    return not (is_ours and record.msg.startswith("error ignored terminating"))


logging.getLogger("psycopg").addFilter(_is_of_use)


def connect(address: Address, deadline: timedelta) -> Connection:
    """A connection without anything of its own: no prepared statement, no setting that stays."""
    seconds = deadline.total_seconds()
    connection = Line.connect(
        address.server,
        cursor_factory=LineCursor,
        autocommit=True,
        prepare_threshold=None,
        connect_timeout=max(_SHORTEST_CONNECT, math.ceil(seconds)),
        tcp_user_timeout=math.ceil(seconds * 1000),
        keepalives_idle=max(1, math.ceil(seconds)),
        keepalives_interval=1,
        keepalives_count=3,
        application_name=f"foliot {address.schema}",  # whoever ends silent ones ends only those of its schema
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
    """Begin a transaction, with everything that holds for it alone; in the same breath, ask for `steps`.

    A statement may take as long as `deadline`. Whoever says nothing for as long as `silence` is ended, and
    so is whoever waits so long for a lock: others wait for what it has locked.
    """
    silent = _milliseconds(deadline if silence is None else silence)
    settings = {
        # Said last, temporary tables do not hide ours: a pool may hand out a session in which some are.
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
    """Whether the server has said something while nobody asked: it has gone away meanwhile."""
    if connection.closed:
        return True
    with suppress(OSError, ValueError, psycopg.Error):
        readable, _, _ = select.select([connection.fileno()], [], [], 0)
        return bool(readable)
    return True


def cut(connection: Connection) -> None:
    """End a connection from another thread: whoever waits for its answer stops waiting."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)


def translated(verb: str, error: psycopg.Error) -> StoreError:
    """What an error of the driver means: no answer now, or a trouble that stays. No password is in it."""
    said = shorten(str(error).strip().partition("\n")[0]) or type(error).__name__
    hint = next((hint for kind, hint in _HINTS.items() if isinstance(error, kind)), None)
    if isinstance(error, _NO_ANSWER):
        return StoreUnavailableError(verb, f"PostgreSQL says: {said}", hint=hint)
    return StoreError(f"{verb}: PostgreSQL says: {said}", details={"verb": verb, "reason": said}, hint=hint)


def is_worth_repeating(error: psycopg.Error) -> bool:
    """Whether two transactions were in each other's way, and this one was undone for it."""
    return isinstance(error, _AGAIN)
