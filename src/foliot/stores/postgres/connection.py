"""Connections to the server, how a transaction begins, and what the driver's errors mean."""

from __future__ import annotations

import math
import os
import select
import socket
from contextlib import suppress
from datetime import timedelta
from typing import Any

import psycopg
from psycopg import errors

from foliot.errors import StoreError, StoreUnavailableError, shorten
from foliot.stores.postgres.address import Address

Connection = psycopg.Connection[tuple[Any, ...]]

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = "BEGIN"
_SHORTEST_CONNECT = 2  # seconds; the driver knows no less
# Rows are found by an index, always. A planner that has not seen the tables grow may choose otherwise:
# ending 500 attempts took 90 ms instead of 3, because it walked through all of them first.
_BY_INDEX = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_sort": "off",
    "jit": "off",
}
_NO_ANSWER = (
    errors.OperationalError,  # no connection, shutting down, out of memory or disk, too many clients
    errors.InterfaceError,  # the connection is closed
    errors.QueryCanceled,  # the statement's own deadline
    errors.LockNotAvailable,
    errors.IdleInTransactionSessionTimeout,
    errors.ReadOnlySqlTransaction,  # a replica, until it is made the primary
)
_AGAIN = (
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.UniqueViolation,  # the same was asked twice at once, and the other was quicker
)


def connect(address: Address, patience: timedelta) -> Connection:
    """A connection without anything of its own: no prepared statement, no setting that stays."""
    seconds = patience.total_seconds()
    connection = psycopg.connect(
        address.server,
        autocommit=True,
        prepare_threshold=None,
        connect_timeout=max(_SHORTEST_CONNECT, math.ceil(seconds)),
        tcp_user_timeout=math.ceil(seconds * 1000),
        keepalives_idle=max(1, math.ceil(seconds)),
        keepalives_interval=1,
        keepalives_count=3,
        application_name="foliot",
    )
    connection.prepare_threshold = None
    return connection


def begin(connection: Connection, how: str, schema: str, patience: timedelta) -> None:
    """Begin a transaction, with everything that holds for it alone."""
    limit = str(math.ceil(patience.total_seconds() * 1000))
    settings = {
        "search_path": schema,
        "statement_timeout": limit,
        "idle_in_transaction_session_timeout": limit,
        **_BY_INDEX,
    }
    connection.execute(how)
    calls = ", ".join(["set_config(%s, %s, true)"] * len(settings))
    connection.execute(f"SELECT {calls}", [text for item in settings.items() for text in item])


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
    if isinstance(error, _NO_ANSWER):
        return StoreUnavailableError(verb, f"PostgreSQL says: {said}")
    return StoreError(f"{verb}: PostgreSQL says: {said}", details={"verb": verb, "reason": said})


def is_worth_repeating(error: psycopg.Error) -> bool:
    """Whether two transactions were in each other's way, and this one was undone for it."""
    return isinstance(error, _AGAIN)
