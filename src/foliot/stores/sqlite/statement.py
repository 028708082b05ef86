"""The statements of the hot path, in one place, so that a test can ask for their plans."""

from __future__ import annotations

import sqlite3
from itertools import chain

from foliot.model.attempt import AttemptState, Outcome, Trigger
from foliot.stores.sqlite.codes import OUTCOME_CODES, STATE_CODES, TRIGGER_CODES
from foliot.stores.sqlite.rows import ATTEMPT_COLUMNS, STATE_COLUMNS, Row

# ruff: noqa: S608 - made of constants only

_STATE_NAMES = STATE_COLUMNS.split(", ")
_CHANGING = (
    "trigger, state, covers_from, wake_at, node_no, token, claimed_at, deadline_at, started_at, finished_at, "
    "outcome, error, reason, retries, losses, exit_code"
)
_ENTRY_COLUMNS = (
    "s.job_no, j.key, j.frame, j.data, j.policy_no, s.lane_no, s.newest_at, s.damage, "
    + ", ".join(f"s.{name}" for name in _STATE_NAMES)
)

DUE = f"""
    SELECT {_ENTRY_COLUMNS}
    FROM states AS s INDEXED BY states_due CROSS JOIN jobs AS j ON j.job_no = s.job_no
    WHERE s.lane_no = ? AND s.wake_at <= ? AND s.damage IS NULL
    ORDER BY s.wake_at, s.job_no LIMIT ?
"""
ANY_CANCEL = "SELECT 1 FROM attempts INDEXED BY attempts_cancelling WHERE state = 2 LIMIT 1"
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
    `constants` are values that are the same for all rows, and stand in the text.
    """

    def __init__(self, table: str, columns: str, on_conflict: str = "", constants: str = "") -> None:
        bound = columns.split(",")
        fixed = [pair.split(" = ") for pair in constants.split(", ")] if constants else []
        names = ", ".join([*(name.strip() for name in bound), *(name for name, _ in fixed)])
        self._head = f"INSERT INTO {table} ({names}) VALUES "
        self._places = f"({', '.join(['?'] * len(bound) + [value for _, value in fixed])})"
        self._tail = f" ON CONFLICT {on_conflict}" if on_conflict else ""
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


def _excluded(columns: str) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in columns.split(", "))


PUT_ATTEMPT = Insert(
    "attempts",
    f"scheduled_for, job_no, request, number, ordinal, previous_at, claim_no, {_CHANGING}",
    f"""(scheduled_for, job_no, request, number) DO UPDATE SET
        claim_no = coalesce(excluded.claim_no, claim_no), {_excluded(_CHANGING)}""",
)
PUT_STATE = Insert(
    "states",
    f"{STATE_COLUMNS}, newest_at, job_no, lane_no",
    f"(job_no) DO UPDATE SET {_excluded(STATE_COLUMNS)}, newest_at = excluded.newest_at",
)
PUT_SKIP = Insert(
    "skips",
    "job_no, first_at, last_at, reason",
    "(job_no, first_at, last_at) DO UPDATE SET reason = excluded.reason",
)
# The usual: an occurrence starts, its job moves on, its attempt succeeds. See `quick`.
START = Insert(
    "attempts",
    "scheduled_for, job_no, previous_at, claim_no, node_no, token, claimed_at, deadline_at, reason",
    constants=f"request = '', number = 1, ordinal = 0, trigger = {TRIGGER_CODES[Trigger.SCHEDULE]}, "
    f"state = {STATE_CODES[AttemptState.RUNNING]}, retries = 0, losses = 0",
)
_MOVED = "token, wake_at, served_until, next_at, fired_count, last_attempt_at, last_run, newest_at"
MOVE = Insert(
    "states",
    f"job_no, {_MOVED}",
    f"(job_no) DO UPDATE SET {_excluded(_MOVED)}",
    constants="lane_no = 0, created_at = 0, failures_in_row = 0",  # never used: the row is there
)
END = Insert(
    "attempts",
    "scheduled_for, job_no, request, number, started_at, finished_at",
    f"""(scheduled_for, job_no, request, number) DO UPDATE SET
        state = {STATE_CODES[AttemptState.ENDED]}, outcome = {OUTCOME_CODES[Outcome.SUCCEEDED]},
        started_at = excluded.started_at, finished_at = excluded.finished_at""",
    # As above: the row is there.
    constants="ordinal = 0, trigger = 0, state = 0, token = 0, reason = '', retries = 0, losses = 0",
)
ADD_JOB = Insert("jobs", "job_no, key, frame, data, policy_no")
CHANGE_JOB = "UPDATE jobs SET frame = ?, data = ?, policy_no = ? WHERE job_no = ?"
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
