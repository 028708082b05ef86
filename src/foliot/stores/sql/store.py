"""The store on a SQL database: every verb once, each handed to the lane that does it.

    verb ──▶ lane ──▶ a worker: a thread with a connection ──▶ session ──▶ dialect ──▶ database

A *lane* groups calls that may wait for each other; calls of other lanes do not wait. The dialect decides
which worker serves a lane: SQLite has one writer and three readers, PostgreSQL a connection for each lane.
Most verbs are one function that works in one transaction, and a line here; the protocols have the contract of
each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import Enum, auto
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from foliot.errors import StoreUnavailableError
from foliot.model.decision import Event
from foliot.model.view import Overview, SourceView
from foliot.protocols import (
    NO_LIMITS,
    Changes,
    Claimed,
    Clock,
    DecideDeclared,
    DecideDue,
    DecideRemoved,
    JobPage,
    JobQuery,
    Wakes,
)
from foliot.stores.sql import (
    access,
    audit,
    declare,
    group_rows,
    job_queries,
    node_rows,
    outages,
    outbox,
    outcome_queries,
    outputs,
    pipelines,
    prune,
    queries,
    rule_queries,
    run_queries,
    runs,
    source_rows,
    versions,
)
from foliot.stores.sql.answer import Woken
from foliot.stores.sql.claim import Asked
from foliot.stores.sql.queries import WakeQuery
from foliot.stores.sql.session import Session

Answer = TypeVar("Answer")
Facts = ParamSpec("Facts")
_COUNTED_FOR = 30  # seconds
SomeSession = TypeVar("SomeSession", bound=Session)


class Lane(Enum):
    """The kind of a call. Calls of one lane go one after the other.

    HEARTBEAT: joins and renewals. GLANCE: queries of the engine before it waits. COUNTER: queries that look
    at every job. READER: all other queries.
    """

    CLAIMS = auto()
    ENDS = auto()
    HEARTBEAT = auto()
    GLANCE = auto()
    PEOPLE = auto()
    UPKEEP = auto()
    READER = auto()
    COUNTER = auto()


def verb(
    lane: Lane, work: Callable[Concatenate[SomeSession, Facts], Answer]
) -> Callable[Concatenate[Any, Facts], Coroutine[Any, Any, Answer]]:
    """Make a verb of a function: the method has the same name, and calls it in one transaction."""

    async def asked(store: SqlStore[SomeSession], /, *facts: Facts.args, **more: Facts.kwargs) -> Answer:
        return await store._call(lane, work.__name__, lambda session: work(session, *facts, **more))  # noqa: SLF001 - it is a method

    return asked


class SqlStore(ABC, Generic[SomeSession]):
    """The verbs. A dialect's store opens and closes, and carries out calls."""

    _clock: Clock
    _counts: tuple[float, Mapping[str, int]] | None = None

    @abstractmethod
    async def _call(
        self, lane: Lane, verb: str, work: Callable[[SomeSession], Answer], changes: int | None = None
    ) -> Answer:
        """Carry out a call in one transaction. `changes`: how many jobs of a source it changes."""

    @abstractmethod
    async def open(self) -> None:
        """Create or migrate the database; StoreError if it is not ours, or too new."""

    @abstractmethod
    async def close(self) -> None:
        """Finish all calls, and close the database."""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    join = verb(Lane.HEARTBEAT, node_rows.join)
    renew = verb(Lane.HEARTBEAT, node_rows.renew)
    leave = verb(Lane.HEARTBEAT, node_rows.leave)
    held = verb(Lane.GLANCE, node_rows.held)
    nodes = verb(Lane.READER, node_rows.nodes)
    running = verb(Lane.READER, group_rows.running)
    outages = verb(Lane.READER, outages.outages)

    _claim = verb(Lane.CLAIMS, runs.claim)
    finish = verb(Lane.ENDS, runs.finish)
    recover = verb(Lane.ENDS, runs.recover)
    write_outputs = verb(Lane.ENDS, outputs.write_outputs)
    append_outputs = verb(Lane.PEOPLE, outputs.append_outputs)
    prune = verb(Lane.UPKEEP, prune.prune)

    update = verb(Lane.PEOPLE, declare.update)
    revision = verb(Lane.GLANCE, source_rows.revision)
    revisions = verb(Lane.READER, versions.revisions)
    write_source_status = verb(Lane.PEOPLE, source_rows.write_source_status)
    restore_source = verb(Lane.PEOPLE, source_rows.restore_source)
    forget_source = verb(Lane.PEOPLE, source_rows.forget_source)

    runs = verb(Lane.READER, run_queries.runs)
    outcomes = verb(Lane.READER, outcome_queries.outcomes)
    rules = verb(Lane.COUNTER, rule_queries.rules)
    skips = verb(Lane.READER, run_queries.skips)
    versions = verb(Lane.READER, versions.versions)
    output = verb(Lane.READER, outputs.output)

    waiting = verb(Lane.PEOPLE, outbox.waiting)
    waiting_channels = verb(Lane.READER, outbox.waiting_channels)
    settle = verb(Lane.PEOPLE, outbox.settle)
    alerts = verb(Lane.READER, outbox.alerts)

    add_token = verb(Lane.PEOPLE, access.add_token)
    token = verb(Lane.READER, access.token)
    tokens = verb(Lane.READER, access.tokens)
    note_token_used = verb(Lane.PEOPLE, access.note_token_used)
    revoke_token = verb(Lane.PEOPLE, access.revoke_token)
    add_session = verb(Lane.PEOPLE, access.add_session)
    session = verb(Lane.READER, access.session)
    note_session_seen = verb(Lane.PEOPLE, access.note_session_seen)
    end_session = verb(Lane.PEOPLE, access.end_session)
    add_code = verb(Lane.PEOPLE, access.add_code)
    take_code = verb(Lane.PEOPLE, access.take_code)

    write_audit = verb(Lane.PEOPLE, audit.write_audit)
    settle_audit = verb(Lane.PEOPLE, audit.settle_audit)
    audit = verb(Lane.READER, audit.audit)

    add_pipeline = verb(Lane.PEOPLE, pipelines.add_pipeline)
    change_pipeline = verb(Lane.PEOPLE, pipelines.change_pipeline)
    remove_pipeline = verb(Lane.PEOPLE, pipelines.remove_pipeline)
    note_pipeline_run = verb(Lane.PEOPLE, pipelines.note_pipeline_run)
    pipeline = verb(Lane.READER, pipelines.pipeline)
    pipeline_named = verb(Lane.READER, pipelines.pipeline_named)
    pipelines = verb(Lane.READER, pipelines.pipelines)

    async def claim(  # noqa: PLR0913, PLR0917 - see the protocol
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        return await self._claim(Asked(node, now, room, decide, claim_id, limits))

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
        def work(session: SomeSession) -> Sequence[Event]:
            step = declare.Step(source, base, revision)
            return declare.reconcile(session, step, changes, declared, removed)

        count = len(changes.declared) + len(changes.removed)
        try:
            return await self._call(Lane.UPKEEP, "reconcile", work, count)
        finally:
            self._counts = None

    async def wakes(
        self,
        queues: Iterable[str],
        kinds: Collection[str] | None = None,
        due_by: datetime | None = None,
        *,
        after: datetime | None = None,
    ) -> Wakes:
        asked = WakeQuery(set(queues), kinds, due_by, after)
        while True:
            lane = Lane.GLANCE if due_by is None else Lane.READER
            woken = await self._call(lane, "wakes", lambda s: self._wakes(s, asked))
            if not woken.damaged:
                return Wakes(woken.at, woken.due)
            await self._set_aside(woken.damaged)

    def _wakes(self, session: SomeSession, asked: WakeQuery) -> Woken:
        return queries.wakes(session, asked)

    async def jobs(self, query: JobQuery) -> JobPage:
        shown = await self._call(Lane.READER, "jobs", lambda s: job_queries.jobs(s, query))
        if shown.damaged:
            with suppress(StoreUnavailableError):  # the query itself was answered
                await self._set_aside(shown.damaged)
        return shown.views

    async def sources(self) -> tuple[SourceView, ...]:
        counts = await self._count_jobs()
        return await self._call(Lane.READER, "sources", lambda s: source_rows.sources(s, counts))

    async def overview(self) -> Overview:
        jobs = sum((await self._count_jobs()).values())
        while True:
            overview, damaged = await self._call(Lane.READER, "overview", lambda s: queries.overview(s, jobs))
            if not damaged:
                return overview
            await self._set_aside(damaged)

    async def _count_jobs(self) -> Mapping[str, int]:
        """The number of jobs of each source. The count is at most half a minute old."""
        known, now = self._counts, self._clock.monotonic()
        if known is None or not 0 <= now - known[0] < _COUNTED_FOR:
            known = now, await self._call(Lane.COUNTER, "count_jobs", queries.count_jobs)
            self._counts = known
        return known[1]

    async def _set_aside(self, numbers: Sequence[int]) -> None:
        """Set jobs aside that a query could not read, if they still cannot be read."""
        await self._call(Lane.PEOPLE, "set_aside", lambda s: s.batch().set_aside_unreadable(numbers))
