"""Claims, finishes and recovery: what becomes of attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from foliot.model.attempt import Attempt, Ending
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import Claimed, DecideDue, DecideEnded, DecideLost, Finished, Recovered, Refused
from foliot.stores.matching import swap_end, swap_loss
from foliot.stores.postgres import life
from foliot.stores.postgres.book import Book, Desk, Entry
from foliot.stores.sqlite.codes import whole
from foliot.stores.sqlite.rows import Row, request_text

MOST_LOOKS = 2000
_PLACES = 4096  # more than a claim can start
_NOT_HELD = "the attempt is not open under that node and token"
_ASKED_BEFORE = "SELECT claim_no FROM claims WHERE claim_id = %s AND node_no = %s"
_REMEMBER = "INSERT INTO claims (claim_no, claim_id, node_no, kept_until) VALUES (%s, %s, %s, %s)"
_LOST = """
    SELECT a.job_no, a.scheduled_for, a.request, a.number
    FROM attempts AS a JOIN states AS s ON s.job_no = a.job_no
    WHERE a.node_no = %s AND a.state IN (1, 2) AND s.damage IS NULL LIMIT %s
"""


# -- claims ----------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """What a node asks for."""

    node: str
    now: datetime
    room: Mapping[str, int]
    decide: DecideDue
    claim_id: str


def claim(desk: Desk, asked: Asked, lease: timedelta, told: int | None) -> Claimed:
    """Start what is due, and remember the claim if it has started something."""
    alive = life.living(desk, asked.node, told)
    before = desk.connection.execute(_ASKED_BEFORE, (asked.claim_id, alive.node_no))
    lanes = desk.shelf.lanes(asked.room, alive.kinds)
    row = before.fetchone()
    if row is not None:
        return _answer_again(desk, alive.node_no, row[0])
    if alive.now >= alive.lease_until:
        return Claimed()  # the lease has run out: nothing is claimed until it is renewed
    claimer = _Claimer(desk, asked, alive.claim_no)
    claimed = claimer.claim(lanes)
    if claimed.attempts:
        kept_until = alive.now + lease // timedelta(microseconds=1)
        desk.connection.execute(_REMEMBER, (alive.claim_no, asked.claim_id, alive.node_no, kept_until))
    return claimed


def _answer_again(desk: Desk, node_no: int, claim_no: int) -> Claimed:
    """What a claim started, as far as it has not ended."""
    held = sorted(life.held_by(desk, node_no), key=itemgetter(1))
    attempts = [attempt for attempt, place in held if place // _PLACES == claim_no]
    entries = Book(desk, locks=False).by_key({attempt.job for attempt in attempts})
    records = {key: entry.record for key, entry in entries.items()}
    return Claimed(
        tuple((record.job, attempt) for attempt in attempts if (record := records.get(attempt.job)))
    )


class _Claimer:
    """One claim under way."""

    def __init__(self, desk: Desk, asked: Asked, claim_no: int) -> None:
        self._desk = desk
        self._book = Book(desk)
        self._book.claim_no = claim_no * _PLACES
        self._node, self._now, self._room, self._decide, _ = asked
        self._started: list[tuple[Job, Attempt]] = []
        self._events: list[Event] = []
        self._held: list[Entry] = []
        self._looks = 0

    def claim(self, lanes: Mapping[str, list[int]]) -> Claimed:
        for queue, free in self._room.items():
            if queue in lanes:
                self._claim_from(lanes[queue], len(self._started) + free)
        self._desk.memory.keep_claimed(self._book.mark, self._held)
        return Claimed(tuple(self._started), tuple(self._events), more=self._looks >= MOST_LOOKS)

    def _claim_from(self, lanes: list[int], most: int) -> None:
        """Look at what has been due for longest, until there is no room or nothing due."""
        while (count := min(most - len(self._started), MOST_LOOKS - self._looks)) > 0:
            entries = self._book.due(lanes, whole(self._now), count)
            if not entries and not self._looks:
                entries = self._book.due_in_spite_of_others(lanes, whole(self._now))
            for entry in entries:
                self._look(entry)
            self._looks += len(entries)
            self._book.flush()
            if len(entries) < count and not any(map(self._is_due, entries)):
                return  # that was all: nobody need ask once more

    def _is_due(self, entry: Entry) -> bool:
        wake_at = entry.record.state.wake_at if entry.record and not entry.damage else None
        return wake_at is not None and wake_at <= self._now

    def _look(self, entry: Entry) -> None:
        record = entry.record
        decision = self._book.decide(entry, self._ask)
        if decision is None or record is None:
            return
        self._events += decision.events
        token = record.state.token
        for attempt in decision.attempts:
            if attempt.token > token and attempt.is_running:
                self._started.append((record.job, attempt))
                self._held.append(entry)

    def _ask(self, record: Record) -> Decision:
        return self._decide(record, self._now, self._node)


# -- finishes --------------------------------------------------------------------------------------


def finish(desk: Desk, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded) -> Finished:
    """Record how attempts ended; one counts only if it is open under its own node and token."""
    check = life.hold(desk, node)
    book = Book(desk)
    entries = book.recalled({ending.job for ending in endings})
    check()
    refused: list[Refused] = []
    events: list[Event] = []
    for ending in endings:
        entry = entries.get(ending.job)
        record = entry.record if entry is not None else None
        if entry is None or record is None or not _is_held(record, ending, node):
            refused.append(Refused(ending, _NOT_HELD))
            continue
        decision = book.decide(entry, partial(swap_end, decide, ending, now))
        if decision is None:
            refused.append(Refused(ending, "the job was set aside"))
        else:
            events += decision.events
    book.flush()
    return Finished(tuple(refused), tuple(events))


def _is_held(record: Record, ending: Ending, node: str) -> bool:
    for attempt in record.attempts:
        if (
            attempt.number == ending.number
            and attempt.token == ending.token
            and attempt.node == node
            and attempt.is_running
            and attempt.run_key == ending.run_key
        ):
            return True
    return False


# -- recovery --------------------------------------------------------------------------------------


def recover(desk: Desk, limit: int, now: datetime, decide: DecideLost, told: int | None) -> Recovered:
    """Bury the dead; what they held is lost, at most so much of it."""
    life.bury(desk, told)
    lost: list[Row] = []
    for node_no in life.dead_holders(desk):
        lost += desk.connection.execute(_LOST, (node_no, limit + 1 - len(lost)), binary=True).fetchall()
        if len(lost) > limit:
            break
    events: list[Event] = []
    if lost:
        book = Book(desk)
        entries = book.by_number({row[0] for row in lost[:limit]})
        for row in lost[:limit]:
            decision = _lose(book, entries.get(row[0]), row, now, decide)
            events += decision.events if decision else ()
        book.flush()
    life.forget_dead(desk)
    return Recovered(tuple(events), more=len(lost) > limit)


def _lose(book: Book, entry: Entry | None, row: Row, now: datetime, decide: DecideLost) -> Decision | None:
    """One attempt of a job is lost; None if the job is set aside, or the attempt has ended meanwhile."""
    if entry is None:
        return None
    if entry.record is None:
        return book.decide(entry, partial(swap_loss, decide, "", 0, now)) if entry.damage else None
    wanted = row[1:]
    for attempt in entry.record.attempts:
        if (whole(attempt.scheduled_for), request_text(attempt.request), attempt.number) == wanted:
            return book.decide(entry, partial(swap_loss, decide, attempt.run_key, attempt.number, now))
    return None
