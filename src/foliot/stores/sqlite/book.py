"""The book of one call: which jobs it looked at, what was decided, and what is to be written.

A job's record is read into an entry; a decision changes the entry and notes the rows; `flush` writes
them, each kind at once. All of it is inside of one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from heapq import merge
from itertools import islice
from typing import Any

from foliot.errors import DamagedRecordError
from foliot.model.attempt import Attempt, AttemptState
from foliot.model.damage import Damage, damage_of
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.json_text import clean_text
from foliot.model.state import Record, Skip, State
from foliot.stores.sqlite import chain, quick, statement
from foliot.stores.sqlite.codes import EPOCH, UNREADABLE, micros
from foliot.stores.sqlite.definition import Reader, Writer
from foliot.stores.sqlite.flaw import find_flaw
from foliot.stores.sqlite.rows import (
    ORDINAL,
    Row,
    attempt_key,
    attempt_row,
    read_attempt,
    read_state,
    state_row,
)
from foliot.stores.sqlite.shelf import Shelf

_LANE, _NEWEST, _DAMAGE, _STATE = 5, 6, 7, 8
_WAKE_AT = _STATE + 2
_MOST_KEPT = 8192
_NO_STATE = State(0, EPOCH)  # of a job that is new: any other is written
_ENDED, _RUNNING = AttemptState.ENDED, AttemptState.RUNNING


class Desk:
    """What a connection has to work with: itself, the shared texts, and the jobs that were read last.

    `kept` are entries of jobs that this connection has claimed, as they are in the file unless somebody
    else has written to it: their ends come soon. Whatever writes to a job takes it out.
    """

    def __init__(self, connection: sqlite3.Connection, reader: Reader, writer: Writer) -> None:
        self.connection = connection
        self.shelf = Shelf(connection)
        self.reader = reader
        self.writer = writer
        self.kept: dict[str, Entry] = {}
        self._kept_version = 0

    def refresh(self) -> None:
        """Forget the entries that were kept if somebody else has written to the file meanwhile."""
        (version,) = self.connection.execute("PRAGMA data_version").fetchone()
        if version != self._kept_version or len(self.kept) > _MOST_KEPT:
            self.kept.clear()
            self._kept_version = version


class Entry:
    """One job, as it was read and as it was decided about since. `record` is None if it cannot be read."""

    __slots__ = ("damage", "job_no", "key", "newest", "open_rows", "ordinal", "record", "row")

    def __init__(self, row: Row, open_rows: Sequence[Row]) -> None:
        self.row = row
        self.open_rows = open_rows
        self.job_no: int = row[0]
        self.key: str = row[1]
        self.newest: int | None = row[_NEWEST]
        told: str | None = row[_DAMAGE]
        self.damage = None if told is None else Damage(told)
        self.ordinal = -1
        self.record: Record | None = None


class Book:
    """Reads, asks, and writes, for one call."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.connection = desk.connection
        self.shelf = desk.shelf
        self.claim_no: int | None = None
        self._jobs: list[Row] = []
        self._attempts: list[Row] = []
        self._states: list[Row] = []
        self._skips: list[Row] = []
        self.starts: list[Row] = []  # these three are filled by `quick`
        self.moves: list[Row] = []
        self.ends: list[Row] = []

    # -- reading -----------------------------------------------------------------------------------

    def due(self, lanes: Sequence[int], now: int, count: int) -> list[Entry]:
        """The jobs of some lanes that have been due for longest."""
        cursors = [self.connection.execute(statement.DUE, (lane, now, count)) for lane in lanes]
        if len(cursors) == 1:
            rows = cursors[0].fetchall()
        else:
            rows = list(islice(merge(*cursors, key=lambda row: (row[_WAKE_AT], row[0])), count))
            for cursor in cursors:
                cursor.close()
        return self.entries(rows)

    def by_key(self, keys: Iterable[str]) -> dict[str, Entry]:
        """Jobs by their keys, those that are there."""
        return {entry.key: entry for entry in self.entries(self._select(statement.BY_KEY, keys))}

    def recalled(self, keys: set[str]) -> dict[str, Entry]:
        """The same; entries that were kept need not be read again."""
        self.desk.refresh()
        kept = self.desk.kept
        found = {key: kept[key] for key in keys if key in kept}
        missing = keys - found.keys() if len(found) < len(keys) else ()
        return found | self.by_key(missing) if missing else found

    def by_number(self, numbers: Iterable[int]) -> dict[int, Entry]:
        """Jobs by their numbers, those that are there."""
        return {entry.job_no: entry for entry in self.entries(self._select(statement.BY_NUMBER, numbers))}

    def entries(self, rows: list[Row]) -> list[Entry]:
        """The entries of rows, with the open attempts of their jobs."""
        open_rows: dict[int, list[Row]] = {}
        for row in self._select(statement.OPEN_OF_JOBS, [row[0] for row in rows]):
            open_rows.setdefault(row[0], []).append(row)
        return [self._entry(row, open_rows.get(row[0], ())) for row in rows]

    def _select(self, start: str, values: Iterable[object]) -> list[Row]:
        """Rows for distinct values, in no order; a value that was repeated to fill up counts once."""
        found: list[Row] = []
        for chunk in statement.chunks(list(values)):
            found += self.connection.execute(statement.one_of(start, chunk), chunk)
        return found

    def _entry(self, row: Row, open_rows: Sequence[Row]) -> Entry:
        entry = Entry(row, open_rows)
        try:
            job = self.desk.reader.job(row[1], row[2], row[3], self.shelf.policy(row[4]))
            state = read_state(row[_STATE:])
            attempts = self._open_attempts(entry) if open_rows else ()
        except DamagedRecordError as error:
            entry.damage = damage_of(error)
        except UNREADABLE as error:
            entry.damage = damage_of(find_flaw(row[_STATE:], open_rows, error))
        else:
            entry.record = Record(job, state, attempts)
        return entry

    def _open_attempts(self, entry: Entry) -> tuple[Attempt, ...]:
        """In the order they were opened."""
        rows = sorted(entry.open_rows, key=lambda row: row[ORDINAL])
        entry.ordinal = rows[-1][ORDINAL]
        return tuple([read_attempt(row, entry.key, self.shelf) for row in rows])

    # -- deciding ----------------------------------------------------------------------------------

    def decide(self, entry: Entry, decide: Callable[[Record], Decision]) -> Decision | None:
        """Ask, and note the answer. A job that cannot be read or decided about is set aside."""
        record = entry.record
        if record is None:
            self.set_aside(entry, entry.damage or Damage("it cannot be read"))
            return None
        try:
            decision = decide(record)
            self.note(entry, record, decision)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - one bad job must not stop all good ones (rule 6)
            self.set_aside(entry, damage_of(error))
            return None
        return decision

    def set_aside(self, entry: Entry, damage: Damage) -> None:
        """Take a job out of service; it is shown with its damage until it is declared anew."""
        entry.damage = damage
        self.desk.kept.pop(entry.key, None)
        self.connection.execute("UPDATE states SET damage = ? WHERE job_no = ?", (str(damage), entry.job_no))

    def note(self, entry: Entry, record: Record, decision: Decision) -> None:
        """Take a decision over into the entry, and note the rows that it writes."""
        state, attempts, skips, _, is_removed, kept = decision
        if is_removed:
            self.remove(entry)
            return
        is_usual = kept is None and not skips and len(attempts) == 1
        if is_usual and quick.note(self, entry, record, attempts[0], state):
            return
        job, before, open_ones = record
        if kept is not None:
            self.define(entry, job := kept)
        newest = entry.newest
        self.desk.kept.pop(entry.key, None)
        if attempts:
            open_ones = self._note_attempts(entry, open_ones, attempts, state)
        if state is not before or entry.newest != newest:
            self._states.append((*state_row(state), entry.newest, entry.job_no, entry.row[_LANE]))
        if skips:
            self._note_skips(entry, skips)
        entry.record = Record(job, state, open_ones)

    def _note_attempts(
        self, entry: Entry, open_ones: tuple[Attempt, ...], attempts: tuple[Attempt, ...], state: State
    ) -> tuple[Attempt, ...]:
        current = list(open_ones)
        for attempt in attempts:
            key, row = attempt_key(attempt, entry.job_no), attempt_row(attempt, self.shelf)
            claim_no = None
            if self.claim_no is not None and attempt.state is _RUNNING and attempt.token == state.token:
                claim_no, self.claim_no = self.claim_no, self.claim_no + 1
            place = _place(current, attempt)
            if place is not None:
                self._attempts.append((*key, 0, None, claim_no, *row))  # order and link stay as they are
                current[place] = attempt
            else:
                entry.ordinal += 1
                link = self._link(entry, key[0])
                self._attempts.append((*key, entry.ordinal, link, claim_no, *row))
                current.append(attempt)
        return tuple([attempt for attempt in current if attempt.state is not _ENDED])

    def _link(self, entry: Entry, at: int) -> int | None:
        """What an attempt of that moment is to carry, so that it is found again: see `chain`."""
        newest = entry.newest
        if newest is None or at > newest:
            entry.newest = at
            return newest
        if at == newest:
            return None
        self.flush()
        return chain.put_behind_newest(self.connection, entry.job_no, newest, at)

    def _note_skips(self, entry: Entry, skips: tuple[Skip, ...]) -> None:
        for _, first, last, reason in skips:
            self._skips.append((entry.job_no, micros(first), micros(last), clean_text(reason)))

    # -- writing -----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what was noted."""
        for rows, put in (
            (self._jobs, statement.ADD_JOB),
            (self.starts, statement.START),
            (self.moves, statement.MOVE),
            (self.ends, statement.END),
            (self._attempts, statement.PUT_ATTEMPT),
            (self._states, statement.PUT_STATE),
            (self._skips, statement.PUT_SKIP),
        ):
            if rows:
                put.execute(self.connection, rows)
                rows.clear()

    def remove(self, entry: Entry) -> None:
        """Forget a job altogether, with its history."""
        self.flush()
        job = (entry.job_no,)
        chain.forget_outputs(self.connection, entry.key, chain.attempts_of(self.connection, entry.job_no))
        chain.forget_all(self.connection, entry.job_no)
        self.connection.execute("DELETE FROM skips WHERE job_no = ?", job)
        self.connection.execute("DELETE FROM states WHERE job_no = ?", job)
        self.connection.execute("DELETE FROM jobs WHERE job_no = ?", job)
        self.desk.kept.pop(entry.key, None)
        entry.record, entry.damage = None, None

    # -- definitions -------------------------------------------------------------------------------

    def add(self, job: Job, job_no: int, decision: Decision) -> Entry:
        """A job that is new."""
        frame, data, policy = self.desk.writer.texts(job)
        definition = (job_no, job.key, frame, data, self.shelf.policy_number(policy))
        lane = self.shelf.lane_number(job.queue, job.action.kind)
        entry = Entry((*definition, lane, None, None), ())
        self._jobs.append(definition)
        self.note(entry, Record(job, _NO_STATE), decision)
        return entry

    def redefine(self, entry: Entry, job: Job, record: Record, decision: Decision) -> None:
        """A job that is there already is declared, and its damage is over."""
        if decision.job is None:
            self.define(entry, job)
        self.note(entry, record._replace(job=job), decision)

    def define(self, entry: Entry, job: Job) -> None:
        """Write the definition of a job if it differs from what is there, or was damaged."""
        frame, data, policy = self.desk.writer.texts(job)
        definition = (frame, data, self.shelf.policy_number(policy))
        lane = self.shelf.lane_number(job.queue, job.action.kind)
        if definition != entry.row[2:5]:
            self.flush()  # it may have been added in the same breath
            self.connection.execute(statement.CHANGE_JOB, (*definition, entry.job_no))
        if lane != entry.row[_LANE] or entry.damage is not None:
            self.flush()
            self.connection.execute(statement.CHANGE_LANE, (lane, entry.job_no))
        entry.row = (*entry.row[:2], *definition, lane, *entry.row[_NEWEST:])
        entry.damage = None

    def begin_anew(self, entry: Entry, job: Job, decision: Decision) -> None:
        """A job of which not even the state could be read: it is as if it were new."""
        self.redefine(entry, job, Record(job, _NO_STATE), decision)

    def salvage(self, entry: Entry, job: Job) -> Record | None:
        """What can be read of a damaged job, as if it had been the job that is declared now.

        Open attempts that cannot be read are dropped: nobody could ever end them.
        """
        good = [row for row in entry.open_rows if self._is_readable(entry, row)]
        bad = [row for row in entry.open_rows if row not in good]
        if bad:
            rows = chain.attempts_of(self.connection, entry.job_no)
            entry.newest = chain.forget(self.connection, entry.job_no, rows, bad)
        entry.open_rows = good
        try:
            state = read_state(entry.row[_STATE:])
            return Record(job, state, self._open_attempts(entry) if good else ())
        except UNREADABLE:
            return None

    def _is_readable(self, entry: Entry, row: Row) -> bool:
        try:
            read_attempt(row, entry.key, self.shelf)
        except UNREADABLE:
            return False
        return True


def _place(attempts: list[Any], wanted: Attempt) -> int | None:
    """Where an attempt of the same run and number stands."""
    for place, attempt in enumerate(attempts):
        if (
            attempt.number == wanted.number
            and attempt.scheduled_for == wanted.scheduled_for
            and attempt.request == wanted.request
        ):
            return place
    return None
