"""Whose turn it is to write to a file, among the stores of one process.

SQLite lets one connection write at a time. Another one that wants to write looks again after 1, 2, 5, 10 ms
and so on, so it often sleeps while the file is free. An engine and the API beside it are two stores of one
process: they take turns by a lock, and the next one goes on at once. Between processes SQLite's lock decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

_locks: WeakValueDictionary[str, Lock] = WeakValueDictionary()
_finding = Lock()


class WriteTurn:
    """A place in the line of those that write to one file. All that name the same file share the line."""

    def __init__(self, path: Path, patience: timedelta) -> None:
        self._patience = patience.total_seconds()
        key = os.path.realpath(path)
        with _finding:
            lock = _locks.get(key)
            if lock is None:
                lock = _locks[key] = Lock()
        self._lock = lock

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for the turn, and keep it. After too long a wait SQLite is asked, and says what is wrong."""
        is_mine = self._lock.acquire(timeout=self._patience)
        try:
            yield
        finally:
            if is_mine:
                self._lock.release()


def _begin_anew() -> None:
    """A fork copies locks that threads of the parent hold, and none of these threads."""
    global _finding  # noqa: PLW0603 - the child's own
    _finding = Lock()
    _locks.clear()


os.register_at_fork(after_in_child=_begin_anew)
