"""The book of one call: which jobs it looked at, what was decided, and what is to be written.

A job's record is read into an entry; a decision changes the entry and notes the rows; `flush` writes
them, each kind at once. All of it is inside of one transaction. How rows are found and written is told by
the book of each dialect.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from foliot.errors import DamagedRecordError
from foliot.model.attempt import Attempt, AttemptState
from foliot.model.damage import Damage, Flaw, damage_of
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.json_text import clean_text
from foliot.model.state import Record, Skip, State
from foliot.stores.sql import quick
from foliot.stores.sql.codes import EPOCH, UNREADABLE, micros
from foliot.stores.sql.definition import Reader, Writer
from foliot.stores.sql.flaw import find_flaw
from foliot.stores.sql.rows import (
    ORDINAL,
    Names,
    Row,
    attempt_key,
    attempt_row,
    new,
    read_attempt,
    read_state,
    state_row,
)
from foliot.stores.sql.sweep import Place

# Where an entry's row has what; the state's columns are the last.
LANE, NEWEST, DAMAGE, STATE = 5, 6, 7, 8
WAKE_AT, REMOVED_AT = STATE + 2, STATE + 6

# Of a state whose job is not there. As long as it was due it would be in the way of all behind it.
STRAY = str(Damage("its definition is missing", Flaw.MISSING))
MOST_STRAY_ROUNDS = 9  # the rest is for the next claim: what was set aside so far is to be committed

_NO_STATE = State(0, EPOCH)  # of a job that is new: any other is written
_ENDED, _RUNNING = AttemptState.ENDED, AttemptState.RUNNING


class Shelf(Names, Protocol):
    """Texts that many rows share, under small numbers."""

    def policy(self, number: int) -> str:
        """The text of a policy; LookupError if there is none."""
        ...

    def policy_number(self, text: str) -> int:
        """The number of a policy's text, which is written if it is new."""
        ...

    def lane_number(self, queue: str, kind: str) -> int:
        """The number of a lane, which is written if it is new."""
        ...


class Entry:
    """One job, as it was read and as it was decided about since. `record` is None if it cannot be read."""

    __slots__ = ("damage", "job_no", "key", "newest", "open_rows", "ordinal", "record", "row")

    def __init__(self, row: Row, open_rows: Sequence[Row]) -> None:
        self.row = row
        self.open_rows = open_rows
        self.job_no: int = row[0]
        self.key: str = row[1]
        self.newest: int | None = row[NEWEST]
        told: str | None = row[DAMAGE]
        self.damage = None if told is None else Damage(told)
        self.ordinal = -1
        self.record: Record | None = None

    @property
    def place(self) -> Place:
        """Where it stood in the order of what is due."""
        return Place(self.row[WAKE_AT], self.job_no)


class Book(ABC):
    """Reads, asks, and writes, for one call.

    `kept` are entries that may be used by later calls: whatever writes to a job takes its entry out.
    `trouble` is what the driver raises: it is no fault of a job's. `stride`: after so many decisions it is
    worth writing, while more are made. `is_careful`: the last attempt at this failed, perhaps by a state that
    does not know its newest attempt; so each start is looked up before it is noted.
    """

    trouble: type[Exception]
    stride = 10_000

    def __init__(self, shelf: Shelf, reader: Reader, writer: Writer, kept: dict[str, Entry]) -> None:
        self.shelf = shelf
        self.kept = kept
        self.claim_no: int | None = None
        self.is_careful = False
        self._decisions = 0
        self._reader = reader
        self._writer = writer
        self._jobs: list[Row] = []
        self._attempts: list[Row] = []
        self._states: list[Row] = []
        self._skips: list[Row] = []
        self.starts: list[Row] = []  # these three are filled by `quick`
        self.moves: list[Row] = []
        self.ends: list[Row] = []

    # -- what the dialect brings -------------------------------------------------------------------

    @abstractmethod
    def due(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Entry]:
        """The jobs of some lanes that have been due for longest, after a place; nobody else has them.

        They are not read yet.
        """

    @abstractmethod
    def wait_for_others(self, lanes: Sequence[int], now: int) -> bool:
        """Whether others have something at hand that is due; if so, they were given a moment."""

    @abstractmethod
    def by_key(self, keys: Iterable[str]) -> dict[str, Entry]:
        """Jobs by their keys, those that are there."""

    @abstractmethod
    def _has_attempt(self, key: Row) -> bool:
        """Whether there is an attempt of that key, open or ended."""

    @abstractmethod
    def flush(self) -> None:
        """Write what was noted."""

    @abstractmethod
    def set_aside(self, entry: Entry, damage: Damage) -> None:
        """Take a job out of service; it is shown with its damage until it is declared anew."""

    @abstractmethod
    def remove(self, entry: Entry) -> None:
        """Forget a job altogether, with its history."""

    @abstractmethod
    def clear_outputs(self, keys: Collection[str]) -> None:
        """Forget what is left of the outputs of jobs that had these keys before: they are declared anew."""

    @abstractmethod
    def _put_behind_newest(self, job_no: int, newest: int, at: int) -> int | None:
        """Make place in a job's history for an attempt of the past; the link that it is to carry."""

    @abstractmethod
    def _forget_attempts(self, entry: Entry, rows: list[Row]) -> int | None:
        """Delete some attempts of a job; the newest moment that is left."""

    @abstractmethod
    def _change_definition(self, job_no: int, definition: Row) -> None:
        """Write the frame, the data and the policy's number of a job."""

    @abstractmethod
    def _change_lane(self, job_no: int, lane: int) -> None:
        """Write the lane of a job, and that it is not damaged."""

    # -- reading -----------------------------------------------------------------------------------

    def _unread(self, rows: Iterable[Row], open_rows: Iterable[Row]) -> list[Entry]:
        """The entries of rows, with the open attempts of their jobs; their records are not there yet."""
        by_job: dict[int, list[Row]] = {}
        for row in open_rows:
            by_job.setdefault(row[0], []).append(row)
        return [Entry(row, by_job.get(row[0], ())) for row in rows]

    def _together(self, rows: Iterable[Row], open_rows: Iterable[Row]) -> list[Entry]:
        """The same, with their records."""
        entries = self._unread(rows, open_rows)
        for entry in entries:
            self.read(entry)
        return entries

    def read(self, entry: Entry) -> None:
        """Make the record of an entry, or know its damage."""
        row, open_rows = entry.row, entry.open_rows
        try:
            job = self._reader.job(row[1], row[2], row[3], self.shelf.policy(row[4]))
            state = read_state(row[STATE:])
            attempts = self._open_attempts(entry) if open_rows else ()
        except DamagedRecordError as error:
            entry.damage = damage_of(error)
        except UNREADABLE as error:
            entry.damage = damage_of(find_flaw(row[STATE:], open_rows, error))
        else:
            entry.record = new(Record, (job, state, attempts))

    def _open_attempts(self, entry: Entry) -> tuple[Attempt, ...]:
        """In the order they were opened."""
        rows = sorted(entry.open_rows, key=lambda row: row[ORDINAL])
        entry.ordinal = rows[-1][ORDINAL]
        return tuple([read_attempt(row, entry.key, self.shelf) for row in rows])

    # -- deciding ----------------------------------------------------------------------------------

    def decide(self, entry: Entry, decide: Callable[..., Decision], *facts: object) -> Decision | None:
        """Ask about a record and some facts, and note the answer.

        A job that cannot be read or decided about is set aside.
        """
        record = entry.record
        if record is None:
            self.set_aside(entry, entry.damage or Damage("it cannot be read"))
            return None
        try:
            decision = decide(record, *facts)
            self.note(entry, record, decision)
        except self.trouble:
            raise
        except Exception as error:  # noqa: BLE001 - one bad job must not stop all good ones (rule 6)
            self.set_aside(entry, damage_of(error))
            return None
        self._decisions += 1
        if self._decisions % self.stride == 0:
            self.flush()
        return decision

    def has_run(self, entry: Entry, attempt: Attempt) -> bool:
        """Whether there is an attempt of that name already."""
        return self._has_attempt(attempt_key(attempt, entry.job_no))

    def note(self, entry: Entry, record: Record, decision: Decision) -> None:
        """Take a decision over into the entry, and note the rows that it writes."""
        state, attempts, skips, _, is_removed, kept = decision
        if is_removed:
            self.remove(entry)
            return
        if self.is_careful and attempts:
            self._refuse_what_has_started(entry, record, attempts)
        if kept is None and not skips and len(attempts) == 1:
            note = quick.note_end if record.attempts else quick.note_start
            if note(self, entry, record, attempts, state):
                return
        job, before, open_ones = record
        if kept is not None:
            self.define(entry, job := kept)
        newest = entry.newest
        self.kept.pop(entry.key, None)
        if attempts:
            open_ones = self._note_attempts(entry, open_ones, attempts, state)
        if state is not before or entry.newest != newest:
            self._states.append((*state_row(state), entry.newest, entry.job_no, entry.row[LANE]))
        if skips:
            self._note_skips(entry, skips)
        entry.record = Record(job, state, open_ones)

    def _refuse_what_has_started(self, entry: Entry, record: Record, attempts: tuple[Attempt, ...]) -> None:
        """An occurrence that has run is not run again because its state has forgotten it."""
        for attempt in attempts:
            key = attempt_key(attempt, entry.job_no)
            is_unknown = entry.newest is None or key[0] > entry.newest
            is_new = attempt.state is _RUNNING and _place(list(record.attempts), attempt) is None
            if is_unknown and is_new and self._has_attempt(key):
                reason = f"there is an attempt at {attempt.run_key} of which it does not know"
                raise DamagedRecordError("newest_at", entry.newest, reason)

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
        return self._put_behind_newest(entry.job_no, newest, at)

    def _note_skips(self, entry: Entry, skips: tuple[Skip, ...]) -> None:
        for _, first, last, reason in skips:
            self._skips.append((entry.job_no, micros(first), micros(last), clean_text(reason)))

    # -- definitions -------------------------------------------------------------------------------

    def add(self, job: Job, job_no: int, decision: Decision) -> Entry:
        """A job that is new."""
        frame, data, policy = self._writer.texts(job)
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
        frame, data, policy = self._writer.texts(job)
        definition = (frame, data, self.shelf.policy_number(policy))
        lane = self.shelf.lane_number(job.queue, job.action.kind)
        if definition != entry.row[2:5]:
            self.flush()  # it may have been added in the same breath
            self._change_definition(entry.job_no, definition)
        if lane != entry.row[LANE] or entry.damage is not None:
            self.flush()
            self._change_lane(entry.job_no, lane)
        entry.row = (*entry.row[:2], *definition, lane, *entry.row[NEWEST:])
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
            entry.newest = self._forget_attempts(entry, bad)
        entry.open_rows = good
        try:
            state = read_state(entry.row[STATE:])
            return Record(job, state, self._open_attempts(entry) if good else ())
        except UNREADABLE:
            return None

    def _is_readable(self, entry: Entry, row: Row) -> bool:
        try:
            read_attempt(row, entry.key, self.shelf)
        except UNREADABLE:
            return False
        return True


def _place(attempts: list[Attempt], wanted: Attempt) -> int | None:
    """Where an attempt of the same run and number stands."""
    for place, attempt in enumerate(attempts):
        if (
            attempt.number == wanted.number
            and attempt.scheduled_for == wanted.scheduled_for
            and attempt.request == wanted.request
        ):
            return place
    return None
