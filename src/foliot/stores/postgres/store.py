"""The store on PostgreSQL: the verbs, each handed to the thread that does it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Self

from foliot.clock import SystemClock
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
from foliot.stores.postgres import declare, life, origin, output, question, run
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.book import Book, Desk
from foliot.stores.postgres.connection import READ, WRITE, Connection, connect
from foliot.stores.postgres.memory import Memory
from foliot.stores.postgres.migration import migrate
from foliot.stores.postgres.notice import Listener
from foliot.stores.postgres.worker import Manner, Worker
from foliot.stores.sql.claim import Asked
from foliot.stores.sql.codes import micros
from foliot.stores.sql.ending import Report
from foliot.stores.sql.prune import Pruner

_LONGEST_WAIT = timedelta(seconds=5)
_TIME_TO_MIGRATE = timedelta(minutes=10)
_AT_ONCE = 1000  # changes of a source for which a usual deadline is enough


class PostgresStore:
    """Keeps jobs in one schema of a database, for any number of nodes on any number of hosts.

    `url` is the driver's, with one option of ours: `?schema=NAME`, by default `foliot`. Time is the server's;
    `clock` tells how long something takes. `time` puts another clock in the server's place, for tests.
    `failpoint` is called with the name of each step that a crash could come before or after; tests end the
    process there.
    """

    traits = Traits(tells_changes=True)  # a lost connection proves nothing; only a lease tells

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
        self._patience = min(_LONGEST_WAIT, lease / 4)
        self._memory = Memory()
        # What must not wait for each other has a connection of its own. A claim and a report go side by
        # side, and neither they nor a heartbeat nor a command stand behind a large revision or a long list.
        self._claims = self._worker("claims", WRITE)
        self._ends = self._worker("ends", WRITE)
        self._pulse = self._worker("pulse", WRITE)
        self._people = self._worker("people", WRITE, rests=True)
        self._upkeep = self._worker("upkeep", WRITE, rests=True)
        self._reader = self._worker("reader", READ, rests=True)
        self._listener = Listener(self._address.schema, self._connect)
        self._is_open = False

    def _worker(self, name: str, begin_with: str, *, rests: bool = False) -> Worker:
        return Worker(
            name,
            begin_with,
            schema=self._address.schema,
            silence=self._patience,
            equip=self._equip,
            failpoint=self._failpoint,
            rests=rests,
        )

    def _connect(self) -> Connection:
        return connect(self._address, self._patience)

    def _equip(self) -> Desk:
        return Desk(self._connect(), self._memory, self._clock)

    @property
    def _told(self) -> int | None:
        """The time, if it is not the server's."""
        return None if self._time is None else micros(self._time.now())

    # -- opening and closing -----------------------------------------------------------------------

    async def open(self) -> None:
        """Create or migrate the schema; StoreError if it is not ours, or too new."""
        if self._is_open:
            raise StoreError("a store is opened once", hint="make a new PostgresStore of the same URL")
        self._is_open = True
        try:
            await self._upkeep.call("open", self._migrate, _TIME_TO_MIGRATE, Manner.ALONE)
        except BaseException:
            await self.close()
            raise

    def _migrate(self, desk: Desk) -> None:
        migrate(desk.connection, self._address.schema, _TIME_TO_MIGRATE, self._failpoint)

    async def close(self) -> None:
        """Do what was asked for, and let go of the server. Nodes that have not left die with their leases."""
        workers = (self._claims, self._ends, self._pulse, self._people, self._upkeep, self._reader)
        for worker in workers:
            worker.close()
        ends = (asyncio.to_thread(worker.end, self._patience) for worker in workers)
        await asyncio.gather(*ends, asyncio.to_thread(self._listener.end))

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def changed(self) -> None:
        """Return when a hint has come: a job wakes earlier, or an attempt is to be cancelled."""
        await self._listener.heard()

    # -- nodes -------------------------------------------------------------------------------------

    async def join(self, node: Node) -> Lease:
        def work(desk: Desk) -> Lease:
            return life.join(desk, node, self._lease, self._told)

        return await self._pulse.call("join", work, self._patience)

    async def renew(self, node: str) -> Lease:
        def work(desk: Desk) -> Lease:
            return life.renew(desk, node, self._lease, self._told)

        return await self._pulse.call("renew", work, self._patience)

    async def leave(self, node: str) -> None:
        await self._pulse.call("leave", lambda desk: life.leave(desk, node), self._patience)

    async def held(self, node: str) -> tuple[Attempt, ...]:
        return await self._pulse.call("held", lambda desk: life.held(desk, node), self._patience)

    # -- runs --------------------------------------------------------------------------------------

    async def claim(
        self, node: str, now: datetime, room: Mapping[str, int], decide: DecideDue, claim_id: str
    ) -> Claimed:
        def work(desk: Desk) -> Claimed:
            asked = Asked(node, now, room, decide, claim_id)
            return run.claim(desk, asked, self._lease, self._told)

        return await self._claims.call("claim", work, self._patience)

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        report = Report(node, endings, now, decide)

        def work(desk: Desk) -> Finished:
            return run.finish(desk, report)

        return await self._ends.call("finish", work, self._patience)

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        def work(desk: Desk) -> Recovered:
            return run.recover(desk, limit, now, decide, lease=self._lease, told=self._told)

        return await self._ends.call("recover", work, self._patience)

    # -- people and sources ------------------------------------------------------------------------

    async def update(self, job: str, decide: DecideCommand) -> Decision:
        def work(desk: Desk) -> Decision:
            return declare.update(desk, job, decide, self._address.schema)

        return await self._people.call("update", work, self._patience)

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
            place = declare.Place(self._address.schema, self._told, self._patience / 3)
            step = declare.Step(source, base, revision, place)
            return declare.reconcile(desk, step, changes, declared, removed)

        count = len(changes.declared) + len(changes.removed)
        patience = self._patience * (1 + count / _AT_ONCE)
        await self._upkeep.call("prepare", lambda desk: declare.prepare(desk, changes), patience)
        return await self._upkeep.call("reconcile", work, patience, Manner.STEPWISE)

    async def revision(self, source: str) -> str | None:
        return await self._pulse.call("revision", lambda desk: origin.revision(desk, source), self._patience)

    async def sources(self) -> tuple[SourceView, ...]:
        return await self._reader.call("sources", origin.sources, self._patience)

    async def write_source_status(self, source: str, status: str) -> None:
        text = clean_text(status)

        def work(desk: Desk) -> None:
            origin.note_status(desk, source, text)

        await self._people.call("write_source_status", work, self._patience)

    async def forget_source(self, source: str, revision: str | None) -> bool:
        def work(desk: Desk) -> bool:
            return origin.forget(desk, source, revision)

        return await self._people.call("forget_source", work, self._patience)

    # -- questions ---------------------------------------------------------------------------------

    async def next_wake(self, queues: Iterable[str], kinds: Collection[str] | None = None) -> datetime | None:
        asked = tuple(queues)
        while True:
            woken = await self._pulse.call(
                "next_wake", lambda desk: question.next_wake(desk, asked, kinds), self._patience
            )
            if not woken.damaged:
                return woken.at
            await self._set_aside(woken.damaged)

    async def backlog(
        self, queues: Iterable[str], now: datetime, kinds: Collection[str] | None = None
    ) -> int:
        asked = tuple(queues)

        def work(desk: Desk) -> int:
            return question.backlog(desk, asked, now, kinds)

        return await self._reader.call("backlog", work, self._patience)

    async def jobs(self, query: JobQuery) -> tuple[JobView, ...]:
        shown = await self._reader.call("jobs", lambda desk: question.jobs(desk, query), self._patience)
        if shown.damaged:
            with suppress(StoreUnavailableError):  # what was asked for has been read
                await self._set_aside(shown.damaged)
        return shown.views

    async def runs(self, query: RunQuery) -> tuple[Attempt, ...]:
        return await self._reader.call("runs", lambda desk: question.runs(desk, query), self._patience)

    async def skips(self, job: str, limit: int | None = None) -> tuple[Skip, ...]:
        return await self._reader.call("skips", lambda desk: question.skips(desk, job, limit), self._patience)

    async def overview(self) -> Overview:
        while True:
            overview, damaged = await self._reader.call("overview", question.overview, self._patience)
            if not damaged:
                return overview
            await self._set_aside(damaged)

    async def now(self) -> datetime:
        return await self._people.call("now", lambda desk: life.time(desk, self._told), self._patience)

    async def nodes(self) -> tuple[NodeView, ...]:
        return await self._reader.call("nodes", life.nodes, self._patience)

    async def _set_aside(self, numbers: Sequence[int]) -> None:
        """Jobs that a question could not read are set aside, if they still cannot be read."""

        def work(desk: Desk) -> None:
            book = Book(desk)
            for entry in book.by_number(numbers).values():
                if entry.record is None and entry.damage is not None and not entry.is_unknown_here:
                    book.set_aside(entry, entry.damage)

        await self._people.call("set_aside", work, self._patience)

    async def prune(self, now: datetime, limit: int) -> Pruned:
        def work(desk: Desk) -> Pruned:
            return Pruner(desk.dialect, desk.shelf, now, limit).prune()

        return await self._upkeep.call("prune", work, self._patience)

    # -- outputs -----------------------------------------------------------------------------------

    async def write_outputs(self, outputs: Sequence[Output]) -> None:
        def work(desk: Desk) -> None:
            output.write_outputs(desk, outputs)

        await self._ends.call("write_outputs", work, self._patience)

    async def output(self, run_key: str, number: int) -> Output | None:
        def work(desk: Desk) -> Output | None:
            return output.output(desk, run_key, number)

        return await self._reader.call("output", work, self._patience)
