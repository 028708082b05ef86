"""Connections to the file, and what SQLite's errors mean to those who use a store."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from foliot.errors import StoreError, StoreUnavailableError

_CACHE = -16_000  # kilobytes of pages that a connection keeps
_PAGES_TO_CHECKPOINT = 4000
_LARGEST_LOG = 64_000_000  # bytes of the write-ahead log that are kept after a large transaction
_DAMAGED_FILE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_PASSING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_INTERRUPT}


class Synchronous(StrEnum):
    """How much a commit waits for the disk. FULL: what was answered survives a power cut."""

    FULL = "FULL"
    NORMAL = "NORMAL"
    OFF = "OFF"


def connect(path: Path, patience: timedelta, synchronous: Synchronous) -> sqlite3.Connection:
    """A connection that commits when it is told to, and waits so long for other processes."""
    connection = sqlite3.connect(
        path, timeout=patience.total_seconds(), isolation_level=None, cached_statements=256,
        check_same_thread=False,
    )  # fmt: skip
    try:
        _be_write_ahead(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_TO_CHECKPOINT}")
        connection.execute(f"PRAGMA journal_size_limit = {_LARGEST_LOG}")
        connection.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def _be_write_ahead(connection: sqlite3.Connection) -> None:
    """Readers and the writer do not wait for each other. Several processes may switch at once."""
    for _ in range(20):
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if _primary(error) != sqlite3.SQLITE_BUSY:
                raise
            # This switch does not wait for others by itself; a transaction does.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
            continue
        if mode == "wal":
            return
    raise StoreError(
        "the file cannot be switched to a write-ahead log",
        hint="is it on a network file system? SQLite needs a local one, and a file of its own",
    )


def translated(verb: str, error: sqlite3.Error) -> Exception:
    """What an error of SQLite means: the file is damaged, or the store does not answer now."""
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError | sqlite3.InterfaceError):
        return error  # a mistake of ours, and no trouble of the store's
    if _primary(error) in _DAMAGED_FILE:
        return StoreError(
            f"{verb}: the database file is damaged: {error}",
            details={"verb": verb, "reason": str(error)},
            hint="keep a copy of the file with its -wal, and restore a backup, or try sqlite3's .recover",
        )
    return StoreUnavailableError(verb, f"SQLite says: {error}")


def is_passing(error: sqlite3.Error) -> bool:
    """Whether the connection itself is as good as before."""
    return _primary(error) in _PASSING


def _primary(error: sqlite3.Error) -> int:
    """The kind of an error; the byte above it tells the details."""
    code = getattr(error, "sqlite_errorcode", None)
    return sqlite3.SQLITE_ERROR if code is None else code & 0xFF
