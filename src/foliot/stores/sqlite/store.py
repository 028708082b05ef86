"""The store on SQLite: the verbs, each handed to the thread that does it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Self

from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.attempt import Attempt, Ending
from foliot.model.decision import Decision, Event
from foliot.model.json_text import clean_text
from foliot.model.state import Lease, Node, Skip
from foliot.model.view import NodeView, Overview, SourceView
from foliot.protocols import (
    Changes,
    Claimed,
    Clock,
    DecideCommand,
    DecideDeclared,
    DecideDue,
    DecideEnded,
    DecideLost,
    DecideRemoved,
    Finished,
    JobQuery,
    JobView,
    Output,
    Pruned,
    Recovered,
    RunQuery,
    Traits,
)
from foliot.stores.sql.answer import Woken
from foliot.stores.sql.claim import Asked
from foliot.stores.sql.definition import Reader as JobReader
from foliot.stores.sql.definition import Writer as JobWriter
from foliot.stores.sql.ending import Report
from foliot.stores.sql.prune import Pruner
from foliot.stores.sql.rows import Row
from foliot.stores.sqlite import declare, life, origin, question, run
from foliot.stores.sqlite.bad_text import CarefulReader, has_bad_text, set_bad_lanes_aside
from foliot.stores.sqlite.book import Book, Desk
from foliot.stores.sqlite.connection import Connection, Synchronous, connect
from foliot.stores.sqlite.lock_file import LockFiles
from foliot.stores.sqlite.migration import migrate
from foliot.stores.sqlite.patience import Patience
from foliot.stores.sqlite.same_file import FileId
from foliot.stores.sqlite.worker import CallersError, Worker, Writer, of_caller

_LONGEST_BUSY = timedelta(seconds=5)
_OLDEST = (3, 24, 0)  # the first that can insert or update in one statement


class SqliteStore:
    """Keeps jobs in one file, for any number of processes on one host.

    `synchronous="NORMAL"` commits without waiting for the disk: a power cut, not a crash of the process,
    may then undo the last commits. `failpoint` is called with the name of each step that a crash could
    come before or after; tests end the process there.
    """

    # A lock file tells at once that a node of this host is dead.
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
                hint="use MemoryStore for a store in memory; a file needs SQLite 3.24 or newer",
            )
        self._path = Path(path).absolute()
        self._clock = clock
        self._lease = lease
        self._busy_for = min(_LONGEST_BUSY, lease / 4)
        self._patience = Patience(clock, lease)
        self._synchronous = Synchronous(synchronous.upper())
        self._failpoint = failpoint
        self._file: FileId | None = None  # as soon as it is open
        self._locks = LockFiles(self._path)
        self._jobs = JobReader(), JobWriter()
        self._writer = Writer("foliot-writer", self._connect_to_write, self._equip, failpoint)
        # Two who read: a long list must not keep the engine from learning when to wake.
        self._reader = Worker("foliot-reader", self._connect_to_read, self._equip_to_read)
        self._lookout = Worker("foliot-lookout", self._connect_to_read, self._equip_to_read)
        self._cancels: asyncio.Event | None = None  # if somebody listens
        self._told: frozenset[Row] = frozenset()  # attempts of which a hint has told that they are to end

    # -- opening and closing -----------------------------------------------------------------------

    async def open(self) -> None:
        """Create or migrate the file; StoreError if it is not ours, or too new."""
        if self._writer.ident is not None:
            raise StoreError("a store is opened once", hint="make a new SqliteStore of the same file")
        try:
            for worker in (self._writer, self._reader, self._lookout):
                worker.start()
            await self._writer.call("open", self._sweep)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Do what was asked for, and let go of the file. Nodes that have not left count as dead."""
        workers = [w for w in (self._reader, self._lookout, self._writer) if w.ident is not None]
        for worker in workers:
            worker.close()
        if self._cancels is not None:
            self._cancels.set()  # who waits for a hint is told that there will be none
        for worker in workers:
            await asyncio.to_thread(worker.join)
        self._locks.release_all()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _connect(self) -> Connection:
        """To the file that was opened first: nobody is to go on with another that has come to its place."""
        connection = connect(self._path, self._busy_for, self._synchronous, self._file)
        self._file = connection.files.database
        return connection

    def _connect_to_write(self) -> Connection:
        connection = self._connect()
        try:
            migrate(connection, self._failpoint)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_to_read(self) -> Connection:
        connection = self._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _equip(self, connection: Connection) -> Desk:
        reader, writer = self._jobs
        careful = CarefulReader() if has_bad_text(connection) else reader
        return Desk(connection, careful, writer, self._clock)

    def _equip_to_read(self, connection: Connection) -> Desk:
        reader = CarefulReader() if has_bad_text(connection) else JobReader()
        return Desk(connection, reader, JobWriter(), self._clock)

    def _sweep(self, desk: Desk) -> None:
        """Lock files that no node is known of belong to processes that ended before they joined.

        And jobs that no node could ever ask for are shown.
        """
        rows = desk.connection.execute(
            "SELECT i.id FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no"
        )
        self._locks.sweep({id_ for (id_,) in rows})
        set_bad_lanes_aside(desk.connection)

    # -- nodes -------------------------------------------------------------------------------------

    async def join(self, node: Node) -> Lease:
        def work(desk: Desk) -> Lease:
            return life.join(desk, node, self._locks, self._clock.now(), self._lease)

        is_ours = self._locks.holds(node.id)
        call = self._writer.call("join", work)
        try:
            return await call
        except StoreError:
            if not is_ours:  # whoever cannot join tries again under another id
                self._locks.remove(node.id)
            raise

    async def renew(self, node: str) -> Lease:
        return await self._writer.call(
            "renew", lambda desk: life.renew(desk, node, self._clock.now(), self._lease)
        )

    async def leave(self, node: str) -> None:
        await self._writer.call("leave", lambda desk: life.leave(desk, node))
        self._locks.remove(node)

    async def held(self, node: str) -> tuple[Attempt, ...]:
        return await self._lookout.call("held", lambda desk: life.held(desk, node))

    # -- runs --------------------------------------------------------------------------------------

    async def claim(
        self, node: str, now: datetime, room: Mapping[str, int], decide: DecideDue, claim_id: str
    ) -> Claimed:
        def work(desk: Desk) -> Claimed:
            asked = Asked(node, now, room, decide, claim_id)
            try:
                return run.claim(desk, asked, self._patience.now(), self._lease)
            except run.ClashError as clash:
                raise CallersError(clash) from clash

        with suppress(run.ClashError):
            return await self._writer.call("claim", work)
        try:
            return await self._writer.call("claim", work)
        except run.ClashError as clash:
            hint = "`foliot store check` looks for damage"
            raise StoreError(f"claim: an index is damaged: {clash.__cause__}", hint=hint) from clash

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        report = Report(node, endings, now, decide)
        return await self._writer.call("finish", lambda desk: run.finish(desk, report))

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        def work(desk: Desk) -> Recovered:
            book = Book(desk)
            over_before, reach = self._patience.over_before(now), self._clock.now() + self._lease
            buried = life.bury(book, self._locks, over_before, reach)
            holders = life.dead_holders(book)
            recovered = run.recover(book, holders, limit, now, decide)
            life.forget_dead(book, self._locks, holders)
            set_bad_lanes_aside(desk.connection)
            return recovered._replace(buried=buried)

        return await self._writer.call("recover", work)

    # -- people and sources ------------------------------------------------------------------------

    async def update(self, job: str, decide: DecideCommand) -> Decision:
        return await self._writer.call("update", lambda desk: declare.update(desk, job, of_caller(decide)))

    async def reconcile(  # noqa: PLR0913 - see the protocol
        self,
        source: str,
        base: str | None,
        revision: str,
        changes: Changes,
        *,
        declared: DecideDeclared,
        removed: DecideRemoved,
    ) -> tuple[Event, ...]:
        def work(desk: Desk) -> tuple[Event, ...]:
            step = declare.Step(source, base, revision, self._clock.now())
            return declare.reconcile(desk, step, changes, of_caller(declared), of_caller(removed))

        return await self._writer.call("reconcile", work)

    async def revision(self, source: str) -> str | None:
        return await self._lookout.call("revision", lambda desk: origin.revision(desk, source))

    async def sources(self) -> tuple[SourceView, ...]:
        return await self._reader.call("sources", origin.sources)

    async def write_source_status(self, source: str, status: str) -> None:
        text = clean_text(status)
        await self._writer.call("write_source_status", lambda desk: origin.note_status(desk, source, text))

    async def forget_source(self, source: str, revision: str | None) -> bool:
        return await self._writer.call("forget_source", lambda desk: origin.forget(desk, source, revision))

    # -- questions ---------------------------------------------------------------------------------

    async def changed(self) -> None:
        """A cancel was asked for, be it in another process. Seen by whoever asks for the next wake."""
        self._lookout.check("changed")
        if self._cancels is None:
            self._cancels = asyncio.Event()
        await self._cancels.wait()
        self._lookout.check("changed")
        self._cancels.clear()

    async def next_wake(self, queues: Iterable[str], kinds: Collection[str] | None = None) -> datetime | None:
        asked, is_heard = tuple(queues), self._cancels is not None

        def look(desk: Desk) -> tuple[Woken, frozenset[Row]]:
            cancels = question.cancels(desk) if is_heard else frozenset()
            return question.next_wake(desk, asked, kinds), cancels

        while True:
            woken, cancels = await self._lookout.call("next_wake", look)
            self._tell_cancels(cancels)
            if not woken.damaged:
                return woken.at
            await self._set_aside(woken.damaged)

    def _tell_cancels(self, found: frozenset[Row]) -> None:
        """Each cancel is told once: an attempt that does not end must not wake the nodes again and again."""
        news, self._told = found - self._told, found
        if news and self._cancels is not None:
            self._cancels.set()

    async def backlog(
        self, queues: Iterable[str], now: datetime, kinds: Collection[str] | None = None
    ) -> int:
        asked = tuple(queues)
        return await self._reader.call("backlog", lambda desk: question.backlog(desk, asked, now, kinds))

    async def jobs(self, query: JobQuery) -> tuple[JobView, ...]:
        shown = await self._reader.call("jobs", lambda desk: question.jobs(desk, query))
        if shown.damaged:
            with suppress(StoreUnavailableError):  # what was asked for has been read
                await self._set_aside(shown.damaged)
        return shown.views

    async def runs(self, query: RunQuery) -> tuple[Attempt, ...]:
        return await self._reader.call("runs", lambda desk: question.runs(desk, query))

    async def skips(self, job: str, limit: int | None = None) -> tuple[Skip, ...]:
        return await self._reader.call("skips", lambda desk: question.skips(desk, job, limit))

    async def overview(self) -> Overview:
        while True:
            overview, damaged = await self._reader.call("overview", question.overview)
            if not damaged:
                return overview
            await self._set_aside(damaged)

    async def now(self) -> datetime:
        return self._clock.now()

    async def nodes(self) -> tuple[NodeView, ...]:
        return await self._reader.call("nodes", life.nodes)

    async def _set_aside(self, numbers: Sequence[int]) -> None:
        """Jobs that a question could not read are set aside, if they still cannot be read."""

        def work(desk: Desk) -> None:
            book = Book(desk)
            for entry in book.by_number(numbers).values():
                if entry.record is None and entry.damage is not None and not entry.is_unknown_here:
                    book.set_aside(entry, entry.damage)

        await self._writer.call("set_aside", work)

    async def prune(self, now: datetime, limit: int) -> Pruned:
        def work(desk: Desk) -> Pruned:
            pruner = Pruner(desk.dialect, desk.shelf, now, limit)
            pruned = pruner.prune()
            for key in pruner.looked_at:
                desk.kept.pop(key, None)
            return pruned

        return await self._writer.call("prune", work)

    # -- outputs -----------------------------------------------------------------------------------

    async def write_outputs(self, outputs: Sequence[Output]) -> None:
        rows = [(o.run_key, o.number, o.job, clean_text(o.text), o.dropped) for o in outputs]

        def work(desk: Desk) -> None:
            desk.connection.executemany("INSERT OR REPLACE INTO outputs VALUES (?, ?, ?, ?, ?)", rows)

        await self._writer.call("write_outputs", work)

    async def output(self, run_key: str, number: int) -> Output | None:
        return await self._reader.call("output", partial(question.output, run_key=run_key, number=number))
