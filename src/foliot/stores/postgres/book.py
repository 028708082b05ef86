"""The book of one call, on PostgreSQL: jobs are locked before they are read, and rows written by arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import psycopg

from foliot.model.damage import Damage
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.protocols import Clock
from foliot.stores.postgres import arrays, statement
from foliot.stores.postgres.connection import Connection
from foliot.stores.postgres.dialect import PostgresDialect
from foliot.stores.postgres.memory import Memory
from foliot.stores.postgres.shelf import Shelf
from foliot.stores.sql.book import MOST_STRAY_ROUNDS, STRAY
from foliot.stores.sql.book import Book as SqlBook
from foliot.stores.sql.definition import Reader, Writer
from foliot.stores.sql.entry import Entry
from foliot.stores.sql.herd import Herds
from foliot.stores.sql.rows import Row
from foliot.stores.sql.sweep import FIRST, Place, Sweep

_LOCKED_WAKE = 10  # where a locked state has it
_ENOUGH_TO_COPY = 100
_COPY_JOBS = "COPY jobs (job_no, key, frame, data, policy_no) FROM STDIN"
_COPY_STATES = f"COPY states ({statement.NEW_STATE}) FROM STDIN"


class Desk:
    """What a connection has to work with: itself, the shared texts, and how jobs are read and written."""

    def __init__(self, connection: Connection, memory: Memory, clock: Clock) -> None:
        self.connection = connection
        self.dialect = PostgresDialect(connection)
        self.memory = memory
        self.clock = clock
        self.told: set[str] = set()
        self.sweep = Sweep(clock, has_litter=True)
        self.shelf = Shelf(connection)
        self.reader = Reader()
        self.writer = Writer()
        self.herds = Herds(self.reader, self.shelf)
        self.is_careful = False  # see `sql.book`

    def forget(self) -> None:
        """What was learned in a transaction that was undone may never have been written."""
        self.is_careful = True
        self.shelf.forget()
        self.memory.forget()


class Book(SqlBook):
    """Reads, asks, and writes, for one call. `locks`: nobody else writes to the jobs that were read."""

    trouble = psycopg.Error
    stride = 250  # the server writes what it gets while this side goes on deciding

    def __init__(self, desk: Desk, *, locks: bool = True) -> None:
        super().__init__(
            desk.dialect, desk.shelf, desk.reader, desk.writer, kept={}
        )  # another may write: see `memory`
        self.connection = desk.connection
        self._memory = desk.memory
        self._locks = locks
        self._new_states: list[Row] = []

    # -- reading -----------------------------------------------------------------------------------

    def due(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Entry]:
        entries: list[Entry] = []
        for _ in range(MOST_STRAY_ROUNDS):
            spread = {lanes[0]: count} if len(lanes) == 1 else self._spread(lanes, now, count, after)
            states = self._locked(spread, now, after)
            entries = self._with_records(states)
            if len(entries) == len(states):
                break
            strays = {state[0] for state in states} - {entry.job_no for entry in entries}
            self.connection.execute(statement.SET_ASIDE, (STRAY, arrays.numbers(strays)))
        return entries

    def wait_for_others(self, lanes: Sequence[int], now: int) -> bool:
        """By time, not for their locks: one that is kept for long must not keep this node from all else."""
        if not self._spread(lanes, now, 1, FIRST):
            return False
        self.connection.execute(statement.A_MOMENT)
        return True

    def _has_attempt(self, key: Row) -> bool:
        return self.connection.execute(statement.ATTEMPT, key).fetchone() is not None

    def _spread(self, lanes: Sequence[int], now: int, count: int, after: Place) -> dict[int, int]:
        values = (arrays.numbers(lanes), now, *after, count, count)
        return dict(self.connection.execute(statement.SPREAD, values, binary=True).fetchall())

    def _locked(self, spread: dict[int, int], now: int, after: Place) -> list[Row]:
        """The states of so many due jobs of each lane, locked, in the order of their times."""
        if not spread:
            return []
        values = (arrays.numbers(spread.keys()), arrays.numbers(spread.values()), now, *after)
        states = self.connection.execute(statement.LOCK_DUE, values, binary=True).fetchall()
        if len(spread) > 1:
            states.sort(key=_place_of)
        return states

    def _with_records(self, states: list[Row]) -> list[Entry]:
        """The entries of states that are locked: definitions and open attempts are fetched now."""
        if not states:
            return []
        wanted = arrays.numbers(row[0] for row in states)
        open_rows = self.connection.execute(statement.OPEN_BY_NUMBER, (wanted,), binary=True)
        return self._unread(self._defined(states), open_rows.fetchall())

    def _defined(self, states: list[Row]) -> list[Row]:
        """The rows of jobs whose states were locked, with their definitions as they are now."""
        known = {row[0]: self._memory.definition(row[0], row[1]) for row in states}
        unknown = {row[0]: row[1] for row in states if known[row[0]] is None}
        if unknown:
            values = (arrays.numbers(unknown),)
            for row in self.connection.execute(statement.DEFINITIONS, values, binary=True):
                known[row[0]] = row
                self._memory.keep_definition(unknown[row[0]], row)
        return [definition + state[2:] for state in states if (definition := known[state[0]]) is not None]

    def by_key(self, keys: Iterable[str]) -> dict[str, Entry]:
        wanted = arrays.texts(dict.fromkeys(keys))  # none twice
        if not self._locks:
            return {entry.key: entry for entry in self._read(statement.BY_KEY, statement.OPEN_BY_KEY, wanted)}
        locked = self.connection.execute(statement.LOCK_BY_KEY, (wanted,), binary=True)
        found = self._read(statement.BY_KEY, statement.OPEN_BY_KEY, wanted)
        ours = {number for (number,) in locked.fetchall()}
        # One that was declared between the two is not locked. It was not there when this was asked.
        return {entry.key: entry for entry in found if entry.job_no in ours}

    def recalled(self, keys: set[str]) -> dict[str, Entry]:
        """The same; a record that nobody has written to since it was claimed here need not be read again."""
        claimed = self._memory.take_claimed(keys)
        if claimed and len(claimed) == len(keys) and self._are_unchanged(claimed.values()):
            return {key: entry for key, (_, entry) in claimed.items()}
        return self.by_key(keys)

    def _are_unchanged(self, claimed: Collection[tuple[str, Entry]]) -> bool:
        """Lock jobs, and see whether their rows bear the marks of their claims, and no others.

        Nobody but its claim can mark an attempt so: if as many are open as there were, they are the same.
        """
        marks = sorted((entry.job_no, mark) for mark, entry in claimed)  # the order that all lock in
        numbers, marked = zip(*marks, strict=True)
        values = arrays.numbers(numbers), arrays.texts(marked)
        states = self.connection.execute(statement.LOCK_MARKED, values, binary=True)
        attempts = self.connection.execute(statement.OPEN_MARKED, values, binary=True)
        opened = sum(len(entry.record.attempts) for _, entry in claimed if entry.record is not None)
        return states.fetchone() == (len(claimed),) and attempts.fetchone() == (opened, opened)

    def by_number(self, numbers: Iterable[int]) -> dict[int, Entry]:
        """Jobs by their numbers, those that are there."""
        wanted = arrays.numbers(numbers)
        if self._locks:
            self.connection.execute(statement.LOCK_BY_NUMBER, (wanted,))
        found = self._read(statement.BY_NUMBER, statement.OPEN_BY_NUMBER, wanted)
        return {entry.job_no: entry for entry in found}

    def _read(self, jobs: str, attempts: str, wanted: str) -> list[Entry]:
        """Both questions travel together, and are asked after the locks are held."""
        rows = self.connection.execute(jobs, (wanted,), binary=True)
        open_rows = self.connection.execute(attempts, (wanted,), binary=True)
        return self._together(rows.fetchall(), open_rows.fetchall())

    def entries(self, rows: list[Row]) -> list[Entry]:
        """The entries of rows, with the open attempts of their jobs."""
        numbers = arrays.numbers(row[0] for row in rows)
        open_rows = self.connection.execute(statement.OPEN_BY_NUMBER, (numbers,), binary=True)
        return self._together(rows, open_rows.fetchall())

    # -- writing -----------------------------------------------------------------------------------

    def set_aside(self, entry: Entry, damage: Damage) -> None:
        entry.damage = damage
        told = str(damage).replace("\0", "?")
        self.connection.execute(statement.SET_ASIDE, (told, arrays.numbers([entry.job_no])))

    def flush(self) -> None:
        for rows, put, copy in (
            (self._jobs, statement.ADD_JOB, _COPY_JOBS),
            (self._new_states, statement.PUT_STATE, _COPY_STATES),
            (self.starts, statement.START, ""),
            (self.moves, statement.MOVE, ""),
            (self.ends, statement.END, ""),
            (self._attempts, statement.PUT_ATTEMPT, ""),
            (self._states, statement.PUT_STATE, ""),
            (self._skips, statement.PUT_SKIP, ""),
        ):
            if copy and len(rows) >= _ENOUGH_TO_COPY and self._can_copy():
                with self.connection.cursor().copy(copy) as stream:
                    stream.write(arrays.copy_lines(rows))
            elif rows:
                put.execute(self.connection, rows)
            rows.clear()

    def _can_copy(self) -> bool:
        return self.connection.info.pipeline_status == psycopg.pq.PipelineStatus.OFF

    def add(self, job: Job, job_no: int, decision: Decision) -> Entry:
        noted = len(self._states)
        entry = super().add(job, job_no, decision)
        self._new_states += self._states[noted:]
        del self._states[noted:]
        return entry

    def _change_definition(self, job_no: int, definition: Row) -> None:
        self.connection.execute(statement.CHANGE_JOB, (*definition, job_no))
        self.connection.execute(statement.COUNT_DEFINITION, (job_no,))

    def _change_lane(self, job_no: int, lane: int) -> None:
        self.connection.execute(statement.CHANGE_LANE, (lane, job_no))


def _place_of(state: Row) -> Place:
    """Where a state that was locked stands in the order of what is due."""
    return Place(state[_LOCKED_WAKE], state[0])
