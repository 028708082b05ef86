"""A look at a file from outside: how far its schema is, and whether it is sound. Nothing is written.

Opening a store creates and migrates its file, and switches it to a write-ahead log. Whoever only asks
looks here first, so that a question leaves the file of another program, or a place without one, as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from foliot.errors import StoreUnavailableError
from foliot.model.view import Schema
from foliot.stores.sqlite.bad_text import read_text
from foliot.stores.sqlite.connection import translated
from foliot.stores.sqlite.migration import missing_steps, steps

_BUSY_FOR = 5  # seconds
_MOST_FLAWS = 20


def look_at_schema(path: Path) -> Schema:
    """How far a file is. StoreUnavailableError if there is none, StoreError if it is not ours."""
    with _opened("open", path) as connection:
        missing_steps(connection)
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    return Schema(found, steps()[-1].number)


def find_flaws(path: Path) -> tuple[str, ...]:
    """What SQLite finds wrong with a file, after reading all of it."""
    with _opened("check", path) as connection:
        rows = connection.execute(f"PRAGMA integrity_check({_MOST_FLAWS})").fetchall()
    return tuple(text for (text,) in rows if text != "ok")


@contextmanager
def _opened(verb: str, path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        hint = "foliot serve creates it at its first start; name another with --store or FOLIOT_STORE"
        raise StoreUnavailableError(verb, f"there is no file {path}", hint=hint, is_plain=True)
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, timeout=_BUSY_FOR, uri=True)) as connection:
            connection.text_factory = read_text
            yield connection
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
        raise translated(verb, error) from error
