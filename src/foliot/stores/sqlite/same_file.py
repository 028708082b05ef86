"""Whether the path of the database still leads to the files that a connection has open.

A person may remove or replace the files while a node runs. SQLite does not notice: it keeps using the old
files, while another program creates new ones at the same path, and both run the same jobs. So every
transaction first checks the path.

    a file is missing          it may come back: until then the store does not answer (StoreUnavailableError)
    another file is there      a final error (StoreError): this node must not continue with the old file
"""

from __future__ import annotations

import os
from pathlib import Path

from foliot.errors import StoreError, StoreUnavailableError

FileId = tuple[int, int]  # device and inode

_BESIDE = ("-wal", "-shm")  # the log and its index; they exist while any process is connected


def file_id(path: str | Path) -> FileId | None:
    """Which file a path leads to; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - in a third of the time, at every transaction
    except OSError:
        return None
    return found.st_dev, found.st_ino


class OpenFiles:
    """The files that a connection has open: the database and, after the first check, the files beside it."""

    def __init__(self, path: Path, database: FileId) -> None:
        self.database = database
        self._known: dict[str, FileId | None] = {str(path): database}
        real = os.path.realpath(path)  # SQLite puts the other files beside it
        self._beside = [f"{real}{ending}" for ending in _BESIDE]

    def check(self, verb: str) -> None:
        """Raise StoreError if one of them was replaced, StoreUnavailableError if one is missing."""
        if self._beside:
            self._known |= {path: file_id(path) for path in self._beside}
            self._beside = []
        missing = None
        for path, known in self._known.items():
            found = file_id(path)
            if found is None:
                missing = path
            elif found != known:
                raise replaced(verb, path)
        if missing is not None:
            raise gone(verb, missing)


def replaced(verb: str, path: str | Path) -> StoreError:
    """The error for a file that was replaced."""
    return StoreError(
        f"{verb}: {path} was replaced: it is another file than the one that was opened",
        details={"verb": verb, "path": str(path)},
        hint="restart this program to go on with the file that is there now; to go on with the one before, "
        "stop everything that uses the new one, and put it back with its -wal first",
    )


def gone(verb: str, path: str | Path) -> StoreUnavailableError:
    """The error for a file that was removed."""
    return StoreUnavailableError(
        verb,
        f"{path} is not there any more",
        hint="put it back, or restart this program to begin with a new file; nothing starts until then",
    )
