"""Connections to the file, and what SQLite's errors mean to those who use a store."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from foliot.errors import FoliotError, StoreError, StoreUnavailableError
from foliot.stores.call_thread import unwritable
from foliot.stores.sqlite.same_file import FileId, OpenFiles, file_id, gone, replaced

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


class Connection(sqlite3.Connection):
    """A connection that knows which files it has open, and whether its commits wait for the disk."""

    files: OpenFiles
    synchronous: Synchronous  # as the store was opened
    _waits: bool | None = True  # None: unknown

    def wait_for_disk(self, waits: bool) -> None:  # noqa: FBT001 - it is a switch
        """Let the next commits wait for the disk, or not. One that waits covers those before it."""
        if waits != self._waits and self.synchronous is Synchronous.FULL:
            self._waits = None
            self.execute(f"PRAGMA synchronous = {Synchronous.FULL if waits else Synchronous.NORMAL}")
            self._waits = waits


def connect(
    path: Path, busy_for: timedelta, synchronous: Synchronous, known: FileId | None = None
) -> Connection:
    """A connection that commits when it is told to, and waits so long for other processes.

    `known` is the file that it must lead to; if there is none, a file that is not there is created.
    """
    before = file_id(path)
    if known is not None and before != known:
        raise gone("connect", path) if before is None else replaced("connect", path)
    if before is None:
        create_private(path)
    connection = sqlite3.connect(
        path if known is None else f"{path.as_uri()}?mode=rw",
        timeout=busy_for.total_seconds(), isolation_level=None, cached_statements=256,
        check_same_thread=False, factory=Connection, uri=known is not None,
    )  # fmt: skip
    try:
        connection.files = _opened(path, before)
        _be_write_ahead(connection)
        connection.synchronous = synchronous
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_TO_CHECKPOINT}")
        connection.execute(f"PRAGMA journal_size_limit = {_LARGEST_LOG}")
        connection.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def create_private(path: Path) -> None:
    """An empty file that no other user can read: payloads and outputs may hold secrets.

    SQLite gives its -wal and -shm the mode of the file. A file that is there keeps its mode; a file that
    cannot be created is for SQLite to tell of.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _opened(path: Path, before: FileId | None) -> OpenFiles:
    """The files of a connection that was just made, if its path has not led elsewhere meanwhile."""
    database = file_id(path)
    if database is None or before not in (None, database):
        raise gone("connect", path)  # who tries again knows more
    return OpenFiles(path, database)


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


def translated(verb: str, error: BaseException) -> BaseException:
    """Translate an error for the caller: the file is damaged, or the store does not answer now.

    What is neither passes: errors of ours, and those that end a program.
    """
    if isinstance(error, FoliotError) or not isinstance(error, Exception):
        return error
    if isinstance(error, UnicodeEncodeError):
        return unwritable(verb, error)
    meaning = _meaning(verb, error)
    meaning.__cause__ = error
    return meaning


def _meaning(verb: str, error: Exception) -> StoreError:
    if isinstance(error, MemoryError | OSError):
        return StoreUnavailableError(verb, str(error) or "there is no memory left")
    if isinstance(error, UnicodeDecodeError) or _primary(error) in _DAMAGED_FILE:
        return _damaged(verb, str(error))
    if isinstance(error, sqlite3.OperationalError) and _primary(error) != sqlite3.SQLITE_ERROR:
        return StoreUnavailableError(verb, f"SQLite says: {error}")
    return _senseless(verb, error)


def _damaged(verb: str, reason: str) -> StoreError:
    return StoreError(
        f"{verb}: the database file is damaged: {reason}",
        details={"verb": verb, "reason": reason},
        hint="keep a copy of the file with its -wal, and restore a backup, or try sqlite3's .recover",
    )


def _senseless(verb: str, error: Exception) -> StoreError:
    """Not even SQLite sees the damage; or it is a mistake of ours: the cause tells."""
    reason = f"{type(error).__name__}: {error}"
    return StoreError(
        f"{verb}: what the database file holds cannot be right: {reason}",
        details={"verb": verb, "reason": reason},
        hint="`foliot store check` looks for damage; if it finds none, please report this",
    )


def is_passing(error: BaseException) -> bool:
    """Whether the connection itself is as good as before."""
    return _primary(error) in _PASSING


def _primary(error: BaseException) -> int:
    """The kind of an error; the byte above it tells the details."""
    code = getattr(error, "sqlite_errorcode", None)
    return sqlite3.SQLITE_ERROR if code is None else code & 0xFF
