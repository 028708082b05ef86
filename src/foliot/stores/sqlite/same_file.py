"""Whether the path of the database still leads to the files that a connection has open.

Somebody may remove or replace them under a node that runs. SQLite does not mind: it goes on with files that
nobody else can find, while the next program makes new ones at the same place, and both run the same jobs. So
every transaction begins with a look at the path.

A file that is not there may come back: until then the store does not answer. Another file at its place is
an error for good: whoever goes on would go on with the wrong one, and whoever starts anew takes the new one.
"""

from __future__ import annotations

import os
from pathlib import Path

from foliot.errors import StoreError, StoreUnavailableError

FileId = tuple[int, int]  # of the device, and on it

_BESIDE = ("-wal", "-shm")  # the log, and the index of the log; they are there while anybody is connected


def file_id(path: str | Path) -> FileId | None:
    """Which file a path leads to; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - in a third of the time, at every transaction
    except OSError:
        return None
    return found.st_dev, found.st_ino


class OpenFiles:
    """The files that a connection has open: its database, and from the first look on, those beside it."""

    def __init__(self, path: Path, database: FileId) -> None:
        self.database = database
        self._known: dict[str, FileId | None] = {str(path): database}
        real = os.path.realpath(path)  # which SQLite puts the others beside
        self._beside = [f"{real}{ending}" for ending in _BESIDE]

    def check(self, verb: str) -> None:
        """StoreError if one of them was replaced, StoreUnavailableError if one is not there."""
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
    """Somebody has put another file to the place of one that is open."""
    return StoreError(
        f"{verb}: {path} was replaced: it is another file than the one that was opened",
        details={"verb": verb, "path": str(path)},
        hint="restart this program to go on with the file that is there now; to go on with the one before, "
        "stop everything that uses the new one, and put it back with its -wal first",
    )


def gone(verb: str, path: str | Path) -> StoreUnavailableError:
    """Somebody has taken away a file that is open."""
    return StoreUnavailableError(
        verb,
        f"{path} is not there any more",
        hint="put it back, or restart this program to begin with a new file; nothing starts until then",
    )
