"""The store on MongoDB: every verb once, each handed to the lane that does it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from foliot.clock import SystemClock
from foliot.errors import StoreError
from foliot.model.decision import Event
from foliot.protocols import (
    NO_LIMITS,
    Changes,
    Claimed,
    Clock,
    DecideDeclared,
    DecideDue,
    DecideRemoved,
    Traits,
)
from foliot.stores.claim_cursor import ClaimCursor
from foliot.stores.mongodb import (
    access,
    audit,
    herd,
    history,
    node,
    outbox,
    output,
    pipeline,
    prune,
    question,
    source,
)
from foliot.stores.mongodb.address import read_address
from foliot.stores.mongodb.asking import Shared
from foliot.stores.mongodb.claim import Claims, claim
from foliot.stores.mongodb.connection import Client, Jobs, connect
from foliot.stores.mongodb.layout import HINTS
from foliot.stores.mongodb.notice import Listener
from foliot.stores.mongodb.opening import begin, refuse_old
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.mongodb.worker import Worker
from foliot.stores.optimistic import revision, verbs
from foliot.stores.optimistic.revision import Step
from foliot.stores.sql.codes import micros

Answer = TypeVar("Answer")
Facts = ParamSpec("Facts")
_LONGEST_WAIT = timedelta(seconds=5)
_TIME_TO_OPEN = timedelta(seconds=30)
_AT_ONCE = 1000  # a reconcile with more changes gets a longer deadline


class Lane(Enum):
    """The kind of a call. Calls of one lane go one after the other, over one connection.

    HEARTBEAT: heartbeats, and the queries that an engine makes before it waits. READER: all other queries.
    """

    CLAIMS = auto()
    ENDS = auto()
    HEARTBEAT = auto()
    PEOPLE = auto()
    UPKEEP = auto()
    READER = auto()


def verb(
    lane: Lane, work: Callable[Concatenate[Any, Facts], Answer]
) -> Callable[Concatenate[Any, Facts], Coroutine[Any, Any, Answer]]:
    """Make a verb of a function: the method has the same name, and calls it with a session."""

    async def asked(store: MongoStore, /, *facts: Facts.args, **more: Facts.kwargs) -> Answer:
        return await store._call(lane, work.__name__, lambda session: work(session, *facts, **more))  # noqa: SLF001 - it is a method

    return asked


class MongoStore:
    """Keeps jobs in one database of a server, or of a replica set, for any number of nodes.

    `url` is the driver's, with an option of ours: `?prefix=TEXT`, with which all collections begin. The
    server's time counts; `clock` only measures durations. `time` replaces the server's clock in tests.
    `failpoint` is called before and after each write of jobs; tests end the process there.
    """

    traits = Traits(tells_changes=True)  # a lost connection does not prove that a node is dead

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
        self._time = time
        self._deadline = min(_LONGEST_WAIT, lease / 4)
        self._lease = lease
        self._clock = clock or time or SystemClock()
        self._failpoint = failpoint
        self._claims = Claims(ClaimCursor(self._clock, has_litter=False))
        self._client: Client | None = None
        self._workers: dict[Lane, Worker] = {}
        self._listener = Listener(self._connect, self._hints_of)
        self._is_open = False

    def _told(self) -> int | None:
        """The time that a test has set; None: the server's time counts."""
        return None if self._time is None else micros(self._time.now())

    def _connect(self) -> Client:
        return connect(self._address, self._deadline)

    def _hints_of(self, client: Client) -> Jobs:
        return client.get_database(self._address.database)[self._address.prefix + HINTS]

    async def _call(
        self, lane: Lane, verb: str, work: Callable[[MongoSession], Answer], changes: int = 0
    ) -> Answer:
        """Carry out a call on its lane. A call with many changes gets a longer deadline."""
        if lane not in self._workers:
            raise StoreError(f"{verb}: the store is not open", hint="use `async with`, or open it first")
        deadline = self._deadline * (1 + changes / _AT_ONCE)
        return await self._workers[lane].call(verb, work, deadline)

    # -- opening and closing -----------------------------------------------------------------------

    async def open(self) -> None:
        """Create the store if there is none. StoreError if it is too new, or the server cannot be used."""
        if self._is_open:
            raise StoreError("a store is opened once", hint="make a new MongoStore of the same URL")
        self._is_open = True
        self._client = await asyncio.to_thread(self._connect)
        shared = Shared(
            self._client, self._address.database, self._address.prefix, self._clock, self._lease,
            self._told, self._failpoint,
        )  # fmt: skip
        self._workers = {lane: Worker(lane.name.lower(), MongoSession(shared)) for lane in Lane}
        try:
            # First check that the server answers. Connecting takes some time, however short the lease is.
            await self._workers[Lane.HEARTBEAT].call("open", refuse_old, _LONGEST_WAIT)
            await self._workers[Lane.HEARTBEAT].call("open", begin, _TIME_TO_OPEN)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish all calls, and disconnect. A node that has not left dies when its lease is over."""
        for worker in self._workers.values():
            worker.close()
        ends = (asyncio.to_thread(worker.end, self._deadline) for worker in self._workers.values())
        await asyncio.gather(*ends, asyncio.to_thread(self._listener.end))
        if self._client is not None:
            await asyncio.to_thread(self._client.close)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- verbs that are more than one function -----------------------------------------------------

    async def claim(  # noqa: PLR0913, PLR0917 - see the protocol
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        def work(session: MongoSession) -> Claimed:
            return claim(session, self._claims, node, now, room, decide, claim_id, limits)

        return await self._call(Lane.CLAIMS, "claim", work)

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
        def work(session: MongoSession) -> Sequence[Event]:
            return _reconcile(session, Step(source, base, revision), changes, declared, removed)

        count = len(changes.declared) + len(changes.removed)
        return await self._call(Lane.UPKEEP, "reconcile", work, count)

    async def changed(self) -> None:
        """Wait for a hint: a job wakes earlier, or an attempt must be cancelled."""
        await self._listener.heard()

    # -- verbs that are one function ---------------------------------------------------------------

    join = verb(Lane.HEARTBEAT, node.join)
    renew = verb(Lane.HEARTBEAT, node.renew)
    leave = verb(Lane.HEARTBEAT, node.leave)
    held = verb(Lane.HEARTBEAT, node.held)
    now = verb(Lane.HEARTBEAT, node.now)
    nodes = verb(Lane.READER, node.nodes)
    running = verb(Lane.READER, node.running)
    outages = verb(Lane.READER, node.outages)

    finish = verb(Lane.ENDS, herd.finish)
    recover = verb(Lane.ENDS, verbs.recover)
    write_outputs = verb(Lane.ENDS, output.write_outputs)
    append_outputs = verb(Lane.PEOPLE, output.append_outputs)
    prune = verb(Lane.UPKEEP, prune.prune)

    update = verb(Lane.PEOPLE, verbs.update)
    revision = verb(Lane.HEARTBEAT, source.revision)
    revisions = verb(Lane.READER, source.revisions)
    versions = verb(Lane.READER, source.versions)
    sources = verb(Lane.READER, source.sources)
    write_source_status = verb(Lane.PEOPLE, source.write_source_status)
    restore_source = verb(Lane.PEOPLE, source.restore_source)
    forget_source = verb(Lane.PEOPLE, source.forget_source)

    wakes = verb(Lane.HEARTBEAT, question.wakes)
    jobs = verb(Lane.READER, question.jobs)
    overview = verb(Lane.READER, question.overview)
    runs = verb(Lane.READER, history.runs)
    skips = verb(Lane.READER, history.skips)
    output = verb(Lane.READER, output.output)

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

    add_pipeline = verb(Lane.PEOPLE, pipeline.add_pipeline)
    change_pipeline = verb(Lane.PEOPLE, pipeline.change_pipeline)
    remove_pipeline = verb(Lane.PEOPLE, pipeline.remove_pipeline)
    note_pipeline_run = verb(Lane.PEOPLE, pipeline.note_pipeline_run)
    pipeline_named = verb(Lane.READER, pipeline.pipeline_named)
    pipelines = verb(Lane.READER, pipeline.pipelines)
    pipeline = verb(Lane.READER, pipeline.pipeline)


def _reconcile(
    session: MongoSession, step: Step, changes: Changes, declared: DecideDeclared, removed: DecideRemoved
) -> Sequence[Event]:
    """Reconcile. A revision that fails is ended at once, so that no other call waits for it."""
    try:
        return revision.reconcile(session, step, changes, declared, removed)
    except BaseException:
        session.give_up(step.source)
        raise
