"""A claim, from what is due to what has started. The batch of the dialect finds and locks the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from foliot.model.attempt import Attempt
from foliot.model.deciding import DecidesAlike
from foliot.model.decision import Decision, Event, Happening, set_aside
from foliot.model.events import joined
from foliot.model.run import Run
from foliot.model.state import Record
from foliot.protocols import Claimed, Clock, DecideDue
from foliot.stores.matching import decide_once, started_by
from foliot.stores.sql.batch import WriteBatch
from foliot.stores.sql.claim_cursor import FIRST, ClaimCursor
from foliot.stores.sql.codes import whole
from foliot.stores.sql.entry import Entry
from foliot.stores.sql.herd import Herds, HerdStarts

MOST_LOOKS = 2000
MOST_STARTS = 4000
PLACES = 4096  # more than a claim can start
LONGEST = 0.25  # seconds: other calls wait for a claim, and what takes too long is given up, and undone
_AT_ONCE = 500  # where many are passed over
_MOST_TOLD = 1000


def _may_come_again(entry: Entry) -> bool:
    """Whether its next occurrence is no later than the newest attempt, as when the clock was set back."""
    next_at = entry.record.state.next_at if entry.record else None
    return next_at is not None and isinstance(entry.newest, int) and whole(next_at) <= entry.newest


class Asked(NamedTuple):
    """What a node asks for."""

    node: str
    now: datetime
    room: Mapping[str, int]
    decide: DecideDue
    claim_id: str


def answer_again(batch: WriteBatch, held: Iterable[tuple[Attempt, int]], claim_no: int) -> Claimed:
    """What a claim started, as far as it has not ended: of what a node holds, each with its place."""
    ours = sorted((pair for pair in held if pair[1] // PLACES == claim_no), key=itemgetter(1))
    entries = batch.by_key({attempt.job for attempt, _ in ours})
    known = ((entries[attempt.job].record, attempt) for attempt, _ in ours if attempt.job in entries)
    return Claimed(tuple(Run(record.job, attempt) for record, attempt in known if record is not None))


class Claimer:
    """One claim under way."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it works with
        self,
        batch: WriteBatch,
        cursor: ClaimCursor,
        asked: Asked,
        clock: Clock,
        herds: Herds,
        node_no: int,
    ) -> None:
        self._batch = batch
        self._cursor = cursor
        self._clock = clock
        self._until = clock.monotonic() + LONGEST
        self._node, self._now, self._room, self._decide, _ = asked
        self._started: list[Run] = []
        self._events: list[Event] = []
        self._passed: set[int] = set()
        self._looks = 0
        self._share = 2  # one job gets so small a part of the room
        self._herd: HerdStarts | None = None
        if isinstance(asked.decide, DecidesAlike) and not batch.is_careful:
            herds.use(asked.decide)
            self._herd = HerdStarts(batch.dialect, herds, asked.node, node_no, asked.now)

    def claim(self, lanes: Mapping[str, Sequence[int]]) -> Claimed:
        """Start what is due in the lanes of each queue, as far as there is room."""
        queues = [queue for queue, free in self._room.items() if free > 0 and lanes.get(queue)]
        first = (self._batch.claim_no or 0) // PLACES % len(queues) if queues else 0
        # Each claim begins with another queue: one that takes all the time must not starve the others.
        asked = {queue: lanes[queue] for queue in queues[first:] + queues[:first]}
        self._claim_from_all(asked)
        if asked and not self._looks and not self._passed:  # others may leave some of what they have
            together = [lane for queue in asked.values() for lane in queue]
            if self._batch.wait_for_others(together, whole(self._now)):
                self._claim_from_all(asked)
        started = self._herd.events() if self._herd is not None else ()
        return Claimed(tuple(self._started), joined(self._events, *started), more=self._is_enough)

    @property
    def _is_enough(self) -> bool:
        """Whether the rest is for the next claim."""
        return (
            self._looks >= MOST_LOOKS
            or len(self._started) >= MOST_STARTS
            or (self._looks > 0 and self._clock.monotonic() >= self._until)
        )

    def _claim_from_all(self, lanes: Mapping[str, Sequence[int]]) -> None:
        for queue, numbers in lanes.items():
            self._claim_from(numbers, min(len(self._started) + self._room[queue], MOST_STARTS))

    def _claim_from(self, lanes: Sequence[int], most: int) -> None:
        """Look at what has been due for longest, until there is no room or nothing due."""
        claims, passed, self._share = (self._node, *lanes), 0, 2
        begun = after = self._cursor.start(claims)
        while (room := most - len(self._started)) > 0 and passed < MOST_LOOKS and not self._is_enough:
            count = min(max(room, _AT_ONCE) if passed else room, MOST_LOOKS - self._looks)
            entries = self._batch.due(lanes, whole(self._now), count, after)
            looked = self._look_at(entries, most)
            self._batch.flush()
            if self._herd is not None:
                self._herd.flush()
            if not looked:
                return
            passed_now = self._count_passed(looked)
            passed += passed_now
            if len(entries) == count:
                self._cursor.end(claims, looked[-1].place, len(looked), passed_now)
                after = looked[-1].place if passed_now else after
            elif begun != FIRST:
                self._cursor.forget(claims)
                begun = after = FIRST  # what is in front has its turn
            elif any(map(self._is_due_again, entries)):
                after, self._share = FIRST, 1  # every other job that is due has had its turn
            else:
                return  # that was all: nobody need ask once more

    def _look_at(self, entries: list[Entry], most: int) -> list[Entry]:
        """Those that were looked at before there was no more room."""
        for number, entry in enumerate(entries):
            room = most - len(self._started)
            if room <= 0 or self._is_enough:
                return entries[:number]
            if entry.job_no not in self._passed:
                self._look(entry, room)
        return entries

    def _look(self, entry: Entry, room: int) -> None:
        """One job gets at most half of the room at first, so that jobs behind it get some, too."""
        if self._herd is not None and not entry.open_rows and self._start_with_its_herd(self._herd, entry):
            return
        self._batch.read(entry)
        if entry.is_unknown_here:
            self._pass_over(entry)
            return
        record = entry.record
        share = max(1, room // self._share)
        decide = partial(self._decide_once, entry) if _may_come_again(entry) else self._decide
        decision = self._batch.decide(entry, decide, self._now, self._node, share)
        if record is not None and decision is not None and decision.is_nothing(record):
            self._passed.add(entry.job_no)
            return
        self._looks += 1
        if decision is None or record is None:
            self._events.append(set_aside(entry.key, self._now, entry.damage))
            return
        self._events += decision.events
        self._started += (Run(record.job, attempt) for attempt in started_by(decision, record))

    def _start_with_its_herd(self, starts: HerdStarts, entry: Entry) -> bool:
        place = self._batch.claim_no
        run = None if place is None else starts.take(entry.row, place)
        if place is None or run is None:
            return False
        self._batch.claim_no = place + 1
        self._looks += 1
        self._started.append(run)
        return True

    def _pass_over(self, entry: Entry) -> None:
        """This node does not understand the definition. That is told once."""
        self._passed.add(entry.job_no)
        told = self._batch.told
        if entry.key not in told and len(told) < _MOST_TOLD:
            told.add(entry.key)
            self._events.append(Event(Happening.PASSED_OVER, entry.key, self._now, str(entry.damage)))

    def _decide_once(self, entry: Entry, record: Record, now: datetime, node: str, most: int) -> Decision:
        return decide_once(self._decide, partial(self._batch.has_run, entry), now, node, most, record)

    def _count_passed(self, entries: list[Entry]) -> int:
        return sum(entry.job_no in self._passed for entry in entries) if self._passed else 0

    def _is_due_again(self, entry: Entry) -> bool:
        """Whether a job that was decided about is to be looked at once more."""
        wake_at = entry.record.state.wake_at if entry.record and not entry.damage else None
        return wake_at is not None and wake_at <= self._now and entry.job_no not in self._passed
