"""The statements of the hot path, in one place, so that a test can ask for their plans."""

from __future__ import annotations

import sqlite3
from itertools import chain

from foliot.stores.sql import put
from foliot.stores.sql.put import Put
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, STATE_COLUMNS, Row

# ruff: noqa: S608 - made of constants only

_STATE_NAMES = STATE_COLUMNS.split(", ")
_ENTRY_COLUMNS = (
    "s.job_no, j.key, j.frame, j.data, j.policy_no, s.lane_no, s.newest_at, "
    "s.opened, s.skipped, s.look_at, s.damage, " + ", ".join(f"s.{name}" for name in _STATE_NAMES)
)

DUE = f"""
    SELECT {_ENTRY_COLUMNS}
    FROM states AS s INDEXED BY states_due LEFT JOIN jobs AS j ON j.job_no = s.job_no
    WHERE s.lane_no = ? AND s.wake_at <= ? AND (s.wake_at, s.job_no) > (?, ?) AND s.damage IS NULL
    ORDER BY s.wake_at, s.job_no LIMIT ?
"""
NEXT_WAKE = """
    SELECT wake_at, job_no FROM states INDEXED BY states_due
    WHERE lane_no = ? AND wake_at IS NOT NULL AND damage IS NULL ORDER BY wake_at LIMIT 1
"""
BACKLOG = """
    SELECT count(*) FROM states INDEXED BY states_due
    WHERE lane_no = ? AND wake_at <= ? AND wake_at IS NOT NULL AND damage IS NULL
"""
BY_KEY = f"""
    SELECT {_ENTRY_COLUMNS} FROM jobs AS j CROSS JOIN states AS s ON s.job_no = j.job_no WHERE j.key IN
"""
BY_NUMBER = f"""
    SELECT {_ENTRY_COLUMNS} FROM jobs AS j CROSS JOIN states AS s ON s.job_no = j.job_no WHERE j.job_no IN
"""
OPEN_OF_JOBS = f"""
    SELECT {ATTEMPT_COLUMNS}, ordinal FROM attempts INDEXED BY attempts_open WHERE state < 3 AND job_no IN
"""
ATTEMPT = "SELECT 1 FROM attempts WHERE scheduled_for = ? AND job_no = ? AND request = ? AND number = ?"
HELD = f"""
    SELECT {ATTEMPT_COLUMNS}, claim_no FROM attempts INDEXED BY attempts_held
    WHERE node_no = ? AND state IN (1, 2)
"""
HOLDERS = """
    WITH RECURSIVE holders (node_no) AS (
        SELECT min(node_no) FROM attempts INDEXED BY attempts_held WHERE state IN (1, 2)
        UNION ALL
        SELECT (
            SELECT min(a.node_no) FROM attempts AS a INDEXED BY attempts_held
            WHERE a.state IN (1, 2) AND a.node_no > holders.node_no
        )
        FROM holders WHERE holders.node_no IS NOT NULL
    )
    SELECT node_no FROM holders WHERE node_no IS NOT NULL
"""
_SIZES = (1, 8, 64, 400)
_MOST_VALUES = 900  # old versions can bind 999


class Insert:
    """Rows to be inserted or, where the key is there, to be changed; many of them in one statement.

    Each statement is one call of the library, for which a thread lets go of the interpreter. A thread that
    is busy elsewhere in the process may take 5 ms to give it back, so few statements are better than many.
    """

    def __init__(self, what: Put) -> None:
        bound = what.columns.split(",")
        fixed = [pair.split(" = ") for pair in what.constants.split(", ")] if what.constants else []
        names = ", ".join([*(name.strip() for name in bound), *(name for name, _ in fixed)])
        self._head = f"INSERT INTO {what.table} ({names}) VALUES "
        self._places = f"({', '.join(['?'] * len(bound) + [value for _, value in fixed])})"
        self._tail = f" ON CONFLICT {what.on_conflict}" if what.on_conflict else ""
        self.rows_at_once = _MOST_VALUES // len(bound)
        self._many = self.sql(self.rows_at_once)
        self._one = self.sql(1)

    def sql(self, count: int) -> str:
        """The statement for so many rows."""
        return self._head + ", ".join([self._places] * count) + self._tail

    def execute(self, connection: sqlite3.Connection, rows: list[Row]) -> None:
        """Write the rows, in their order."""
        size = self.rows_at_once
        full = len(rows) - len(rows) % size
        for start in range(0, full, size):
            connection.execute(self._many, list(chain.from_iterable(rows[start : start + size])))
        connection.executemany(self._one, rows[full:])


PUT_ATTEMPT = Insert(put.PUT_ATTEMPT)
PUT_STATE = Insert(put.PUT_STATE)
PUT_SKIP = Insert(put.PUT_SKIP)
START = Insert(put.START)
MOVE = Insert(put.MOVE)
END = Insert(put.END)
ADD_JOB = Insert(put.ADD_JOB)
CHANGE_JOB = "UPDATE jobs SET frame = ?, data = ?, policy_no = ? WHERE job_no = ?"
SET_ASIDE = "UPDATE states SET damage = ? WHERE job_no = ?"
CHANGE_LANE = "UPDATE states SET lane_no = ?, damage = NULL WHERE job_no = ?"


def chunks(values: list[object]) -> list[list[object]]:
    """Values in lists of few lengths, filled up by repeating the last: so few statements are compiled."""
    found = []
    for start in range(0, len(values), _SIZES[-1]):
        chunk = values[start : start + _SIZES[-1]]
        size = next(size for size in _SIZES if size >= len(chunk))
        found.append(chunk + chunk[-1:] * (size - len(chunk)))
    return found


def one_of(statement: str, values: list[object]) -> str:
    """A statement that ends with IN, and the places of the values."""
    return f"{statement} ({','.join('?' * len(values))})"
