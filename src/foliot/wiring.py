"""Where adapters meet: a store's URL becomes a store, a kind of action has its executor.

The only module that knows them all.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Protocol, TypeGuard, cast, runtime_checkable
from urllib.parse import urlsplit

from foliot.errors import InvalidPolicyError, InvalidStoreError
from foliot.executors.place import ExecutorPlace, MakeExecutor
from foliot.model.job import Action
from foliot.model.view import FreeSpace, Schema
from foliot.protocols import AlertStore, Clock, Executor, NodeStore, OutputStore, SourceStore, Store
from foliot.protocols_access import AccessStore, AuditStore, PipelineStore

# Each store by the scheme of its URL: its package in `foliot.stores`, and an example. The extra that installs
# a driver has the name of the package.
_STORES = {
    "sqlite": ("sqlite", "sqlite:///jobs.db for a file"),
    "postgresql": ("postgres", "postgresql://user:password@host/database"),
    "redis": ("redis", "redis://user:password@host:6379/0"),
    "mongodb": ("mongodb", "mongodb://user:password@host/foliot"),
    "memory": ("memory", "memory:// for tests"),
}
_REDIS = ("redis", "rediss", "valkey", "valkeys")
_ALIASES = {
    "postgres": "postgresql",
    "mongodb+srv": "mongodb",
    **dict.fromkeys(
        ("unix", *_REDIS, *(f"{one}+{way}" for one in _REDIS for way in ("sentinel", "cluster"))), "redis"
    ),
}
_SCHEMES = ", ".join(example for _, example in _STORES.values())

# Each executor that every application has, by the prefix of the kinds of its actions: its module in
# `foliot.executors`, which offers `make_executor(place)`.
_EXECUTORS = {"python": "python", "http": "http"}
# Those whose actions can be checked before they run: the module that offers `check_action(action, source)`.
_CHECKS = {"http": "http_action", "celery": "celery_action"}
_PREFIX = re.compile("[a-z][a-z0-9_]*")
# Prefixes that have another use, and which.
_TAKEN = {
    **dict.fromkeys(_EXECUTORS, "that of an executor that is built in"),
    "alert": "that of channels",
    "pipeline": "that of pipelines",
    "shell": "that of repositories that are followed",
    "declarative": "that of declarative schedulers",
    "code": "that of the revisions of programs",
}


class FullStore(
    Store,
    OutputStore,
    NodeStore,
    SourceStore,
    AlertStore,
    AccessStore,
    AuditStore,
    PipelineStore,
    Protocol,
):
    """A store with all its parts: what an engine, the doors and queries need."""


class StoreModule(Protocol):
    """The functions of a store's package. An invalid URL raises InvalidStoreError."""

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


@runtime_checkable
class SizedStoreModule(Protocol):
    """The package of a store that can tell what takes its memory."""

    def sizes_of(self, url: str) -> Mapping[str, int]:
        """Bytes by what they are for, the most first; nothing is changed."""
        ...


@runtime_checkable
class FileStoreModule(Protocol):
    """The package of a store that is a file of this host: Foliot itself backs it up and gives space back."""

    def back_up(self, url: str, target: Path) -> int:
        """Copy the store into a new file, consistent while nodes work on it; how many bytes it has."""
        ...

    def free_space(self, url: str) -> FreeSpace:
        """How much of the file is in use."""
        ...

    def give_back(self, url: str) -> None:
        """Write the file anew without what is free in it. Writers wait meanwhile."""
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


def sizes_of(url: str) -> Mapping[str, int]:
    """Bytes of the store by what they are for, if that can be told."""
    module: object = _module_of(url)
    return module.sizes_of(url) if isinstance(module, SizedStoreModule) else {}


def file_module(url: str) -> FileStoreModule | None:
    """What can be done to the file of a store; None: it is a server's."""
    check_url(url)
    module: object = _module_of(url)
    return module if isinstance(module, FileStoreModule) else None


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
    if not scheme and url and "@" not in url:  # a path, and nothing that could be a password
        hint = f"a file is written sqlite:///{url}; others are {_SCHEMES}"
        return InvalidStoreError(url, "has no scheme", hint=hint)
    reason = f"has the unknown scheme {scheme!r}" if scheme else "has no scheme"
    return InvalidStoreError(url, reason, hint=_SCHEMES)


# -- executors -------------------------------------------------------------------------------------


def built_in_executors() -> dict[str, MakeExecutor]:
    """What makes the executors that every application has, by the prefix of the kinds of their actions."""
    return {prefix: partial(make_executor, prefix) for prefix in _EXECUTORS}


def make_executor(prefix: str, place: ExecutorPlace) -> Executor:
    """The executor of a prefix that is built in."""
    module = import_module(f"foliot.executors.{_EXECUTORS[prefix]}")
    return cast("Executor", module.make_executor(place))


def check_action(action: Action, source: str | None = None) -> None:
    """Refuse an action that its executor, if it is built in, could never carry out. InvalidJobError.

    `source` is that of the job, None if this program declares it: jobs of the API may do less.
    """
    if (name := _CHECKS.get(action.kind.partition(":")[0])) is not None:
        import_module(f"foliot.executors.{name}").check_action(action, source)


def check_executors(given: object) -> None:
    """Refuse what cannot be executors by the prefixes of their kinds."""
    if not isinstance(given, Mapping):
        hint = 'such as executors={"mail": MailExecutor()}'
        raise InvalidPolicyError("executors", given, "must be executors by the prefix of a kind", hint=hint)
    for prefix, executor in given.items():
        if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
            reason = "must be a word of small letters, digits and underscores"
            raise InvalidPolicyError("executors", prefix, reason, hint='such as "mail"')
        if prefix in _TAKEN:
            hint = "choose another prefix"
            raise InvalidPolicyError("executors", prefix, f"is {_TAKEN[prefix]}", hint=hint)
        if not is_executor(executor) and not callable(executor):
            hint = "see foliot.protocols.Executor, and foliot.executors.task for the simple way"
            raise InvalidPolicyError(
                f"executors.{prefix}", executor, "is no executor, and makes none", hint=hint
            )


def is_executor(given: object) -> TypeGuard[Executor]:
    """Whether it carries actions out; a class does not, but makes something that does."""
    return not isinstance(given, type) and callable(getattr(given, "start", None))
