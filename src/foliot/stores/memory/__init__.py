"""The store in memory: for tests, notebooks, and programs whose jobs need not survive the process.

- `store`: the verbs, each behind one lock, so that each is one atomic step.
- `claim`: its part of the claim loop that all stores share.
- `nodes`: nodes, leases, and held attempts. `due`: the index of due jobs.
- `past`: ended attempts and skips, and when they are deleted. `overview`: a summary of the store.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from foliot.errors import InvalidStoreError
from foliot.model.view import Schema
from foliot.protocols import Clock
from foliot.stores.memory.store import MemoryStore

__all__ = ["MemoryStore", "check_url", "flaws_of", "open_store", "schema_of"]


def check_url(url: str) -> None:
    """Every URL is accepted."""


@asynccontextmanager
async def open_store(url: str, clock: Clock, *, lease: timedelta) -> AsyncIterator[MemoryStore]:  # noqa: ARG001 - any
    """A new, empty store."""
    yield MemoryStore(clock, lease=lease)


def schema_of(url: str) -> Schema:
    """InvalidStoreError: no other process can look at it."""
    raise InvalidStoreError(url, "lives in one process only", hint="sqlite:///jobs.db")


def flaws_of(url: str) -> tuple[str, ...]:
    """InvalidStoreError: no other process can look at it."""
    raise InvalidStoreError(url, "lives in one process only", hint="sqlite:///jobs.db")
