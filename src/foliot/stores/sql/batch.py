"""The batch of one call: the jobs that it read, the decisions, and the rows to write.

    read a job's record into an entry ──▶ decide: changes the entry, notes rows ──▶ flush: writes the rows

All of it is one transaction. Each dialect has its own subclass that finds due jobs: PostgreSQL locks them,
SQLite need not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from foliot.errors import DamagedRecordError
from foliot.model.attempt import Attempt, AttemptState
from foliot.model.damage import Damage, Flaw, damage_of
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.json_text import clean_text
from foliot.model.policy import Keep
from foliot.model.state import Record, State
from foliot.stores.retention import first_look
from foliot.stores.sql import history_links, upsert
from foliot.stores.sql.codes import EPOCH, UNREADABLE, micros, whole
from foliot.stores.sql.entry import (
    BUSY,
    BY_KEY,
    BY_NUMBER,
    LANE,
    NEWEST,
    OPEN_BY_KEY,
    OPEN_BY_NUMBER,
    STATE,
    Entry,
    Place,
)
from foliot.stores.sql.flaw import find_flaw
from foliot.stores.sql.rows import (
    ORDINAL,
    Row,
    alert_row,
    attempt_key,
    attempt_row,
    new,
    read_attempt,
    read_state,
    state_row,
)

if TYPE_CHECKING:
    from foliot.stores.sql.session import Session

ATTEMPT = """
    SELECT 1 FROM attempts
    WHERE scheduled_for = :at AND job_no = :job AND request = :request AND number = :number
"""
SET_ASIDE = "UPDATE states SET damage = :damage WHERE job_no IN :these"
_CHANGE_JOB = "UPDATE jobs SET frame = :frame, data = :data, policy_no = :policy WHERE job_no = :job"
_CHANGE_LANE = "UPDATE states SET lane_no = :lane, damage = NULL WHERE job_no = :job"

# A state without a job. As long as it is due, it would block the jobs behind it.
STRAY = str(Damage("its definition is missing", Flaw.MISSING))
MOST_STRAY_ROUNDS = 9  # leave the rest to the next claim, so that the jobs set aside so far are committed

NO_STATE = State(0, EPOCH)  # of a new job; other changes are written
_ENDED, _RUNNING = AttemptState.ENDED, AttemptState.RUNNING


class _Changed(NamedTuple):
    """The attempts that are open after a decision, and the rows of those that it starts or changes.

    `link`: the new link of the formerly newest instant, if it changes (see `history_links`).
    """

    still_open: tuple[Attempt, ...]
    starts: Sequence[Row] = ()
    rows: Sequence[Row] = ()
    link: tuple[int | None] | None = None


class WriteBatch(ABC):
    """Reads records, asks the planner, and writes decisions, for one call.

    `stride`: after that many decisions it is worth writing, while more are made. `is_careful`: the last try
    failed, perhaps because a state does not know its newest attempt. So look each start up first.
    """

    stride = 10_000

    def __init__(self, session: Session) -> None:
        self.dialect = session.dialect
        self.interned = session.interned
        self.claim_no: int | None = None
        self.is_careful = False
        self._decisions = 0
        self._reader = session.reader
        self._writer = session.writer
        self._jobs: list[Row] = []
        self._new_states: list[Row] = []
        self._starts: list[Row] = []
        self._attempts: list[Row] = []
        self._states: list[Row] = []
        self._skips: list[Row] = []
        self._alerts: list[Row] = []

    # -- what the dialect brings -------------------------------------------------------------------

    @abstractmethod
    def due(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Row]:
        """The longest due jobs of some lanes, after a position, as rows of `DUE_ROW`.

        No other call can write to these jobs.
        """

    @abstractmethod
    def wait_for_others(self, lanes: Sequence[int], now: int) -> bool:
        """Whether other calls hold due jobs. If so, this waits for a short time."""

    # -- finding -----------------------------------------------------------------------------------

    def by_key(self, keys: Iterable[str]) -> dict[str, Entry]:
        """The existing jobs of these keys."""
        wanted = dict.fromkeys(keys)
        rows = self.dialect.among(BY_KEY, wanted.keys())
        open_rows = self.dialect.among(OPEN_BY_KEY, wanted.keys())  # both queries are sent together
        return {entry.key: entry for entry in self._together(rows.fetchall(), open_rows.fetchall())}

    def by_number(self, numbers: Collection[int]) -> dict[int, Entry]:
        """The existing jobs of these numbers."""
        rows = self.dialect.among(BY_NUMBER, numbers)
        open_rows = self.dialect.among(OPEN_BY_NUMBER, numbers)
        return {entry.job_no: entry for entry in self._together(rows.fetchall(), open_rows.fetchall())}

    def entries(self, rows: list[Row]) -> list[Entry]:
        """The entries of rows, with the open attempts of their jobs."""
        open_rows = self.dialect.among(OPEN_BY_NUMBER, [row[0] for row in rows])
        return self._together(rows, open_rows.fetchall())

    def busy(self, numbers: Collection[int]) -> set[int]:
        """Which of these jobs have an open attempt, by their numbers."""
        return {number for (number,) in self.dialect.among(BUSY, numbers).fetchall()}

    # -- writing -----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write the noted rows."""
        for rows, what in ((self._jobs, upsert.ADD_JOB), (self._new_states, upsert.PUT_STATE)):
            if rows:
                self.dialect.add(what, rows)
                rows.clear()
        for rows, what in (
            (self._starts, upsert.ADD_ATTEMPT),
            (self._attempts, upsert.PUT_ATTEMPT),
            (self._states, upsert.PUT_STATE),
            (self._skips, upsert.PUT_SKIP),
            (self._alerts, upsert.ADD_ALERT),
        ):
            if rows:
                self.dialect.upsert(what, rows)
                rows.clear()

    def set_aside(self, entry: Entry, damage: Damage) -> None:
        """Set a job aside: it does not run, and is shown as damaged, until it is declared again."""
        entry.damage = damage
        self._set_aside([entry.job_no], str(damage).replace("\0", "?"))

    def set_aside_unreadable(self, numbers: Collection[int]) -> None:
        """Set jobs aside if they cannot be read."""
        for entry in self.by_number(numbers).values():
            if entry.record is None and entry.damage is not None and not entry.is_unknown_here:
                self.set_aside(entry, entry.damage)

    def _set_aside(self, numbers: Collection[int], damage: str) -> None:
        self.dialect.among(SET_ASIDE, numbers, damage=damage)

    def _change_definition(self, job_no: int, definition: Row) -> None:
        """Write the frame, the data and the policy's number of a job."""
        frame, data, policy = definition
        self.dialect.run(_CHANGE_JOB, frame=frame, data=data, policy=policy, job=job_no)

    def remove(self, entry: Entry) -> None:
        """Delete a job with its history."""
        self.flush()
        for table in ("states", "jobs", "definitions"):
            self.dialect.delete(table, "job_no", [(entry.job_no,)])
        history_links.leave(self.dialect, entry.job_no, entry.key, entry.newest)
        entry.record, entry.damage = None, None

    # -- reading -----------------------------------------------------------------------------------

    def _together(self, rows: Iterable[Row], open_rows: Iterable[Row]) -> list[Entry]:
        """The entries of rows, with the open attempts of their jobs."""
        by_job: dict[int, list[Row]] = {}
        for row in open_rows:
            by_job.setdefault(row[0], []).append(row)
        entries = [Entry(row, by_job.get(row[0], ())) for row in rows]
        for entry in entries:
            self.read(entry)
        return entries

    def read(self, entry: Entry) -> None:
        """Read the record of an entry, or note its damage."""
        row, open_rows = entry.row, entry.open_rows
        try:
            entry.check_counts()
            job = self._reader.job(row[1], row[2], row[3], self.interned.policy(row[4]))
            state = read_state(row[STATE:])
            attempts = self.open_attempts(entry) if open_rows else ()
        except DamagedRecordError as error:
            entry.damage = damage_of(error)
        except UNREADABLE as error:
            entry.damage = damage_of(find_flaw(row[STATE:], open_rows, error))
        else:
            entry.record = new(Record, (job, state, attempts))

    def open_attempts(self, entry: Entry) -> tuple[Attempt, ...]:
        """In the order they were opened."""
        rows = sorted(entry.open_rows, key=lambda row: row[ORDINAL])
        entry.ordinal = rows[-1][ORDINAL]
        return tuple([read_attempt(row, entry.key, self.interned) for row in rows])

    # -- deciding ----------------------------------------------------------------------------------

    def decide(self, entry: Entry, decide: Callable[..., Decision], *facts: object) -> Decision | None:
        """Ask the planner about a record, and note the decision.

        A job that cannot be read or decided about is set aside.
        """
        record = entry.record
        if record is None:
            self.set_aside(entry, entry.damage or Damage("it cannot be read"))
            return None
        try:
            decision = decide(record, *facts)
            self.note(entry, record, decision)
        except self.dialect.trouble:
            raise
        except Exception as error:  # noqa: BLE001 - one bad job must not stop all good ones (rule 6)
            self.set_aside(entry, damage_of(error))
            return None
        self._decisions += 1
        if self._decisions % self.stride == 0:
            self.flush()
        return decision

    def has_run(self, entry: Entry, attempt: Attempt) -> bool:
        """Whether an attempt of that name exists."""
        return self._has_attempt(attempt_key(attempt, entry.job_no))

    def _has_attempt(self, key: Row) -> bool:
        at, job_no, request, number = key
        found = self.dialect.run(ATTEMPT, at=at, job=job_no, request=request, number=number)
        return found.fetchone() is not None

    def note(self, entry: Entry, record: Record, decision: Decision) -> None:
        """Apply a decision to the entry, and note its rows."""
        state, attempts, skips, _, is_removed, kept, alerts = decision
        alert_rows = list(map(alert_row, alerts))
        if is_removed:
            self._alerts += alert_rows
            self.remove(entry)
            return
        if self.is_careful and attempts:
            self._refuse_what_has_started(entry, record, attempts)
        job, before, open_ones = record
        if kept is not None:
            self.define(entry, job := kept)
        # Make all rows before noting one: a decision that cannot be written must leave none.
        opened = entry.opened
        newest = entry.newest
        changed = _Changed(open_ones)
        if attempts:
            changed = self._attempt_rows(entry, record, attempts)
        skip_rows = [
            (entry.job_no, micros(skip.first), micros(skip.last), clean_text(skip.reason)) for skip in skips
        ]
        entry.skipped += len(skips)
        entry.age(job.policy.keep, attempts, skips)
        if state is not before or entry.opened != opened:
            self._states.append(self._state_row(entry, state, job.policy.keep))
        if changed.link is not None and newest is not None:
            history_links.relink(self.dialect, entry.job_no, newest, *changed.link)
        self._starts += changed.starts
        self._attempts += changed.rows
        self._skips += skip_rows
        self._alerts += alert_rows
        entry.record = Record(job, state, changed.still_open)

    def _state_row(self, entry: Entry, state: State, keep: Keep) -> Row:
        counts = entry.newest, entry.opened, entry.skipped, entry.look_at
        return (*state_row(state), *counts, entry.job_no, entry.row[LANE], first_look(keep))

    def _refuse_what_has_started(self, entry: Entry, record: Record, attempts: tuple[Attempt, ...]) -> None:
        """Refuse to start an occurrence that has run, even if the state does not know it."""
        known = {_name(attempt) for attempt in record.attempts}
        for attempt in attempts:
            key = attempt_key(attempt, entry.job_no)
            is_unknown = entry.newest is None or key[0] > entry.newest
            is_new = attempt.state is _RUNNING and _name(attempt) not in known
            if is_unknown and is_new and self._has_attempt(key):
                reason = f"there is an attempt at {attempt.run_key} of which it does not know"
                raise DamagedRecordError("newest_at", entry.newest, reason)

    def _attempt_rows(self, entry: Entry, record: Record, attempts: tuple[Attempt, ...]) -> _Changed:
        """The rows of attempts that a decision writes."""
        newest = entry.newest
        current = {_name(attempt): attempt for attempt in record.attempts}
        links = self._links(entry, [a for a in attempts if _name(a) not in current])
        relinked = (links.pop(newest),) if newest is not None and newest in links else None
        starts, rows, token, started = list[Row](), list[Row](), record.state.token, 0
        for attempt in attempts:
            name, key, claim_no = _name(attempt), attempt_key(attempt, entry.job_no), None
            if self.claim_no is not None and attempt.state is _RUNNING and attempt.token > token:
                claim_no, started = self.claim_no + attempt.token - token - 1, started + 1
            # An existing attempt keeps its order, link and number.
            place: tuple[int, int | None, int] = (0, None, 0)
            if name not in current:
                entry.ordinal += 1
                entry.opened += 1
                place = entry.ordinal, links.pop(key[0], None), entry.opened
            is_latest = newest is None or key[0] > newest
            into = starts if is_latest and name not in current and attempt.state is _RUNNING else rows
            into.append((*key, *place, claim_no, *attempt_row(attempt, self.interned)))
            current[name] = attempt
        if self.claim_no is not None:
            self.claim_no += started
        still_open = tuple([a for a in current.values() if a.state is not _ENDED])
        return _Changed(still_open, starts, rows, relinked)

    def _links(self, entry: Entry, new: list[Attempt]) -> dict[int, int | None]:
        """The links of attempts, by which they are found later: see `history_links`."""
        links: dict[int, int | None] = {}
        past: set[int] = set()
        for at in (whole(attempt.scheduled_for) for attempt in new):
            if entry.newest is None or at > entry.newest:
                links[at], entry.newest = entry.newest, at
            elif at != entry.newest and at not in links:
                past.add(at)
        if past and entry.newest is not None:
            self.flush()  # the job may have been decided about earlier in the same call
            is_new = entry.newest in links
            links |= history_links.links_of_the_past(
                self.dialect, entry.job_no, entry.newest, past, links.get(entry.newest), is_new=is_new
            )
        return links

    # -- definitions -------------------------------------------------------------------------------

    def add(self, job: Job, job_no: int, decision: Decision) -> Entry:
        """A job that is new."""
        frame, data, policy = self._writer.texts(job)
        definition = (job_no, job.key, frame, data, self.interned.policy_number(policy))
        lane = self.interned.lane_number(job.queue, job.action.kind)
        entry = Entry((*definition, lane, None, 0, 0, None, None), ())
        self._jobs.append(definition)
        noted = len(self._states)
        self.note(entry, Record(job, NO_STATE), decision)
        self._new_states += self._states[noted:]
        del self._states[noted:]
        return entry

    def redefine(self, entry: Entry, job: Job, record: Record, decision: Decision) -> None:
        """An existing job is declared again, and is no longer damaged."""
        if decision.job is None:
            self.define(entry, job)
        self.note(entry, record._replace(job=job), decision)

    def define(self, entry: Entry, job: Job) -> None:
        """Write the definition of a job if it differs from what is there, or was damaged."""
        frame, data, policy = self._writer.texts(job)
        definition = (frame, data, self.interned.policy_number(policy))
        lane = self.interned.lane_number(job.queue, job.action.kind)
        if definition != entry.row[2:5]:
            self.flush()  # it may have been added in the same call
            self._change_definition(entry.job_no, definition)
        if definition[2] != entry.row[4] or entry.damage is not None:  # it may keep less than before
            self.dialect.set_column("states", "trim_at", "job_no", [(0, entry.job_no)])
        if lane != entry.row[LANE] or entry.damage is not None:
            self.flush()
            self.dialect.run(_CHANGE_LANE, lane=lane, job=entry.job_no)
        entry.row = (*entry.row[:2], *definition, lane, *entry.row[NEWEST:])
        entry.damage = None


def _name(attempt: Attempt) -> tuple[datetime, str | None, int]:
    """What names an attempt within its job."""
    return attempt.scheduled_for, attempt.request, attempt.number
