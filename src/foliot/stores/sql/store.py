"""The store on a SQL database: every verb once, each handed to the lane that does it.

    verb ──▶ lane ──▶ a worker: a thread with a connection ──▶ session ──▶ dialect ──▶ database

A *lane* says what a call must not wait behind. Which worker serves a lane is the dialect's matter: SQLite has
one writer and two readers, PostgreSQL has a connection for each lane.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Generic, ParamSpec, Self, TypeVar

from foliot.errors import StoreUnavailableError
from foliot.model.attempt import Attempt, Ending
from foliot.model.decision import Decision, Event
from foliot.model.json_text import clean_text
from foliot.model.state import Lease, Node, Skip
from foliot.model.view import NodeView, Overview, SourceView
from foliot.protocols import (
    Changes,
    Claimed,
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
)
from foliot.stores.sql import declare, node_rows, queries, runs, source_rows
from foliot.stores.sql.answer import Woken
from foliot.stores.sql.claim import Asked
from foliot.stores.sql.ending import Report
from foliot.stores.sql.prune import Pruner
from foliot.stores.sql.session import Session

Answer = TypeVar("Answer")
Facts = ParamSpec("Facts")
SomeSession = TypeVar("SomeSession", bound=Session)


class Lane(Enum):
    """What a call is part of. Calls of one lane go one after the other.

    PULSE: heartbeats. GLANCE: what the engine asks before it waits. READER: long lists and other questions.
    """

    CLAIMS = auto()
    ENDS = auto()
    PULSE = auto()
    GLANCE = auto()
    PEOPLE = auto()
    UPKEEP = auto()
    READER = auto()


class SqlStore(ABC, Generic[SomeSession]):
    """The verbs. A dialect's store opens and closes, and carries out calls."""

    _lease: timedelta

    @abstractmethod
    async def _call(
        self, lane: Lane, verb: str, work: Callable[[SomeSession], Answer], changes: int | None = None
    ) -> Answer:
        """Have something done in one transaction. `changes`: of so many jobs, by a source."""

    def _asking(self, session: SomeSession, ask: Callable[Facts, Answer]) -> Callable[Facts, Answer]:  # noqa: ARG002 - of some dialects
        """A function that the caller has given, as it is called in a transaction."""
        return ask

    @abstractmethod
    async def open(self) -> None:
        """Create or migrate the database; StoreError if it is not ours, or too new."""

    @abstractmethod
    async def close(self) -> None:
        """Do what was asked for, and let go of the database."""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- nodes -------------------------------------------------------------------------------------

    async def join(self, node: Node) -> Lease:
        return await self._call(Lane.PULSE, "join", lambda s: node_rows.join(s, node, self._lease))

    async def renew(self, node: str) -> Lease:
        return await self._call(Lane.PULSE, "renew", lambda s: node_rows.renew(s, node, self._lease))

    async def leave(self, node: str) -> None:
        await self._call(Lane.PULSE, "leave", lambda s: node_rows.leave(s, node))

    async def held(self, node: str) -> tuple[Attempt, ...]:
        return await self._call(Lane.GLANCE, "held", lambda s: node_rows.held(s, node))

    async def nodes(self) -> tuple[NodeView, ...]:
        return await self._call(Lane.READER, "nodes", node_rows.nodes)

    # -- runs --------------------------------------------------------------------------------------

    async def claim(
        self, node: str, now: datetime, room: Mapping[str, int], decide: DecideDue, claim_id: str
    ) -> Claimed:
        asked = Asked(node, now, room, decide, claim_id)
        return await self._call(Lane.CLAIMS, "claim", lambda s: self._claim(s, asked))

    def _claim(self, session: SomeSession, asked: Asked) -> Claimed:
        return runs.claim(session, asked, self._lease)

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        report = Report(node, endings, now, decide)
        return await self._call(Lane.ENDS, "finish", lambda s: runs.finish(s, report))

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        return await self._call(Lane.ENDS, "recover", lambda s: self._recover(s, limit, now, decide))

    def _recover(self, session: SomeSession, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        return runs.recover(session, limit, now, decide, self._lease)

    # -- people and sources ------------------------------------------------------------------------

    async def update(self, job: str, decide: DecideCommand) -> Decision:
        def work(session: SomeSession) -> Decision:
            return declare.update(session, job, self._asking(session, decide))

        return await self._call(Lane.PEOPLE, "update", work)

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
        def work(session: SomeSession) -> tuple[Event, ...]:
            asks = self._asking(session, declared), self._asking(session, removed)
            return declare.reconcile(session, declare.Step(source, base, revision), changes, *asks)

        count = len(changes.declared) + len(changes.removed)
        return await self._call(Lane.UPKEEP, "reconcile", work, count)

    async def revision(self, source: str) -> str | None:
        return await self._call(Lane.GLANCE, "revision", lambda s: source_rows.revision(s, source))

    async def sources(self) -> tuple[SourceView, ...]:
        return await self._call(Lane.READER, "sources", source_rows.sources)

    async def write_source_status(self, source: str, status: str) -> None:
        text = clean_text(status)
        await self._call(
            Lane.PEOPLE, "write_source_status", lambda s: source_rows.note_status(s, source, text)
        )

    async def forget_source(self, source: str, revision: str | None) -> bool:
        return await self._call(
            Lane.PEOPLE, "forget_source", lambda s: source_rows.forget(s, source, revision)
        )

    # -- questions ---------------------------------------------------------------------------------

    async def next_wake(self, queues: Iterable[str], kinds: Collection[str] | None = None) -> datetime | None:
        asked = set(queues)
        while True:
            woken = await self._call(Lane.GLANCE, "next_wake", lambda s: self._next_wake(s, asked, kinds))
            if not woken.damaged:
                return woken.at
            await self._set_aside(woken.damaged)

    def _next_wake(
        self, session: SomeSession, queues: Collection[str], kinds: Collection[str] | None
    ) -> Woken:
        return queries.next_wake(session, queues, kinds)

    async def backlog(
        self, queues: Iterable[str], now: datetime, kinds: Collection[str] | None = None
    ) -> int:
        asked = set(queues)
        return await self._call(Lane.READER, "backlog", lambda s: queries.backlog(s, asked, now, kinds))

    async def jobs(self, query: JobQuery) -> tuple[JobView, ...]:
        shown = await self._call(Lane.READER, "jobs", lambda s: queries.jobs(s, query))
        if shown.damaged:
            with suppress(StoreUnavailableError):  # what was asked for has been read
                await self._set_aside(shown.damaged)
        return shown.views

    async def runs(self, query: RunQuery) -> tuple[Attempt, ...]:
        return await self._call(Lane.READER, "runs", lambda s: queries.runs(s, query))

    async def skips(self, job: str, limit: int | None = None) -> tuple[Skip, ...]:
        return await self._call(Lane.READER, "skips", lambda s: queries.skips(s, job, limit))

    async def overview(self) -> Overview:
        while True:
            overview, damaged = await self._call(Lane.READER, "overview", queries.overview)
            if not damaged:
                return overview
            await self._set_aside(damaged)

    async def _set_aside(self, numbers: Sequence[int]) -> None:
        """Jobs that a question could not read are set aside, if they still cannot be read."""

        def work(session: SomeSession) -> None:
            batch = session.batch()
            for entry in batch.by_number(numbers).values():
                if entry.record is None and entry.damage is not None and not entry.is_unknown_here:
                    batch.set_aside(entry, entry.damage)

        await self._call(Lane.PEOPLE, "set_aside", work)

    async def prune(self, now: datetime, limit: int) -> Pruned:
        def work(session: SomeSession) -> Pruned:
            pruner = Pruner(session.dialect, session.interned, now, limit)
            pruned = pruner.prune()
            for key in pruner.looked_at:
                session.kept.pop(key, None)
            return pruned

        return await self._call(Lane.UPKEEP, "prune", work)

    # -- outputs -----------------------------------------------------------------------------------

    async def write_outputs(self, outputs: Sequence[Output]) -> None:
        await self._call(Lane.ENDS, "write_outputs", lambda s: queries.write_outputs(s, outputs))

    async def output(self, run_key: str, number: int) -> Output | None:
        return await self._call(Lane.READER, "output", lambda s: queries.output(s, run_key, number))
