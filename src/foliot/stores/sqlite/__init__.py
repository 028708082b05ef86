"""The store in one file, for one program or for several processes on one host.

- **One writer.** A thread of its own does all that changes anything, in transactions that take the
  file's only write lock at once (BEGIN IMMEDIATE): `decide` runs inside, so what it saw is what is written
  over. What waits is committed together (`worker`).
- **Rows for runs.** A run is one update of its job's state, one attempt added, one attempt changed;
  attempts are stored by time, so none of this grows with history (`history_links`). What is due is found by
  one index of (lane, wake_at); a lane is a queue and a kind of action (`interned`).
- **Entries.** A verb reads the records that it is about, decides, and notes rows that are written
  together (`batch`). What cannot be read or decided about is set aside; the others go on.
- **Questions** have connections of their own, and see what was committed when they were asked.
- **Death is proved** by a lock file on the same host (`lock_file`), so that a restart recovers at once
  what its predecessor held; otherwise by the lease, by the clock that was given.

If the disk is full, the file read-only, or locked for too long, a verb raises StoreUnavailableError, has
written nothing, and works again when the trouble is over.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from foliot.errors import InvalidStoreError
from foliot.model.view import FreeSpace, Schema
from foliot.protocols import Clock
from foliot.stores.sqlite import backup, inspection
from foliot.stores.sqlite.store import SqliteStore

__all__ = [
    "SqliteStore", "back_up", "check_url", "flaws_of", "free_space", "give_back", "open_store", "schema_of",
    "sqlite_path",
]  # fmt: skip


def sqlite_path(url: str) -> Path:
    """`sqlite:///jobs.db` is relative to where the program runs, `sqlite:////var/lib/jobs.db` is not."""
    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or not path or path == ":memory:" or parts.query:
        raise InvalidStoreError(
            url, "names no file", hint="three slashes for a relative path: sqlite:///jobs.db; or memory://"
        )
    return Path(path)


def check_url(url: str) -> None:
    """InvalidStoreError if a URL names no file."""
    sqlite_path(url)


@asynccontextmanager
async def open_store(url: str, clock: Clock, *, lease: timedelta) -> AsyncIterator[SqliteStore]:
    """The store in the file of a URL."""
    path = sqlite_path(url)
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InvalidStoreError(url, f"there is no folder {folder}", hint="create it first")
    async with SqliteStore(path, clock, lease=lease) as store:
        yield store


def schema_of(url: str) -> Schema:
    """How far a file is."""
    return inspection.look_at_schema(sqlite_path(url))


def flaws_of(url: str) -> tuple[str, ...]:
    """What SQLite finds wrong with a file."""
    return inspection.find_flaws(sqlite_path(url))


def back_up(url: str, target: Path) -> int:
    """Copy the file of a URL into a new one, while nodes work on it."""
    return backup.back_up(sqlite_path(url), target)


def free_space(url: str) -> FreeSpace:
    """How much of a file is in use."""
    return backup.free_space(sqlite_path(url))


def give_back(url: str) -> None:
    """Give the free pages of a file back to the disk."""
    backup.give_back(sqlite_path(url))
