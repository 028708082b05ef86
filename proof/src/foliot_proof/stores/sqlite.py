"""SQLite: a file. It cannot be restarted, and nobody hangs between a node and it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import connect
from typing import ClassVar

from foliot.protocols import Clock
from foliot.stores import sqlite
from foliot.stores.sqlite import SqliteStore, sqlite_path
from foliot.wiring import FullStore
from foliot_proof.faults.fault import Kind
from foliot_proof.stores.kind import Failpoint, StoreKind, Trouble, swap


class Sqlite(StoreKind):
    """A store that is a file."""

    name = "sqlite"
    schemes = ("sqlite",)
    is_server: ClassVar[bool] = False

    def load(self) -> None:
        """It is there already."""

    @contextmanager
    def place(self, folder: Path) -> Iterator[str]:
        yield f"sqlite:///{folder}/store.db"

    @asynccontextmanager
    async def open(
        self, url: str, clock: Clock, *, lease: timedelta, failpoint: Failpoint
    ) -> AsyncIterator[FullStore]:
        async with SqliteStore(sqlite_path(url), clock, lease=lease, failpoint=failpoint) as store:
            yield store

    def spy(self, failpoint: Failpoint) -> None:
        swap(sqlite, "SqliteStore", partial(sqlite.SqliteStore, failpoint=failpoint))

    @property
    def troubles(self) -> Mapping[Kind, Trouble]:
        return {}

    def problems(self, url: str) -> Iterator[str]:
        path = Path(sqlite_path(url))
        with closing(connect(path)) as connection:
            for (answer,) in connection.execute("PRAGMA integrity_check"):
                if answer != "ok":
                    yield f"integrity: {answer}"
            yield from (f"foreign key: {row}" for row in connection.execute("PRAGMA foreign_key_check"))
        yield from (f"left behind: {file.name}" for file in path.parent.glob(f"{path.name}-node-*"))
