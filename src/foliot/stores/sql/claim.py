"""Claims on a SQL database. The batch of the dialect finds and locks the rows of due jobs."""

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
from foliot.stores.claim_loop import DueJobs, Page
from foliot.stores.herd import Herds
from foliot.stores.matching import started_by
from foliot.stores.sql.batch import WriteBatch
from foliot.stores.sql.codes import whole
from foliot.stores.sql.entry import DUE_AT, FIRST, Entry, Place
from foliot.stores.sql.group_rows import GroupRows
from foliot.stores.sql.herd import HerdStarts
from foliot.stores.sql.rows import Row

PLACES = 4096  # more than a claim can start


class Asked(NamedTuple):
    """The arguments of a claim."""

    node: str
    now: datetime
    room: Mapping[str, int]
    decide: DecideDue
    claim_id: str
    limits: Mapping[str, int] = NO_LIMITS


def answer_again(batch: WriteBatch, held: Iterable[tuple[Attempt, int]], claim_no: int) -> Claimed:
    """The open attempts that a claim started. `held`: the attempts of the node, each with its place."""
    ours = sorted((pair for pair in held if pair[1] // PLACES == claim_no), key=itemgetter(1))
    entries = batch.by_key({attempt.job for attempt, _ in ours})
    known = ((entries[attempt.job].record, attempt) for attempt, _ in ours if attempt.job in entries)
    return Claimed(tuple(Run(record.job, attempt) for record, attempt in known if record is not None))


class DuePage(Page[Entry]):
    """Due jobs, with the columns that a herd needs. A job that does not start with a herd is read."""

    def __init__(self, batch: WriteBatch, rows: Sequence[Row], herd: HerdStarts | None) -> None:
        self._batch = batch
        self._rows = rows
        self._herd = herd
        self._entries: dict[int, Entry] = {}
        self._apart = batch.busy([row[0] for row in rows]) if rows else set()  # busy jobs are read one by one
        if batch.is_careful and herd is not None:
            self._apart |= herd.find_started(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def key(self, number: int) -> str:
        key: str = self._rows[number][1]
        return key

    def job(self, number: int) -> Entry:
        job_no: int = self._rows[number][0]
        if job_no not in self._entries:  # read all jobs of the page that need it, in one query
            others = [row[0] for row in self._rows[number:] if not self._is_alike(row)]
            self._entries = self._batch.by_number({job_no, *others})
        return self._entries[job_no]

    def _is_alike(self, row: Row) -> bool:
        return self._herd is not None and row[0] not in self._apart and self._herd.has(row)

    def place(self, number: int) -> Place:
        row = self._rows[number]
        return Place(row[DUE_AT], row[0])

    def start_alike(self, first: int, most: int) -> Sequence[Run]:
        place = self._batch.claim_no
        if self._herd is None or place is None:
            return ()
        runs = self._herd.take(self._rows[first : first + most], self._apart, place)
        self._batch.claim_no = place + len(runs)
        return runs


class DueEntries(DueJobs[Entry]):
    """The due jobs of a claim: entries of a batch, and herds that start together."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it works with
        self,
        batch: WriteBatch,
        lanes: Mapping[str, Sequence[int]],
        asked: Asked,
        herds: Herds | None,
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
        if isinstance(asked.decide, DecidesAlike) and herds is not None:
            herds.use(asked.decide)
            self._herd = HerdStarts(batch.dialect, herds, asked.node, node_no, asked.now)

    def due(self, queue: str, count: int, after: Place | None) -> DuePage:
        rows = self._batch.due(self._lanes[queue], self._now, count, after or FIRST)
        return DuePage(self._batch, rows, self._herd)

    def sign(self, queue: str) -> Row:
        """The name of the cursor. If a group has a free place again, a new name begins at the front."""
        return (self._node, *self._lanes[queue], *self._full_groups)

    def alike_events(self) -> Sequence[Sequence[Event]]:
        return () if self._herd is None else self._herd.events()

    def has_run(self, job: Entry, attempt: Attempt) -> bool:
        return self._batch.has_run(job, attempt)

    def may_have_run(self, job: Entry) -> bool:
        """Whether its next occurrence may have an attempt already: it is not later than the newest one."""
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
