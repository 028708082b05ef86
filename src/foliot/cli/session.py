"""One command's dealings with a store: how it is opened, and what may be asked of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, NamedTuple

import click

from foliot.access import Auditor
from foliot.cli.audited import AuditedOperations, auditor_of
from foliot.cli.exit_code import ExitCode
from foliot.clock import SystemClock
from foliot.daemon.directories import default_store
from foliot.errors import FoliotError, InvalidStoreError, StoreError
from foliot.model.view import Schema
from foliot.operations import Operations
from foliot.wiring import FullStore, open_store, schema_of

LEASE = timedelta(seconds=30)


class Session(NamedTuple):
    """What can be asked of a store that is open, and the time. `auditor` writes down what is changed."""

    ops: Operations
    now: datetime
    auditor: Auditor

    @property
    def store(self) -> FullStore:
        """The store itself, for questions about nodes and sources."""
        return self.ops.store


Asked = Callable[..., Awaitable[int | None]]  # what to exit with; None: all is well


def takes_store(ask: Asked) -> Callable[..., int]:
    """Give a command a session with the store that `--store` names, and `as_json`."""

    @store_option
    @output_option
    @wraps(ask)
    def command(*, store: str, output: str, **options: Any) -> int:
        async def play() -> int:
            async with opened(store) as session:
                return await ask(session, as_json=output == "json", **options) or ExitCode.OK

        return asyncio.run(play())

    return command


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Session]:
    """A session; a question neither creates a store nor changes its schema."""
    schema = checked_schema(url)
    if schema.found < schema.newest:
        raise _old_or_empty(schema)
    clock = SystemClock()
    async with open_store(url, clock, lease=LEASE) as store:
        auditor = auditor_of(store, clock)
        yield Session(AuditedOperations(store, clock, auditor), await store.now(), auditor)


def _old_or_empty(schema: Schema) -> StoreError:
    """The store has no tables yet, or those of an older version."""
    details = {"found": schema.found, "newest": schema.newest}
    if schema.found:
        reason = f"the store has schema {schema.found}, and this version of Foliot needs {schema.newest}"
        return StoreError(reason, details=details, hint="foliot store migrate")
    hint = (
        "is it a copy made with cp? Jobs may be in a file -wal beside the original: use foliot store backup"
    )
    return StoreError("the store is empty: it has no tables", details=details, hint=hint)


def checked_schema(url: str) -> Schema:
    """The schema of the store that a URL names."""
    try:
        return schema_of(url)
    except ValueError as error:
        if isinstance(error, FoliotError):
            raise
        raise InvalidStoreError(url, "is no URL") from None


store_option = click.option(
    "--store",
    metavar="URL",
    envvar="FOLIOT_STORE",
    default=lambda: default_store(os.environ),
    show_default="the store of foliot serve",
    show_envvar=True,
    help="Where the jobs are, such as sqlite:///jobs.db.",
)
output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    metavar="FORMAT",
    help="table, for people, or json, for programs.",
)
