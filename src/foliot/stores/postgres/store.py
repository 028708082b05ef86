"""The store on PostgreSQL: only what differs from `SqlStore`, which has the methods."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from foliot.clock import SystemClock
from foliot.errors import StoreError
from foliot.model.decision import Event
from foliot.protocols import Changes, Clock, DecideDeclared, DecideRemoved, Traits
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.connection import READ, WRITE, Connection, connect
from foliot.stores.postgres.definition_cache import DefinitionCache
from foliot.stores.postgres.migration import migrate
from foliot.stores.postgres.notice import Listener
from foliot.stores.postgres.session import PostgresSession
from foliot.stores.postgres.worker import Manner, Worker
from foliot.stores.sql import declare
from foliot.stores.sql.codes import an_instant, micros
from foliot.stores.sql.store import Answer, Lane, SqlStore

_LONGEST_WAIT = timedelta(seconds=5)
_TIME_TO_MIGRATE = timedelta(minutes=10)
_AT_ONCE = 1000  # changes of a source that fit into a usual deadline


class PostgresStore(SqlStore[PostgresSession]):
    """Keeps jobs in one schema of a database, for any number of nodes on any number of hosts.

    `url` is the driver's, with one option of ours: `?schema=NAME`, by default `foliot`. Time is the server's;
    `clock` measures durations. `time` replaces the server's clock, for tests.
    `failpoint` is called with the name of each step that a crash could come before or after; tests end the
    process there.
    """

    traits = Traits(tells_changes=True)  # a lost connection proves no death; only the lease counts

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        lease: timedelta = timedelta(seconds=30),
        time: Clock | None = None,
        failpoint: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._address = read_address(url)
        self._clock = clock or time or SystemClock()
        self._lease = lease
        self._time = time
        self._failpoint = failpoint
        self._deadline = min(_LONGEST_WAIT, lease / 4)
        self._cache = DefinitionCache()
        # Calls that must not wait for each other have their own connections: a claim and a report run side
        # by side, and a heartbeat or a command never waits for a large revision or a long list.
        self._workers = {
            Lane.CLAIMS: self._worker("claims", WRITE),
            Lane.ENDS: self._worker("ends", WRITE),
            Lane.HEARTBEAT: self._worker("heartbeat", WRITE),
            Lane.PEOPLE: self._worker("people", WRITE, rests=True),
            Lane.UPKEEP: self._worker("upkeep", WRITE, rests=True),
            Lane.READER: self._worker("reader", READ, rests=True),
            Lane.COUNTER: self._worker("counter", READ, rests=True),
        }
        self._lanes = {**self._workers, Lane.GLANCE: self._workers[Lane.HEARTBEAT]}
        self._listener = Listener(self._address.schema, self._connect)
        self._is_open = False

    def _worker(self, name: str, begin_with: str, *, rests: bool = False) -> Worker:
        return Worker(
            name,
            begin_with,
            schema=self._address.schema,
            silence=self._deadline,
            equip=self._equip,
            failpoint=self._failpoint,
            rests=rests,
        )

    def _connect(self) -> Connection:
        return connect(self._address, self._deadline)

    def _equip(self) -> PostgresSession:
        return PostgresSession(
            self._connect(),
            self._address.schema,
            self._cache,
            self._clock,
            lease=self._lease,
            silence=self._deadline / 3,
            test_now=self._test_now,
        )

    def _test_now(self) -> int | None:
        """The time of a test, if there is one."""
        return None if self._time is None else micros(self._time.now())

    async def _call(
        self,
        lane: Lane,
        verb: str,
        work: Callable[[PostgresSession], Answer],
        changes: int | None = None,
    ) -> Answer:
        """Many changes get a longer deadline, and use COPY, which a pipeline cannot do."""
        manner = Manner.PIPELINED if changes is None else Manner.STEPWISE
        return await self._lanes[lane].call(verb, work, self._deadline_of(changes or 0), manner)

    def _deadline_of(self, changes: int) -> timedelta:
        return self._deadline * (1 + changes / _AT_ONCE)

    # -- opening and closing -----------------------------------------------------------------------

    async def open(self) -> None:
        """Create or migrate the schema; StoreError if it is not ours, or too new."""
        if self._is_open:
            raise StoreError("a store is opened once", hint="make a new PostgresStore of the same URL")
        self._is_open = True
        try:
            await self._lanes[Lane.UPKEEP].call("open", self._migrate, _TIME_TO_MIGRATE, Manner.ALONE)
        except BaseException:
            await self.close()
            raise

    def _migrate(self, session: PostgresSession) -> None:
        migrate(session.connection, self._address.schema, _TIME_TO_MIGRATE, self._failpoint)

    async def close(self) -> None:
        """Finish pending calls, and disconnect.

        Nodes that have not left are dead when their leases expire.
        """
        for worker in self._workers.values():
            worker.close()
        ends = (asyncio.to_thread(worker.end, self._deadline) for worker in self._workers.values())
        await asyncio.gather(*ends, asyncio.to_thread(self._listener.end))

    # -- what differs ------------------------------------------------------------------------------

    async def changed(self) -> None:
        """Return when a hint has come: a job wakes earlier, or there is a cancel request."""
        await self._listener.heard()

    async def now(self) -> datetime:
        def ask(session: PostgresSession) -> datetime:
            (now,) = session.dialect.run("SELECT :present").fetchone() or (0,)
            return an_instant(now)

        return await self._call(Lane.PEOPLE, "now", ask)

    async def reconcile(  # noqa: PLR0913 - see the protocol
        self,
        source: str,
        base: str | None,
        revision: str,
        changes: Changes,
        *,
        declared: DecideDeclared,
        removed: DecideRemoved,
    ) -> Sequence[Event]:
        deadline = self._deadline_of(len(changes.declared) + len(changes.removed))
        upkeep = self._lanes[Lane.UPKEEP]
        await upkeep.call("prepare", lambda session: declare.prepare(session, changes), deadline)
        return await super().reconcile(source, base, revision, changes, declared=declared, removed=removed)
