"""The store in memory: for tests, notebooks, and programs whose jobs need not outlive them.

- `store`: the verbs, each behind one lock, so that each is one atomic step.
- `claim`: what it brings to the loop that all stores share.
- `nodes`: who lives, and what each node holds. `due`: who is to be looked at first.
- `past`: what ended and was skipped, and when it is forgotten. `overview`: the store at a glance.
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
    """Any URL will do."""


@asynccontextmanager
async def open_store(url: str, clock: Clock, *, lease: timedelta) -> AsyncIterator[MemoryStore]:  # noqa: ARG001 - any
    """A store that is new and empty."""
    yield MemoryStore(clock, lease=lease)


def schema_of(url: str) -> Schema:
    """InvalidStoreError: no other process can look at it."""
    raise InvalidStoreError(url, "lives in one process only", hint="sqlite:///jobs.db")


def flaws_of(url: str) -> tuple[str, ...]:
    """InvalidStoreError: no other process can look at it."""
    raise InvalidStoreError(url, "lives in one process only", hint="sqlite:///jobs.db")
