"""What a SQL store brings to a claim. The batch of the dialect finds and locks the rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from foliot.model.attempt import Attempt
from foliot.model.deciding import DecidesAlike
from foliot.model.decision import Decision, Event
from foliot.model.run import Run
from foliot.model.state import Record
from foliot.protocols import NO_LIMITS, Claimed, DecideDue
from foliot.stores.claim_loop import DueJobs
from foliot.stores.matching import started_by
from foliot.stores.sql.batch import WriteBatch
from foliot.stores.sql.codes import whole
from foliot.stores.sql.entry import FIRST, Entry, Place
from foliot.stores.sql.group_rows import GroupRows
from foliot.stores.sql.herd import Herds, HerdStarts
from foliot.stores.sql.rows import Row

PLACES = 4096  # more than a claim can start


class Asked(NamedTuple):
    """What a node asks for."""

    node: str
    now: datetime
    room: Mapping[str, int]
    decide: DecideDue
    claim_id: str
    limits: Mapping[str, int] = NO_LIMITS


def answer_again(batch: WriteBatch, held: Iterable[tuple[Attempt, int]], claim_no: int) -> Claimed:
    """What a claim started, as far as it has not ended: of what a node holds, each with its place."""
    ours = sorted((pair for pair in held if pair[1] // PLACES == claim_no), key=itemgetter(1))
    entries = batch.by_key({attempt.job for attempt, _ in ours})
    known = ((entries[attempt.job].record, attempt) for attempt, _ in ours if attempt.job in entries)
    return Claimed(tuple(Run(record.job, attempt) for record, attempt in known if record is not None))


class DueEntries(DueJobs[Entry]):
    """What a SQL store brings to the claim loop: entries of a batch, and herds that start together."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it works with
        self,
        batch: WriteBatch,
        lanes: Mapping[str, Sequence[int]],
        asked: Asked,
        herds: Herds,
        node_no: int,
        groups: GroupRows,
    ) -> None:
        self._groups = groups
        self._full_groups = groups.full(asked.limits)
        self._batch = batch
        self._lanes = lanes
        self._node = asked.node
        self._now = whole(asked.now)
        self._herd: HerdStarts | None = None
        if isinstance(asked.decide, DecidesAlike) and not batch.is_careful:
            herds.use(asked.decide)
            self._herd = HerdStarts(batch.dialect, herds, asked.node, node_no, asked.now)

    def due(self, queue: str, count: int, after: Place | None) -> Sequence[Entry]:
        return self._batch.due(self._lanes[queue], self._now, count, after or FIRST)

    def sign(self, queue: str) -> Row:
        """A group that has free places again is looked at from its longest due job on."""
        return (self._node, *self._lanes[queue], *self._full_groups)

    def start_alike(self, job: Entry) -> Run | None:
        place = self._batch.claim_no
        if self._herd is None or job.open_rows or place is None:
            return None
        run = self._herd.take(job.row, place)
        if run is not None:
            self._batch.claim_no = place + 1
        return run

    def alike_events(self) -> Sequence[Sequence[Event]]:
        return () if self._herd is None else self._herd.events()

    def read(self, job: Entry) -> None:
        self._batch.read(job)

    def has_run(self, job: Entry, attempt: Attempt) -> bool:
        return self._batch.has_run(job, attempt)

    def may_have_run(self, job: Entry) -> bool:
        """Whether its next occurrence is no later than the newest attempt."""
        next_at = job.record.state.next_at if job.record else None
        return next_at is not None and isinstance(job.newest, int) and whole(next_at) <= job.newest

    def decide(self, job: Entry, ask: Callable[[Record], Decision]) -> Decision | None:
        record, decision = job.record, self._batch.decide(job, ask)
        if record is not None and decision is not None and record.job.group is not None:
            self._groups.add(record.job.group, job.job_no, started_by(decision, record))
        return decision

    def write(self) -> Collection[str]:
        self._batch.flush()
        self._groups.flush()
        if self._herd is not None:
            self._herd.flush()
        return ()  # each of them was locked before it was read

    def wait_for_others(self) -> bool:
        lanes = [lane for numbers in self._lanes.values() for lane in numbers]
        return self._batch.wait_for_others(lanes, self._now)
