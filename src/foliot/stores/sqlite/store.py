"""The store on SQLite: only what differs from `SqlStore`, which has the methods."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from foliot.errors import StoreError
from foliot.model.state import Lease, Node
from foliot.protocols import Claimed, Clock, DecideLost, Recovered, Traits, Wakes
from foliot.stores.sql import runs
from foliot.stores.sql.answer import Woken
from foliot.stores.sql.claim import Asked
from foliot.stores.sql.definition import Reader as JobReader
from foliot.stores.sql.definition import Writer as JobWriter
from foliot.stores.sql.queries import WakeQuery
from foliot.stores.sql.rows import Row
from foliot.stores.sql.store import Answer, Lane, SqlStore, verb
from foliot.stores.sqlite.bad_text import CarefulReader, has_bad_text, read_text, set_bad_lanes_aside
from foliot.stores.sqlite.connection import Connection, Synchronous, connect
from foliot.stores.sqlite.lease_clock import LeaseClock
from foliot.stores.sqlite.lock_file import LockFiles
from foliot.stores.sqlite.migration import migrate
from foliot.stores.sqlite.same_file import FileId
from foliot.stores.sqlite.session import SqliteSession
from foliot.stores.sqlite.worker import CallersError, Worker, Writer
from foliot.stores.sqlite.write_turn import WriteTurn

_LONGEST_BUSY = timedelta(seconds=5)
_OLDEST = (3, 33, 0)  # the first with UPDATE … FROM
_MOST_CANCELS = 1000  # for more, wait for the next heartbeat
# Requests are only compared, so bytes are enough. If there are very many: those of the newest nodes.
CANCELS = """
    SELECT scheduled_for, job_no, CAST(request AS BLOB), number FROM attempts INDEXED BY attempts_cancelling
    WHERE state = 2 ORDER BY node_no DESC LIMIT ?
"""


class ClashError(Exception):
    """A claim would start a run that exists: it is rolled back, and the next claim checks each run."""


def claim(session: SqliteSession, asked: Asked) -> Claimed:
    """Start due jobs; ClashError if a run exists already."""
    try:
        return runs.claim(session, asked)
    except sqlite3.IntegrityError as error:
        clash = ClashError()
        clash.__cause__ = error
        raise CallersError(clash) from error


def recover(session: SqliteSession, limit: int, now: datetime, decide: DecideLost) -> Recovered:
    """Declare dead nodes dead, and set aside jobs with an unreadable lane."""
    recovered = runs.recover(session, limit, now, decide)
    set_bad_lanes_aside(session.connection)
    return recovered


class SqliteStore(SqlStore[SqliteSession]):
    """Keeps jobs in one file, for any number of processes on one host.

    `synchronous="NORMAL"` commits without waiting for the disk: a power cut, not a crash of the process,
    may then undo the last commits. `failpoint` is called with the name of each step that a crash could
    come before or after; tests end the process there.
    """

    # A lock file proves at once that a node of this host is dead.
    traits = Traits(proves_deaths=True, tells_changes=True)

    def __init__(
        self,
        path: str | Path,
        clock: Clock,
        *,
        lease: timedelta = timedelta(seconds=30),
        synchronous: str = "FULL",
        failpoint: Callable[[str], None] = lambda _: None,
    ) -> None:
        if str(path) in ("", ":memory:") or sqlite3.sqlite_version_info < _OLDEST:
            raise StoreError(
                f"SQLite {sqlite3.sqlite_version} cannot keep a store in {str(path)!r}",
                hint="use MemoryStore for a store in memory; a file needs SQLite 3.33 or newer",
            )
        self._path = Path(path).absolute()
        self.traits = self.traits._replace(file=str(self._path))
        self._clock = clock
        self._busy_for = min(_LONGEST_BUSY, lease / 4)
        self._leases = LeaseClock(clock, lease)
        self._synchronous = Synchronous(synchronous.upper())
        self._failpoint = failpoint
        self._file: FileId | None = None  # set by open()
        self._locks = LockFiles(self._path)
        self._jobs = JobReader(), JobWriter()
        turn = WriteTurn(self._path, self._busy_for)
        self._writer = Writer("foliot-writer", self._equip, turn, failpoint)
        # Three readers: a long list must not delay the engine's own queries, nor a count of all jobs a list.
        self._reader = Worker("foliot-reader", self._equip_to_read)
        self._lookout = Worker("foliot-lookout", self._equip_to_read)
        self._counter = Worker("foliot-counter", self._equip_to_read)
        self._readers = {
            Lane.READER: self._reader, Lane.GLANCE: self._lookout, Lane.COUNTER: self._counter
        }  # fmt: skip
        self._cancels: asyncio.Event | None = None  # set while a caller waits for hints
        self._seen: frozenset[Row] = frozenset()  # cancel requests that the last look found
        self._told: frozenset[Row] = frozenset()  # cancel requests that were already announced

    async def _call(
        self,
        lane: Lane,
        verb: str,
        work: Callable[[SqliteSession], Answer],
        changes: int | None = None,  # noqa: ARG002 - a transaction may take as long as it needs
    ) -> Answer:
        return await self._readers.get(lane, self._writer).call(verb, work)

    # -- opening and closing -----------------------------------------------------------------------

    async def open(self) -> None:
        """Create or migrate the file; StoreError if it is not ours, or too new."""
        if self._writer.ident is not None:
            raise StoreError("a store is opened once", hint="make a new SqliteStore of the same file")
        try:
            for worker in (self._writer, *self._readers.values()):
                worker.start()
            await self._writer.call("open", self._sweep)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish pending calls, and close the file. Nodes that have not left count as dead."""
        workers = [w for w in (*self._readers.values(), self._writer) if w.ident is not None]
        for worker in workers:
            worker.close()
        if self._cancels is not None:
            self._cancels.set()  # end the wait for hints
        for worker in workers:
            await asyncio.to_thread(worker.join)
        self._locks.release_all()

    def _connect(self, *, is_bad: bool) -> Connection:
        """Connect to the file that was opened first, never to another file at its path."""
        connection = connect(self._path, self._busy_for, self._synchronous, self._file)
        self._file = connection.files.database
        if is_bad:
            connection.text_factory = read_text
        return connection

    def _equip(self, is_bad: bool) -> SqliteSession:  # noqa: FBT001 - a worker knows no more
        connection = self._connect(is_bad=is_bad)
        try:
            migrate(connection, self._failpoint)
        except BaseException:
            connection.close()
            raise
        return self._session(connection, *self._jobs)

    def _equip_to_read(self, is_bad: bool) -> SqliteSession:  # noqa: FBT001 - as above
        connection = self._connect(is_bad=is_bad)
        connection.execute("PRAGMA query_only = ON")
        return self._session(connection, JobReader(), JobWriter())

    def _session(self, connection: Connection, reader: JobReader, writer: JobWriter) -> SqliteSession:
        jobs = CarefulReader() if has_bad_text(connection) else reader, writer
        return SqliteSession(connection, jobs, self._clock, self._leases, self._locks)

    def _sweep(self, session: SqliteSession) -> None:
        """Remove lock files without a node: their processes ended before they joined.

        And jobs that no node could ever ask for are shown.
        """
        rows = session.connection.execute(
            "SELECT i.id FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no"
        )
        self._locks.sweep({id_ for (id_,) in rows})
        set_bad_lanes_aside(session.connection)

    # -- nodes -------------------------------------------------------------------------------------

    async def now(self) -> datetime:
        return self._clock.now()

    async def join(self, node: Node) -> Lease:
        is_ours = self._locks.holds(node.id)
        try:
            return await super().join(node)
        except StoreError:
            if not is_ours:  # the caller tries again under another id
                self._locks.remove(node.id)
            raise

    async def leave(self, node: str) -> None:
        await super().leave(node)
        self._locks.remove(node)

    recover = verb(Lane.ENDS, recover)

    # -- claims ------------------------------------------------------------------------------------

    _claim_once = verb(Lane.CLAIMS, claim)

    async def _claim(self, asked: Asked) -> Claimed:
        """After a clash the claim is repeated once, with care."""
        with suppress(ClashError):
            return await self._claim_once(asked)
        try:
            return await self._claim_once(asked)
        except ClashError as clash:
            hint = "`foliot store check` looks for damage"
            raise StoreError(f"claim: an index is damaged: {clash.__cause__}", hint=hint) from clash

    # -- hints -------------------------------------------------------------------------------------

    async def changed(self) -> None:
        """A cancel was requested, perhaps in another process. The next query for wakes sees it."""
        self._lookout.check("changed")
        if self._cancels is None:
            self._cancels = asyncio.Event()
        await self._cancels.wait()
        self._lookout.check("changed")
        self._cancels.clear()

    async def wakes(
        self,
        queues: Iterable[str],
        kinds: Collection[str] | None = None,
        due_by: datetime | None = None,
        *,
        after: datetime | None = None,
    ) -> Wakes:
        try:
            return await super().wakes(queues, kinds, due_by, after=after)
        finally:
            self._tell_cancels()

    def _wakes(self, session: SqliteSession, asked: WakeQuery) -> Woken:
        if self._cancels is not None:
            self._seen = frozenset(session.connection.execute(CANCELS, (_MOST_CANCELS,)))
        return super()._wakes(session, asked)

    def _tell_cancels(self) -> None:
        """Each cancel is told once: an attempt that does not end must not wake the nodes again and again."""
        found = self._seen
        news, self._told = found - self._told, found
        if news and self._cancels is not None:
            self._cancels.set()
