"""The batch of one call, on PostgreSQL: it locks jobs before it reads them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from foliot.stores.postgres import arrays, statement
from foliot.stores.sql.batch import MOST_STRAY_ROUNDS, STRAY, WriteBatch
from foliot.stores.sql.entry import FIRST, Entry, Place
from foliot.stores.sql.rows import Row

if TYPE_CHECKING:
    from foliot.stores.postgres.session import PostgresSession

_LOCKED_WAKE = 2  # its column in a locked state


class PostgresBatch(WriteBatch):
    """`locks`: no other call may write to the jobs that this call has read."""

    stride = 250  # the server writes while this side decides about the next jobs

    def __init__(self, session: PostgresSession, *, locks: bool) -> None:
        super().__init__(session)
        self._connection = session.connection
        self._cache = session.cache
        self._locks = locks

    # -- what is due -------------------------------------------------------------------------------

    def due(self, lanes: Sequence[int], now: int, count: int, after: Place) -> list[Row]:
        rows: list[Row] = []
        for _ in range(MOST_STRAY_ROUNDS):
            spread = {lanes[0]: count} if len(lanes) == 1 else self._spread(lanes, now, count, after)
            states = self._locked(spread, now, after)
            rows = self._defined(states) if states else []
            if len(rows) == len(states):
                break
            self._set_aside({state[0] for state in states} - {row[0] for row in rows}, STRAY)
        return rows

    def wait_for_others(self, lanes: Sequence[int], now: int) -> bool:
        """Wait a fixed time, not for locks: a lock that is held for long must not block this node."""
        if not self._spread(lanes, now, 1, FIRST):
            return False
        self._connection.execute(statement.A_MOMENT)
        return True

    def _spread(self, lanes: Sequence[int], now: int, count: int, after: Place) -> dict[int, int]:
        values = {
            "lanes": arrays.numbers(lanes),
            "now": now,
            "at": after[0],
            "after": after[1],
            "count": count,
        }
        return dict(self._connection.execute(statement.SPREAD, values, binary=True).fetchall())

    def _locked(self, spread: dict[int, int], now: int, after: Place) -> list[Row]:
        """Lock and read due states, in the order of their times. `spread`: how many of each lane."""
        if not spread:
            return []
        values = (arrays.numbers(spread.keys()), arrays.numbers(spread.values()), now, *after)
        states = self._connection.execute(statement.LOCK_DUE, values, binary=True).fetchall()
        if len(spread) > 1:
            states.sort(key=lambda state: Place(state[_LOCKED_WAKE], state[0]))
        return states

    def _defined(self, states: list[Row]) -> list[Row]:
        """The rows of jobs whose states were locked, with their definitions as they are now."""
        known = {row[0]: self._cache.definition(row[0], row[1]) for row in states}
        unknown = {row[0]: row[1] for row in states if known[row[0]] is None}
        if unknown:
            values = (arrays.numbers(unknown),)
            for row in self._connection.execute(statement.DEFINITIONS, values, binary=True):
                known[row[0]] = row
                self._cache.keep_definition(unknown[row[0]], row)
        return [definition + state[2:] for state in states if (definition := known[state[0]]) is not None]

    # -- what is asked for -------------------------------------------------------------------------

    def by_key(self, keys: Iterable[str]) -> dict[str, Entry]:
        wanted = dict.fromkeys(keys)  # none twice
        if not self._locks:
            return super().by_key(wanted)
        values = (arrays.texts(wanted),)
        locked = self._connection.execute(statement.LOCK_BY_KEY, values, binary=True)
        found = super().by_key(wanted)
        ours = {number for (number,) in locked.fetchall()}
        # A job that was declared between the two statements is not locked, and not part of this call.
        return {key: entry for key, entry in found.items() if entry.job_no in ours}

    def by_number(self, numbers: Collection[int]) -> dict[int, Entry]:
        if self._locks:
            self._connection.execute(statement.LOCK_BY_NUMBER, (arrays.numbers(numbers),))
        return super().by_number(numbers)

    def _change_definition(self, job_no: int, definition: Row) -> None:
        super()._change_definition(job_no, definition)
        self._connection.execute(statement.COUNT_DEFINITION, (job_no,))  # see `definition_cache`
