"""Where adapters meet: a store's URL becomes a store. The only module that knows them all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from importlib import import_module
from typing import Protocol, cast
from urllib.parse import urlsplit

from foliot.errors import InvalidStoreError
from foliot.model.view import Schema
from foliot.protocols import Clock, NodeStore, OutputStore, SourceStore, Store

# Each store by the scheme of its URL: its package in `foliot.stores`, and an example. The extra that installs
# a driver has the name of the package.
_STORES = {
    "sqlite": ("sqlite", "sqlite:///jobs.db for a file"),
    "postgresql": ("postgres", "postgresql://user:password@host/database"),
    "memory": ("memory", "memory:// for tests"),
}
_ALIASES = {"postgres": "postgresql"}
_TO_COME = ("redis", "mongodb")
_SCHEMES = ", ".join(example for _, example in _STORES.values())


class FullStore(Store, OutputStore, NodeStore, SourceStore, Protocol):
    """What an engine, and whoever looks into it, needs of its store."""


class StoreModule(Protocol):
    """What the package of a store offers. A URL that is wrong raises InvalidStoreError."""

    def check_url(self, url: str) -> None:
        """Refuse what `open_store` would refuse, before anything is opened."""
        ...

    def open_store(
        self, url: str, clock: Clock, *, lease: timedelta
    ) -> AbstractAsyncContextManager[FullStore]:
        """The store that a URL names, for as long as it is needed."""
        ...

    def schema_of(self, url: str) -> Schema:
        """How far the store has come; nothing is created or changed. Refuses what no other can reach."""
        ...

    def flaws_of(self, url: str) -> tuple[str, ...]:
        """What the storage engine itself finds wrong, after reading everything; nothing is changed."""
        ...


@asynccontextmanager
async def open_store(url: str, clock: Clock, *, lease: timedelta) -> AsyncIterator[FullStore]:
    """The store that a URL names, for as long as it is needed."""
    async with _module_of(url).open_store(url, clock, lease=lease) as store:
        yield store


def check_url(url: str) -> None:
    """Refuse what `open_store` would refuse, before anything is opened."""
    _module_of(url).check_url(url)


def schema_of(url: str) -> Schema:
    """How far the store at a URL has come; nothing is created or changed. Refuses what no other can reach."""
    check_url(url)
    return _module_of(url).schema_of(url)


def flaws_of(url: str) -> tuple[str, ...]:
    """What the storage engine itself finds wrong, after reading everything; nothing is changed."""
    check_url(url)
    return _module_of(url).flaws_of(url)


def _module_of(url: str) -> StoreModule:
    """The package of a store. It is imported when it is needed: its driver may not be installed."""
    scheme = _scheme(url)
    if scheme not in _STORES:
        raise _unknown(url, scheme)
    name, _ = _STORES[scheme]
    try:
        return cast("StoreModule", import_module(f"foliot.stores.{name}"))
    except ImportError as error:
        reason = f"its driver is not installed ({error.name})"
        raise InvalidStoreError(url, reason, hint=f"pip install 'foliot[{name}]'") from None


def _scheme(url: str) -> str:
    try:
        scheme = urlsplit(url).scheme
    except ValueError:  # such as a bracket that is not closed
        reason = "cannot be read: is a special character in it not percent-encoded?"
    else:
        return _ALIASES.get(scheme, scheme)
    raise InvalidStoreError(url, reason, hint=_SCHEMES)  # the parser's words may hold a password


def _unknown(url: str, scheme: str) -> InvalidStoreError:
    if scheme in _TO_COME:
        return InvalidStoreError(url, f"{scheme} is not supported yet", hint="sqlite:///jobs.db")
    reason = f"has the unknown scheme {scheme!r}" if scheme else "has no scheme"
    return InvalidStoreError(url, reason, hint=_SCHEMES)
