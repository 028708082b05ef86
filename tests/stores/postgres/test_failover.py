"""A primary dies, and a standby takes its place: whoever names both in the URL goes on by himself."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest

from foliot.clock import SystemClock
from foliot.errors import StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import Changes, RunQuery
from foliot.stores.postgres import PostgresStore
from foliot.testing.contract.sample import (
    SOURCE,
    declare_at,
    end,
    ending_of,
    some_jobs,
    start_due,
    untouched,
)
from foliot.testing.servers import PostgresServer, postgres_server
from foliot.testing.servers.guardian import end_server

CLOCK = SystemClock()


class Standby(PostgresServer):
    """A server that follows another one, until it is promoted."""

    primary: ClassVar[PostgresServer]

    def _initialise(self, password: str) -> None:
        del password  # it has that of the primary
        self.url = self.primary.url.replace(f":{self.primary.port}/", f":{self.port}/")
        shutil.chown(self._folder, self.primary._data.owner())
        made = self._run(
            "pg_basebackup", f"--dbname={self.primary.url}", f"--pgdata={self._data}", "--checkpoint=fast",
            "--write-recovery-conf", "--no-sync",
        )  # fmt: skip
        assert made.wait(60) == 0, self.log()


@contextmanager
def standby_of(primary: PostgresServer) -> Iterator[Standby]:
    Standby.primary = primary
    server = Standby.create(Path(tempfile.mkdtemp(prefix="foliot-pg-")))
    assert isinstance(server, Standby)
    try:
        yield server
    finally:
        end_server(server._folder)
        server.release()


async def has_caught_up(primary: PostgresServer, standby: Standby) -> None:
    """Wait until all that was committed is there, too."""
    with psycopg.connect(primary.url, autocommit=True) as one, psycopg.connect(standby.url) as other:
        wanted = one.execute("SELECT pg_current_wal_lsn()").fetchone()
        asked = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        async with asyncio.timeout(20):
            while other.execute(asked, wanted).fetchone() != (True,):
                await CLOCK.wait(timedelta(milliseconds=20))


async def until_it_works(store: PostgresStore) -> float:
    start = CLOCK.monotonic()
    while True:
        try:
            await store.renew("a")
        except StoreUnavailableError:
            assert CLOCK.monotonic() - start < 30
            await CLOCK.wait(timedelta(milliseconds=50))
        else:
            return CLOCK.monotonic() - start


@pytest.mark.usefixtures("server_url")
def test_what_the_primary_answered_goes_on_at_the_standby_that_was_promoted() -> None:
    async def act(primary: PostgresServer, standby: Standby) -> None:
        user, _, place = primary.url.partition("@")
        both = f"{user}@{place.partition('/')[0]},127.0.0.1:{standby.port}/postgres"
        async with PostgresStore(f"{both}?target_session_attrs=read-write") as store:
            await store.join(Node("a"))
            now = CLOCK.now()
            await store.reconcile(
                SOURCE, None, "r1", Changes(some_jobs(20)), declared=declare_at(now, now), removed=untouched
            )
            claimed = await store.claim("a", now, {"default": 9}, start_due, "c")
            await has_caught_up(primary, standby)

            async with PostgresStore(standby.url) as reader:
                assert len(await reader.runs(RunQuery())) == 9, "a standby can be asked"
                with pytest.raises(StoreUnavailableError, match="read-only") as caught:
                    await reader.join(Node("b"))
            assert "target_session_attrs=read-write" in (caught.value.hint or "")

            await asyncio.to_thread(primary.stop, immediate=True)
            with pytest.raises(StoreUnavailableError):
                await store.renew("a")
            with psycopg.connect(standby.url, autocommit=True) as connection:
                connection.execute("SELECT pg_promote()")
            assert await until_it_works(store) < 5

            again = await store.claim("a", CLOCK.now(), {"default": 9}, start_due, "c")
            assert again.runs == claimed.runs, "it remembers what was claimed"
            endings = [ending_of(attempt, CLOCK.now()) for _, attempt in claimed.runs]
            assert (await store.finish("a", endings, CLOCK.now(), end)).refused == ()
            assert len(await store.runs(RunQuery(outcome=Outcome.SUCCEEDED))) == 9

    with postgres_server() as primary, standby_of(primary) as standby:
        asyncio.run(act(primary, standby))
