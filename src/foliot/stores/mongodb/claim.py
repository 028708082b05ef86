"""Claims: due jobs are read from the lanes of a queue, the longest due first."""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import datetime
from uuid import uuid4

from foliot.errors import NodeBuriedError
from foliot.model.decision import Event
from foliot.model.kinds import serves
from foliot.model.run import Run
from foliot.protocols import Claimed, DecideDue
from foliot.stores.claim_cursor import ClaimCursor
from foliot.stores.claim_loop import ClaimLoop, Page
from foliot.stores.group_places import GroupPlaces
from foliot.stores.mongodb import layout
from foliot.stores.mongodb.burial import NodeCheck
from foliot.stores.mongodb.codec import MongoEntry
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.due import page_of_wakes, place_of
from foliot.stores.mongodb.herd import DuePage, MongoHerdStarts
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.mongodb.transaction import COMMITTED
from foliot.stores.optimistic.claim import DueEntries
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.names import attempt_id
from foliot.stores.optimistic.rows import read_node
from foliot.stores.optimistic.session import ClaimedElsewhereError, Guard
from foliot.stores.sql.codes import whole

_MOST_AT_ONCE = 500  # jobs that are looked at in one go
_TURNS, _TURN = 50, 0.01  # a claim waits so often, for so many seconds, for a revision under way


class Claims:
    """Facts that one claim of a store leaves for the next claim."""

    def __init__(self, cursor: ClaimCursor) -> None:
        self.cursor = cursor
        self.turn = 0
        self.told: set[str] = set()


def claim(  # noqa: PLR0913, PLR0917 - what a node asks for, and what is remembered
    session: MongoSession,
    claims: Claims,
    node: str,
    now: datetime,
    room: Mapping[str, int],
    decide: DecideDue,
    claim_id: str,
    limits: Mapping[str, int],
) -> Claimed:
    """Start due jobs."""
    guard = Guard(node, needs_lease=True, claim_id=claim_id, asker=uuid4().hex, limits=limits)
    found = session.check_node(node, claim_id)
    if found is None:
        raise NodeBuriedError(node)
    if found.asker is not None:
        return _answer_again(session, node, claim_id)
    if not found.is_in_time:
        return Claimed()
    groups = GroupPlaces(limits, session.running)
    jobs = _Due(session, found, guard, groups, MongoHerdStarts(session, guard, now, decide), now)
    claims.turn += 1
    loop = ClaimLoop(
        jobs,
        claims.cursor,
        session.shared.clock,
        node=node,
        now=now,
        decide=decide,
        told=claims.told,
        groups=groups,
    )
    try:
        return loop.claim(room, claims.turn)
    except ClaimedElsewhereError:
        return _answer_again(session, node, claim_id)


def _answer_again(session: MongoSession, node: str, claim_id: str) -> Claimed:
    """The attempts that a claim started and that are still open, in the order of their start."""
    wanted = {"c": {"$elemMatch": {"n": node, "k": claim_id}}}
    entries = session.read(list(session.committed("jobs").find({"c.n": node, **wanted})))
    found: list[tuple[int, Run]] = []
    for entry in entries:
        for attempt in entry.record.attempts if entry.record else ():
            claim, place = entry.claims.get(attempt_id(attempt), ("", 0))
            if claim == claim_id and attempt.node == node and entry.record is not None:
                found.append((place, Run(entry.record.job, attempt)))
    return Claimed(tuple(run for _, run in sorted(found, key=lambda pair: pair[0])))


class _Due(DueEntries):
    """The due jobs of a claim on MongoDB."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it works with
        self,
        session: MongoSession,
        node: NodeCheck,
        guard: Guard,
        groups: GroupPlaces,
        herd: MongoHerdStarts,
        now: datetime,
    ) -> None:
        super().__init__(session, str(guard.node), guard, groups)
        self._mongo = session
        self._due_by = whole(now)
        self._herd = herd
        self._frozen: list[MongoEntry] = []  # jobs that a revision under way will change
        kinds = read_node(node.facts).kinds
        names = [layout.split_name(lane) for lane in sorted(session.lanes())]
        self._lanes = [(queue, kind) for queue, kind in names if serves(kinds, kind)]
        # Part of the cursor's name: when a group has a free place again, the next claim begins at the front.
        self._full_groups = [
            group for group, limit in guard.limits.items() if session.running(group) >= limit
        ]

    def due(self, queue: str, count: int, after: str | None) -> Page[Entry]:
        found: list[Document] = []
        lanes = self._lanes_of(queue)
        while lanes and len(found) < count and not self._mongo.is_late:
            wanted = min(count - len(found), _MOST_AT_ONCE)
            documents = page_of_wakes(self._mongo["jobs"], lanes, wanted, after, self._due_by)
            free = self._settled(documents)
            if free is None:
                continue
            found += free
            if len(documents) < wanted:
                break
            after = place_of(documents[-1])
        self._mongo.learn(found)
        return DuePage(self._mongo, found, self._herd)

    def _settled(self, documents: list[Document]) -> list[Document] | None:
        """The jobs that no revision under way will change; None: a revision was applied, so read again."""
        if not any("next" in one for one in documents):
            return documents
        staged = self._mongo.read([one for one in documents if "next" in one])
        txs = {source: self._mongo.tx_of(source) for source in {layout.source_of(one.key) for one in staged}}
        frozen: set[str] = set()
        for entry in staged:
            tx = txs[layout.source_of(entry.key)]
            if tx is not None and tx["state"] == COMMITTED:
                self._mongo.apply(layout.source_of(entry.key), tx["id"])
                return None
            if tx is not None and tx["id"] == entry.staged:
                self._frozen.append(entry)
                frozen.add(entry.key)
        return [one for one in documents if one["_id"] not in frozen]

    def write(self) -> Collection[str]:
        refused = self._herd.flush() if self._herd.keys else ()
        return {*super().write(), *refused}

    def alike_events(self) -> Sequence[Sequence[Event]]:
        return self._herd.events()

    def _lanes_of(self, queue: str) -> list[str]:
        return [layout.lane_of(*names) for names in self._lanes if names[0] == queue]

    def sign(self, queue: str) -> Hashable:
        return self._node, *self._lanes_of(queue), *self._full_groups

    def wait_for_others(self) -> bool:
        """Wait for a revision that holds due jobs; after a while, take the jobs back from it."""
        frozen, self._frozen = self._frozen, []
        if not frozen:
            return False
        for _ in range(_TURNS):
            if self._mongo["sources"].find_one({"tx": {"$exists": True}}, {"_id": 1}) is None:
                return True
            threading.Event().wait(_TURN)
        self._mongo.take_back(frozen)
        return True
