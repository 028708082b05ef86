"""Claims: one script finds the due jobs of all lanes, and returns all that the decisions need."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from uuid import uuid4

from redis.exceptions import RedisError

from foliot.errors import NodeBuriedError
from foliot.model.decision import Event
from foliot.model.kinds import serves
from foliot.model.run import Run
from foliot.protocols import Claimed, DecideDue
from foliot.stores.claim_cursor import ClaimCursor
from foliot.stores.claim_loop import ClaimLoop, Page
from foliot.stores.group_places import GroupPlaces
from foliot.stores.matching import Key
from foliot.stores.optimistic import rows
from foliot.stores.optimistic.claim import DueEntries
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.herd_starts import HerdStarts
from foliot.stores.optimistic.session import ClaimedElsewhereError, Guard
from foliot.stores.redis import layout
from foliot.stores.redis.asking import pairs, text_of
from foliot.stores.redis.herd import DuePage, FoundRow, herd_starts, rows_of
from foliot.stores.redis.node import running
from foliot.stores.redis.session import RedisSession
from foliot.stores.sql.codes import whole

_MOST_AT_ONCE = 250  # jobs that one script looks at
_TURNS, _TURN = 60, 0.01  # a claim waits so often, for so many seconds, for a frozen source
_ALONE, _HIDDEN = 0, 2  # answers of a look: no other node lives; other nodes work on due jobs
_AT_HAND = 200_000  # microseconds: for that long the jobs that a node looks at are hidden from others


class Claims:
    """Facts that one claim of a store leaves for the next claim."""

    def __init__(self, cursor: ClaimCursor) -> None:
        self.cursor = cursor
        self.turn = 0
        self.told: set[str] = set()
        self.kinds: dict[str, tuple[str, ...] | None] = {}  # the kinds of each node, as last read


def claim(  # noqa: PLR0913, PLR0917 - what a node asks for, and what is remembered
    session: RedisSession,
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
    groups = GroupPlaces(limits, partial(running, session))
    jobs = _Due(session, claims, guard, groups, herd_starts(session, guard, now, decide), whole(now))
    claims.turn += 1
    try:
        if not any(free > 0 for free in room.values()):
            jobs.look("", 0, None)  # a dead node must get its error, even without free room
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
        return loop.claim(room, claims.turn)
    except ClaimedElsewhereError:
        return _answer_again(session, node, claim_id)
    finally:
        jobs.let_go()


def _answer_again(session: RedisSession, node: str, claim_id: str) -> Claimed:
    """The attempts that a claim started and that are still open, in the order of their start."""
    places: dict[Key, int] = {}
    jobs: set[str] = set()
    for name, told in pairs(session.ask("HGETALL", f"o:{node}")):
        place, _, id_ = text_of(told).partition(" ")
        if id_ == claim_id:
            job, identity = layout.split_name(text_of(name))
            jobs.add(job)
            places[layout.key_of(job, identity)] = int(place, 16)
    entries = session.entries(jobs)
    runs = [
        Run(entry.record.job, attempt)
        for entry in entries.values()
        if entry.record is not None
        for attempt in entry.record.attempts
        if attempt.key in places and attempt.node == node
    ]
    return Claimed(tuple(sorted(runs, key=lambda run: places[run.key])))


class _Due(DueEntries):
    """The due jobs of a claim on Redis."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it works with
        self,
        session: RedisSession,
        claims: Claims,
        guard: Guard,
        groups: GroupPlaces,
        herd: HerdStarts,
        now: int,
    ) -> None:
        super().__init__(session, str(guard.node), guard, groups)
        self._redis = session
        self._claims = claims
        self._due_by = layout.time_text(now)
        self._herd = herd
        self._has_frozen = self._has_hidden = False
        self._at_hand: set[str] = set()
        # Part of the cursor's name: when a group has a free place again, the next claim begins at the front.
        self._full_groups = [
            group for group, limit in guard.limits.items() if running(session, group) >= limit
        ]

    def due(self, queue: str, count: int, after: str | None) -> Page[Entry]:
        found: list[FoundRow] = []
        while len(found) < count:
            wanted = min(count - len(found), _MOST_AT_ONCE)
            page = self.look(queue, wanted, after)
            found += page
            if len(page) < wanted:
                break
            after = page[-1][0]
        return DuePage(self._redis, found, self._herd)

    def look(self, queue: str, count: int, after: str | None) -> list[FoundRow]:
        """A page of due jobs. With a count of 0 it only checks whether the node may claim."""
        while True:
            status, facts = self._redis.run_one(
                "look",
                node=self._node,
                claim=self._guard.claim_id,
                asker=self._guard.asker,
                known=len(self._redis.shared.lanes),
                lanes=self._lanes(queue) if count else [],
                count=count,
                after="" if after is None else after[layout.LANE_DIGITS :],
                due_by=self._due_by,
                moment=_AT_HAND,
            )
            if status == "BURIED":
                raise NodeBuriedError(self._node)
            if status == "CLAIMED":
                raise ClaimedElsewhereError
            if status == "LATE":
                return []
            if status == "LANES":
                self._redis.shared.lanes = {
                    text_of(id_): tuple(json.loads(names)) for id_, names in pairs(facts)
                }
            elif status == "FROZEN":
                self._redis.wait_for(facts)
            elif self._is_news(facts[0]) and count:
                continue
            else:
                self._has_frozen = self._has_frozen or bool(facts[1])
                self._has_hidden = self._has_hidden or facts[2] == _HIDDEN
                return self._rows(facts[3:], is_alone=facts[2] == _ALONE)

    def _is_news(self, facts: bytes) -> bool:
        """Whether the node serves other kinds now than this look has used."""
        kinds = rows.read_node(facts).kinds
        is_news = self._claims.kinds.get(self._node, ()) != kinds
        self._claims.kinds[self._node] = kinds
        return is_news

    def _lanes(self, queue: str) -> list[str]:
        kinds = self._claims.kinds.get(self._node, ())
        lanes = self._redis.shared.lanes.items()
        return [lane for lane, (found, kind) in lanes if found == queue and serves(kinds, kind)]

    def _rows(self, words: Sequence[bytes], *, is_alone: bool) -> list[FoundRow]:
        rows = rows_of(words)
        self._redis.learn(definition for _, _, _, definition in rows)
        if not is_alone:
            self._at_hand.update(key for _, key, _, _ in rows)
        return rows

    def write(self) -> Collection[str]:
        keys = self._herd.keys
        if self._at_hand:
            self._at_hand.difference_update(change.key for change in self._changes)
            self._at_hand.difference_update(keys)
        refused = self._herd.flush() if keys else ()
        return {*super().write(), *refused}

    def alike_events(self) -> Sequence[Sequence[Event]]:
        return self._herd.events()

    def let_go(self) -> None:
        """Show other nodes the jobs that this claim has looked at and not written."""
        keys, self._at_hand = list(self._at_hand), set()
        with suppress(RedisError, OSError):  # the server shows them after a short time anyway
            for start in range(0, len(keys), _MOST_AT_ONCE):
                self._redis.ask("HDEL", "hold", *keys[start : start + _MOST_AT_ONCE])

    def sign(self, queue: str) -> Hashable:
        return self._node, *self._lanes(queue), *self._full_groups

    def wait_for_others(self) -> bool:
        """Wait for a short time if other nodes work on due jobs, or if a source is frozen."""
        if self._has_hidden and not self._has_frozen:
            self._has_hidden = False
            threading.Event().wait(_AT_HAND / 1_000_000)
            return True
        if not self._has_frozen:
            return False
        for _ in range(_TURNS):
            if not self._redis.ask("HLEN", "frozen"):
                break
            threading.Event().wait(_TURN)
        self._has_frozen = False
        return True
