"""A consistent copy of a file while nodes work on it, and free pages given back to the disk.

`cp` copies the file without its write-ahead log, in which the newest commits are: the copy may be old, or
empty. `VACUUM INTO` reads one moment of both, waits for no writer, and makes no writer wait. The copy gets
its name only when it is whole and on the disk.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from foliot.errors import StoreError, StoreUnavailableError, shorten
from foliot.model.view import FreeSpace
from foliot.stores.sqlite.connection import create_private, translated
from foliot.stores.sqlite.migration import missing_steps

_BUSY_FOR = 30  # seconds


def back_up(path: Path, target: Path) -> int:
    """Copy a store into a new file, which only its owner can read; how many bytes it has."""
    if not str(target).isprintable():  # SQLite takes names in UTF-8, and some bytes are none
        raise StoreError(f"{shorten(target)} is no name for a file", hint="name it in plain letters")
    if target.exists():
        raise _taken(target)
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    with suppress(FileNotFoundError):
        partial.unlink()
    try:
        _write(path, partial)
        _publish(partial, target)
    finally:
        with suppress(OSError):
            partial.unlink()
    return target.stat().st_size


def _write(path: Path, partial: Path) -> None:
    create_private(partial)
    if not partial.exists():
        raise StoreError(f"{partial.parent} is no folder in which a file can be created")
    with _opened(path, "backup") as connection:
        if missing_steps(connection):
            hint = "is it the right file? If it is, foliot store migrate brings it up to date"
            raise StoreError("the store is empty, or of an older version", hint=hint)
        connection.execute("VACUUM INTO ?", (str(partial),))
    with closing(sqlite3.connect(partial)) as copy:
        flaws = [text for (text,) in copy.execute("PRAGMA quick_check(1)") if text != "ok"]
    if flaws:
        raise StoreError(f"the copy is damaged, as the store is: {flaws[0]}", hint="foliot store check")


def _publish(partial: Path, target: Path) -> None:
    """Give a whole file its name. A file that is there is never replaced."""
    for place in (partial, partial.parent):
        file = os.open(place, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
    try:
        os.link(partial, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError:  # a file system without links
        if target.exists():
            raise _taken(target) from None
        partial.rename(target)


def _taken(target: Path) -> StoreError:
    return StoreError(f"{target} is there already, and is left as it is", hint="name a new file")


def free_space(path: Path) -> FreeSpace:
    """How much of the file is in use, and how much could be given back."""
    with _opened(path, "prune") as connection:
        size, free, pages = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_size", "freelist_count", "page_count")
        )
    return FreeSpace(size * pages, size * free)


def give_back(path: Path) -> None:
    """Write the file anew without its free pages. Writers wait meanwhile."""
    with _opened(path, "prune") as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def _opened(path: Path, verb: str) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise StoreUnavailableError(verb, f"there is no file {path}", is_plain=True)
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, timeout=_BUSY_FOR, uri=True, isolation_level=None)) as connection:
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise translated(verb, error) from error
