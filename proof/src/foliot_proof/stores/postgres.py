"""PostgreSQL: a server, whose transactions end with a COMMIT."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlencode, urlsplit

from foliot.protocols import Clock
from foliot.testing.servers import postgres_server
from foliot.wiring import FullStore
from foliot_proof.faults import trap
from foliot_proof.faults.wire import Conversation, Talk
from foliot_proof.stores.kind import Failpoint, StoreKind, TriedServer, swap

_IN_CLEAR = urlencode({"sslmode": "disable", "gssencmode": "disable"})


class Postgres(StoreKind):
    """A store in a schema of a server."""

    name = "postgres"
    schemes = ("postgresql", "postgres")
    port: ClassVar[int] = 5432
    steps: ClassVar[tuple[str, ...]] = trap.ON_A_SERVER
    claim_words: ClassVar[bytes] = b"INSERT INTO claims"  # of a claim that has started something
    any_words: ClassVar[bytes] = b"BEGIN"

    def load(self) -> None:
        importlib.import_module("foliot.stores.postgres")

    @contextmanager
    def place(self, folder: Path) -> Iterator[str]:  # noqa: ARG002 - a server has a folder of its own
        with postgres_server() as server:
            yield server.url

    def serve(self, *, has_clock: bool) -> AbstractContextManager[TriedServer]:
        return postgres_server(has_clock=has_clock)

    @asynccontextmanager
    async def open(
        self, url: str, clock: Clock, *, lease: timedelta, failpoint: Failpoint
    ) -> AsyncIterator[FullStore]:
        from foliot.stores.postgres import PostgresStore  # noqa: PLC0415 - its driver may not be there

        async with PostgresStore(url, lease=lease, time=clock, failpoint=failpoint) as store:
            store.traits = store.traits._replace(proves_deaths=True)
            yield store

    def spy(self, failpoint: Failpoint) -> None:
        from foliot.stores import postgres  # noqa: PLC0415 - its driver may not be there

        swap(postgres, "PostgresStore", partial(postgres.PostgresStore, failpoint=failpoint))

    def in_clear(self, url: str) -> str:
        parts = urlsplit(url)
        return parts._replace(query="&".join(filter(None, (parts.query, _IN_CLEAR)))).geturl()

    def knock(self, url: str) -> None:
        from foliot.stores.postgres.inspection import knock  # noqa: PLC0415 - its driver may not be there

        knock(self.in_clear(url))

    def talk(self) -> Talk:
        return Conversation()
