"""The book of one call, on PostgreSQL: jobs are locked before they are read, and rows written by arrays.

How a decision becomes rows is the same as on SQLite, and is told there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, cast

import psycopg

from foliot.model.damage import Damage, damage_of
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.stores.postgres import arrays, chain, statement
from foliot.stores.postgres.connection import Connection
from foliot.stores.postgres.memory import Memory
from foliot.stores.postgres.shelf import Shelf
from foliot.stores.postgres.sweep import FIRST, LAST, Place, Sweep
from foliot.stores.sqlite.book import Book as SqliteBook
from foliot.stores.sqlite.book import Entry
from foliot.stores.sqlite.codes import UNREADABLE
from foliot.stores.sqlite.definition import Reader, Writer
from foliot.stores.sqlite.rows import Row, read_state

__all__ = ["Book", "Desk", "Entry"]

_LANE, _NEWEST, _STATE = 5, 6, 8
_LOCKED_WAKE = 7  # where a locked state has it
_ENOUGH_TO_COPY = 100
_COPY_JOBS = "COPY jobs (job_no, key, frame, data, policy_no) FROM STDIN"
_COPY_STATES = f"COPY states ({statement.NEW_STATE}) FROM STDIN"


class Desk:
    """What a connection has to work with: itself, the shared texts, and how jobs are read and written.

    `kept` stays empty: what another node writes is not seen from here.
    """

    def __init__(self, connection: Connection, memory: Memory) -> None:
        self.connection = connection
        self.memory = memory
        self.sweep = Sweep()
        self.shelf = Shelf(connection)
        self.reader = Reader()
        self.writer = Writer()
        self.names = cast("Any", self.shelf)  # rows ask a shelf of SQLite's for the names of nodes
        self.kept: dict[str, Entry] = {}

    def forget(self) -> None:
        """What was learned in a transaction that was undone may never have been written."""
        self.shelf.forget()
        self.memory.forget()


class Book(SqliteBook):
    """Reads, asks, and writes, for one call. `locks`: nobody else writes to the jobs that were read."""

    def __init__(self, desk: Desk, *, locks: bool = True) -> None:
        super().__init__(cast("Any", desk))
        self.table = desk.connection
        self._memory = desk.memory
        self._sweep = desk.sweep
        self._locks = locks
        self._new_states: list[Row] = []
        self.mark = ""  # what this transaction leaves on the rows that it writes

    # -- reading -----------------------------------------------------------------------------------

    def due(self, lanes: Iterable[int], now: int, count: int) -> list[Entry]:
        """The jobs of some lanes that have been due for longest, and that nobody else has at hand."""
        wanted = list(lanes)
        if len(wanted) == 1:
            return self._with_records(self._swept(wanted[0], now, count))
        return self._with_records(self._locked(self._spread(wanted, now, count), now))

    def due_in_spite_of_others(self, lanes: Iterable[int], now: int) -> list[Entry]:
        """One job that is due: if others have all of them at hand, the first that they do not take.

        Whoever asks must not have locked anything, because this waits.
        """
        spread = self._spread(lanes, now, 1)
        return self._with_records(self._locked(spread, now, statement.WAIT_FOR_DUE))

    def _swept(self, lane: int, now: int, count: int) -> list[Row]:
        """From where the last claim ended, and then from the front."""
        start = self._sweep.start(lane)
        states = self._locked({lane: count}, now, start=start)
        if len(states) == count:
            self._sweep.end(lane, _place_of(states[-1]), count)
        elif start != FIRST:
            self._sweep.forget(lane)
            states += self._locked({lane: count - len(states)}, now, end=start)
        return states

    def _spread(self, lanes: Iterable[int], now: int, count: int) -> dict[int, int]:
        values = (arrays.numbers(lanes), now, count, count)
        return dict(self.table.execute(statement.SPREAD, values, binary=True).fetchall())

    def _locked(
        self,
        spread: dict[int, int],
        now: int,
        sql: str = statement.LOCK_DUE,
        *,
        start: Place = FIRST,
        end: Place = LAST,
    ) -> list[Row]:
        """The states of so many due jobs of each lane, locked, in the order of their times."""
        if not spread:
            return []
        values = (arrays.numbers(spread.keys()), arrays.numbers(spread.values()), now, *start, *end)
        states = self.table.execute(sql, values, binary=True).fetchall()
        if len(spread) > 1:
            states.sort(key=_place_of)
        return states

    def _with_records(self, states: list[Row]) -> list[Entry]:
        """The entries of states that are locked: definitions and open attempts are read now."""
        if not states:
            return []
        wanted = arrays.numbers(row[0] for row in states)
        open_rows = self.table.execute(statement.OPEN_BY_NUMBER, (wanted,), binary=True)
        mark = self.table.execute(statement.MARK)
        entries = self._together(self._defined(states), open_rows.fetchall())
        self.mark = (mark.fetchone() or ("",))[0]
        return entries

    def _defined(self, states: list[Row]) -> list[Row]:
        """The rows of jobs whose states were locked, with their definitions as they are now."""
        known = {row[0]: self._memory.definition(row[0], row[1]) for row in states}
        unknown = {row[0]: row[1] for row in states if known[row[0]] is None}
        if unknown:
            values = (arrays.numbers(unknown),)
            for row in self.table.execute(statement.DEFINITIONS, values, binary=True):
                known[row[0]] = row
                self._memory.keep_definition(unknown[row[0]], row)
        return [definition + state[2:] for state in states if (definition := known[state[0]]) is not None]

    def by_key(self, keys: Iterable[str]) -> dict[str, Entry]:
        """Jobs by their keys, those that are there."""
        wanted = arrays.texts(keys)
        if self._locks:
            self.table.execute(statement.LOCK_BY_KEY, (wanted,))
        return {entry.key: entry for entry in self._read(statement.BY_KEY, statement.OPEN_BY_KEY, wanted)}

    def recalled(self, keys: set[str]) -> dict[str, Entry]:
        """The same; a record that nobody has written to since it was claimed here need not be read again."""
        claimed = self._memory.take_claimed(keys)
        if len(claimed) == len(keys) and self._are_unchanged(claimed.values()):
            return {key: entry for key, (_, entry) in claimed.items()}
        return self.by_key(keys)

    def _are_unchanged(self, claimed: Collection[tuple[str, Entry]]) -> bool:
        """Lock jobs, and see whether their rows bear the marks of their claims, and no others."""
        numbers = (arrays.numbers(entry.job_no for _, entry in claimed),)
        states = self.table.execute(statement.LOCK_MARKS, numbers, binary=True)
        attempts = self.table.execute(statement.OPEN_MARKS, numbers, binary=True)
        found = sorted(states.fetchall()), sorted(attempts.fetchall())
        marks = [(entry.job_no, mark) for mark, entry in claimed]
        opened = [
            (entry.job_no, mark)
            for mark, entry in claimed
            for _ in (entry.record.attempts if entry.record else ())
        ]
        return found == (sorted(marks), sorted(opened))

    def by_number(self, numbers: Iterable[int]) -> dict[int, Entry]:
        """Jobs by their numbers, those that are there."""
        wanted = arrays.numbers(numbers)
        if self._locks:
            self.table.execute(statement.LOCK_BY_NUMBER, (wanted,))
        found = self._read(statement.BY_NUMBER, statement.OPEN_BY_NUMBER, wanted)
        return {entry.job_no: entry for entry in found}

    def _read(self, jobs: str, attempts: str, wanted: str) -> list[Entry]:
        """Both questions travel together, and are asked after the locks are held."""
        rows = self.table.execute(jobs, (wanted,), binary=True)
        open_rows = self.table.execute(attempts, (wanted,), binary=True)
        return self._together(rows.fetchall(), open_rows.fetchall())

    def entries(self, rows: list[Row]) -> list[Entry]:
        """The entries of rows, with the open attempts of their jobs."""
        numbers = arrays.numbers(row[0] for row in rows)
        open_rows = self.table.execute(statement.OPEN_BY_NUMBER, (numbers,), binary=True)
        return self._together(rows, open_rows.fetchall())

    def _together(self, rows: list[Row], open_rows: list[Row]) -> list[Entry]:
        by_job: dict[int, list[Row]] = {}
        for row in open_rows:
            by_job.setdefault(row[0], []).append(row)
        return [self._entry(row, by_job.get(row[0], ())) for row in rows]

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
        except psycopg.Error:
            raise
        except Exception as error:  # noqa: BLE001 - one bad job must not stop all good ones (rule 6)
            self.set_aside(entry, damage_of(error))
            return None
        return decision

    def set_aside(self, entry: Entry, damage: Damage) -> None:
        """Take a job out of service; it is shown with its damage until it is declared anew."""
        entry.damage = damage
        self.table.execute(
            "UPDATE states SET damage = %s WHERE job_no = %s", (str(damage).replace("\0", "?"), entry.job_no)
        )

    def _link(self, entry: Entry, at: int) -> int | None:
        newest = entry.newest
        if newest is None or at > newest:
            entry.newest = at
            return newest
        if at == newest:
            return None
        self.flush()
        return chain.put_behind_newest(self.table, entry.job_no, newest, at)

    # -- writing -----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what was noted; all of it travels together."""
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
                with self.table.cursor().copy(copy) as stream:
                    stream.write(arrays.copy_lines(rows))
            elif rows:
                put.execute(self.table, rows)
            rows.clear()

    def _can_copy(self) -> bool:
        return self.table.info.pipeline_status == psycopg.pq.PipelineStatus.OFF

    def remove(self, entry: Entry) -> None:
        """Forget a job altogether, with its history."""
        self.flush()
        rows = chain.attempts_of(self.table, (entry.job_no,))[entry.job_no]
        chain.forget_outputs(self.table, entry.key, rows)
        chain.forget_all(self.table, entry.job_no, rows)
        for table in ("skips", "states", "jobs"):
            self.table.execute(f"DELETE FROM {table} WHERE job_no = %s", (entry.job_no,))  # noqa: S608 - as above
        entry.record, entry.damage = None, None

    # -- definitions -------------------------------------------------------------------------------

    def add(self, job: Job, job_no: int, decision: Decision) -> Entry:
        """A job that is new."""
        noted = len(self._states)
        entry = super().add(job, job_no, decision)
        self._new_states += self._states[noted:]
        del self._states[noted:]
        return entry

    def define(self, entry: Entry, job: Job) -> None:
        """Write the definition of a job if it differs from what is there, or was damaged."""
        frame, data, policy = self.desk.writer.texts(job)
        definition = (frame, data, self.shelf.policy_number(policy))
        lane = self.shelf.lane_number(job.queue, job.action.kind)
        if definition != entry.row[2:5]:
            self.flush()  # it may have been added in the same breath
            self.table.execute(statement.CHANGE_JOB, (*definition, entry.job_no))
            self.table.execute(statement.COUNT_DEFINITION, (entry.job_no,))
        if lane != entry.row[_LANE] or entry.damage is not None:
            self.flush()
            self.table.execute(statement.CHANGE_LANE, (lane, entry.job_no))
        entry.row = (*entry.row[:2], *definition, lane, *entry.row[_NEWEST:])
        entry.damage = None

    def salvage(self, entry: Entry, job: Job) -> Record | None:
        """What can be read of a damaged job, as if it had been the job that is declared now.

        Open attempts that cannot be read are dropped: nobody could ever end them.
        """
        good = [row for row in entry.open_rows if self._is_readable(entry, row)]
        bad = [row for row in entry.open_rows if row not in good]
        if bad:
            rows = chain.attempts_of(self.table, (entry.job_no,))[entry.job_no]
            entry.newest = chain.forget(self.table, entry.job_no, rows, bad)
        entry.open_rows = good
        try:
            state = read_state(entry.row[_STATE:])
            return Record(job, state, self._open_attempts(entry) if good else ())
        except UNREADABLE:
            return None


def _place_of(state: Row) -> Place:
    """Where a state that was locked stands in the order of what is due."""
    return Place(state[_LOCKED_WAKE], state[0])
