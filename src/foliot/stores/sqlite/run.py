"""Claims, finishes and recovery: what becomes of attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from foliot.model.attempt import Attempt, Ending
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import Claimed, DecideDue, DecideEnded, DecideLost, Finished, Recovered, Refused
from foliot.stores.sqlite import life
from foliot.stores.sqlite.book import Book, Desk, Entry
from foliot.stores.sqlite.codes import whole
from foliot.stores.sqlite.rows import Row, request_text

MOST_LOOKS = 2000
_PLACES = 4096  # more than a claim can start
_NOT_HELD = "the attempt is not open under that node and token"
_LOST = """
    SELECT a.job_no, a.scheduled_for, a.request, a.number
    FROM attempts AS a INDEXED BY attempts_held CROSS JOIN states AS s ON s.job_no = a.job_no
    WHERE a.node_no = ? AND a.state IN (1, 2) AND s.damage IS NULL LIMIT ?
"""

Started = list[tuple[Job, Attempt]]


# -- claims ----------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """What a node asks for."""

    node: str
    now: datetime
    room: Mapping[str, int]
    decide: DecideDue
    claim_id: str


def claim(desk: Desk, asked: Asked, store_now: datetime, lease: timedelta) -> Claimed:
    """Start what is due, and remember the claim if it has started something."""
    alive = life.living(desk, asked.node)
    before = desk.connection.execute(
        "SELECT claim_no FROM claims WHERE claim_id = ? AND node_no = ?", (asked.claim_id, alive.node_no)
    ).fetchone()
    if before is not None:
        return _answer_again(desk, alive.node_no, before[0])
    if whole(store_now) >= alive.lease_until:
        return Claimed()  # the lease has run out: nothing is claimed until it is renewed
    desk.refresh()
    book = Book(desk)
    claimer = _Claimer(book, asked, (asked.claim_id, alive.node_no, whole(store_now + lease)))
    lanes = {queue: (desk.shelf.lanes(queue, alive.kinds), free) for queue, free in asked.room.items()}
    claimed = claimer.claim(lanes)
    if book.claim_no is not None and not claimed.attempts:
        desk.connection.execute("DELETE FROM claims WHERE claim_no = ?", (book.claim_no // _PLACES,))
    return claimed


def _answer_again(desk: Desk, node_no: int, claim_no: int) -> Claimed:
    """What a claim started, as far as it has not ended."""
    held = sorted(life.held_by(desk, node_no), key=itemgetter(1))
    attempts = [attempt for attempt, place in held if place // _PLACES == claim_no]
    entries = Book(desk).by_key({attempt.job for attempt in attempts})
    records = {key: entry.record for key, entry in entries.items()}
    return Claimed(
        tuple((record.job, attempt) for attempt in attempts if (record := records.get(attempt.job)))
    )


class _Claimer:
    """One claim under way."""

    def __init__(self, book: Book, asked: Asked, remembered: tuple[str, int, int]) -> None:
        self._book = book
        self._node, self._now, _, self._decide, _ = asked
        self._remembered = remembered
        self._started: Started = []
        self._events: list[Event] = []
        self._looks = 0

    def claim(self, room: Mapping[str, tuple[list[int], int]]) -> Claimed:
        for lanes, free in room.values():
            if lanes:
                self._claim_from(lanes, len(self._started) + free)
        return Claimed(tuple(self._started), tuple(self._events), more=self._looks >= MOST_LOOKS)

    def _claim_from(self, lanes: list[int], most: int) -> None:
        """Look at what has been due for longest, until there is no room or nothing due."""
        while (count := min(most - len(self._started), MOST_LOOKS - self._looks)) > 0:
            entries = self._book.due(lanes, whole(self._now), count)
            if not entries:
                return
            self._remember()
            for entry in entries:
                self._look(entry)
            self._looks += len(entries)
            self._book.flush()

    def _remember(self) -> None:
        if self._book.claim_no is None:
            cursor = self._book.connection.execute(
                "INSERT INTO claims (claim_id, node_no, kept_until) VALUES (?, ?, ?)", self._remembered
            )
            self._book.claim_no = (cursor.lastrowid or 0) * _PLACES

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
                self._book.desk.kept[entry.key] = entry

    def _ask(self, record: Record) -> Decision:
        return self._decide(record, self._now, self._node)


# -- finishes --------------------------------------------------------------------------------------


def finish(desk: Desk, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded) -> Finished:
    """Record how attempts ended; one counts only if it is open under its own node and token."""
    life.living(desk, node)
    book = Book(desk)
    entries = book.recalled({ending.job for ending in endings})
    refused: list[Refused] = []
    events: list[Event] = []
    for ending in endings:
        entry = entries.get(ending.job)
        record = entry.record if entry is not None else None
        if entry is None or record is None or not _is_held(record, ending, node):
            refused.append(Refused(ending, _NOT_HELD))
            continue
        decision = book.decide(entry, lambda record, ending=ending: decide(record, ending, now))  # type: ignore[misc]
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


def recover(book: Book, holders: Sequence[int], limit: int, now: datetime, decide: DecideLost) -> Recovered:
    """What the dead held is lost, at most so much of it."""
    lost: list[Row] = []
    for node_no in holders:
        lost += book.connection.execute(_LOST, (node_no, limit + 1 - len(lost))).fetchall()
        if len(lost) > limit:
            break
    events: list[Event] = []
    entries = book.by_number({row[0] for row in lost[:limit]})
    for row in lost[:limit]:
        decision = _lose(book, entries[row[0]], row, partial(_swapped, decide, now))
        events += decision.events if decision else ()
    book.flush()
    return Recovered(tuple(events), more=len(lost) > limit)


def _lose(
    book: Book, entry: Entry, row: Row, decide: Callable[[str, int, Record], Decision]
) -> Decision | None:
    """One attempt of a job is lost; None if the job is set aside, or gone meanwhile."""
    if entry.record is None:
        return book.decide(entry, partial(decide, "", 0)) if entry.damage else None
    wanted = row[1:]
    for attempt in entry.record.attempts:
        if (whole(attempt.scheduled_for), request_text(attempt.request), attempt.number) == wanted:
            return book.decide(entry, partial(decide, attempt.run_key, attempt.number))
    return None


def _swapped(decide: DecideLost, now: datetime, run_key: str, number: int, record: Record) -> Decision:
    return decide(record, run_key, number, now)
