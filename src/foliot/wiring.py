"""Where adapters meet: a store's URL becomes a store. The only module that knows them all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from foliot.errors import InvalidStoreError
from foliot.protocols import Clock, OutputStore, Store
from foliot.stores.memory import MemoryStore
from foliot.stores.sqlite import SqliteStore

_TO_COME = ("postgresql", "postgres", "redis", "mongodb")


class FullStore(Store, OutputStore, Protocol):
    """What an engine needs of its store."""


@asynccontextmanager
async def open_store(url: str, clock: Clock, *, lease: timedelta) -> AsyncIterator[FullStore]:
    """The store that a URL names, for as long as it is needed."""
    scheme = urlsplit(url).scheme
    if scheme == "memory":
        yield MemoryStore(clock, lease=lease)
    elif scheme == "sqlite":
        folder = sqlite_path(url).absolute().parent
        if not folder.is_dir():
            raise InvalidStoreError(url, f"there is no folder {folder}", hint="create it first")
        async with SqliteStore(sqlite_path(url), clock, lease=lease) as store:
            yield store
    else:
        raise _unknown(url, scheme)


def check_url(url: str) -> None:
    """Refuse what `open_store` would refuse, before anything is opened."""
    scheme = urlsplit(url).scheme
    if scheme == "sqlite":
        sqlite_path(url)
    elif scheme != "memory":
        raise _unknown(url, scheme)


def sqlite_path(url: str) -> Path:
    """`sqlite:///jobs.db` is relative to where the program runs, `sqlite:////var/lib/jobs.db` is not."""
    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or not path or path == ":memory:" or parts.query:
        raise InvalidStoreError(
            url, "names no file", hint="three slashes for a relative path: sqlite:///jobs.db; or memory://"
        )
    return Path(path)


def _unknown(url: str, scheme: str) -> InvalidStoreError:
    if scheme in _TO_COME:
        return InvalidStoreError(url, f"{scheme} is not supported yet", hint="sqlite:///jobs.db")
    hint = "sqlite:///jobs.db for a file, memory:// for tests"
    return InvalidStoreError(
        url, f"has the unknown scheme {scheme!r}" if scheme else "has no scheme", hint=hint
    )
