"""Where adapters meet: a store's URL becomes a store. The only module that knows them all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from foliot.errors import InvalidStoreError
from foliot.model.view import Schema
from foliot.protocols import Clock, NodeStore, OutputStore, SourceStore, Store
from foliot.stores.memory import MemoryStore
from foliot.stores.sqlite import SqliteStore
from foliot.stores.sqlite.inspection import find_flaws, look_at_schema

_POSTGRES = ("postgresql", "postgres")
_TO_COME = ("redis", "mongodb")
_SCHEMES = "sqlite:///jobs.db for a file, postgresql://user:password@host/database, memory:// for tests"


class FullStore(Store, OutputStore, NodeStore, SourceStore, Protocol):
    """What an engine, and whoever looks into it, needs of its store."""


@asynccontextmanager
async def open_store(url: str, clock: Clock, *, lease: timedelta) -> AsyncIterator[FullStore]:
    """The store that a URL names, for as long as it is needed."""
    scheme = _scheme(url)
    if scheme == "memory":
        yield MemoryStore(clock, lease=lease)
    elif scheme == "sqlite":
        folder = sqlite_path(url).absolute().parent
        if not folder.is_dir():
            raise InvalidStoreError(url, f"there is no folder {folder}", hint="create it first")
        async with SqliteStore(sqlite_path(url), clock, lease=lease) as store:
            yield store
    elif scheme in _POSTGRES:
        with _driver_of(url):
            from foliot.stores.postgres import PostgresStore  # noqa: PLC0415 - its driver may not be there
        async with PostgresStore(url, clock=clock, lease=lease) as postgres:  # time is the server's
            yield postgres
    else:
        raise _unknown(url, scheme)


def check_url(url: str) -> None:
    """Refuse what `open_store` would refuse, before anything is opened."""
    scheme = _scheme(url)
    if scheme == "sqlite":
        sqlite_path(url)
    elif scheme in _POSTGRES:
        with _driver_of(url):
            from foliot.stores.postgres.address import read_address  # noqa: PLC0415 - as above
        read_address(url)
    elif scheme != "memory":
        raise _unknown(url, scheme)


def schema_of(url: str) -> Schema:
    """How far the store at a URL has come; nothing is created or changed. Refuses what no other can reach."""
    check_url(url)
    if _scheme(url) in _POSTGRES:
        from foliot.stores.postgres import inspection  # noqa: PLC0415 - as above

        return inspection.look_at_schema(url)
    return look_at_schema(_shared_path(url))


def flaws_of(url: str) -> tuple[str, ...]:
    """What the storage engine itself finds wrong, after reading everything; nothing is changed."""
    check_url(url)
    if _scheme(url) in _POSTGRES:
        from foliot.stores.postgres import inspection  # noqa: PLC0415 - as above

        return inspection.find_flaws(url)
    return find_flaws(_shared_path(url))


def _shared_path(url: str) -> Path:
    if urlsplit(url).scheme == "memory":
        raise InvalidStoreError(url, "lives in one process only", hint="sqlite:///jobs.db")
    return sqlite_path(url)


@contextmanager
def _driver_of(url: str) -> Iterator[None]:
    """An adapter whose driver is not installed says what to do."""
    try:
        yield
    except ImportError as error:
        reason = f"its driver is not installed ({error.name})"
        raise InvalidStoreError(url, reason, hint="pip install 'foliot[postgres]'") from None


def _scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme
    except ValueError:  # such as a bracket that is not closed
        reason = "cannot be read: is a special character in it not percent-encoded?"
    raise InvalidStoreError(url, reason, hint=_SCHEMES)  # the parser's words may hold a password


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
    reason = f"has the unknown scheme {scheme!r}" if scheme else "has no scheme"
    return InvalidStoreError(url, reason, hint=_SCHEMES)
