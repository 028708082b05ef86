"""The statements of the hot path, in one place, so that a test can ask for their plans."""

from __future__ import annotations

from collections.abc import Iterable

from foliot.model.attempt import AttemptState, Outcome, Trigger
from foliot.stores.postgres import arrays
from foliot.stores.postgres.connection import Connection
from foliot.stores.sqlite.codes import OUTCOME_CODES, STATE_CODES, TRIGGER_CODES
from foliot.stores.sqlite.rows import ATTEMPT_COLUMNS, STATE_COLUMNS, Row

# ruff: noqa: S608 - made of constants only

_TEXTS = {"request", "error", "reason", "last_run", "key", "frame", "data"}
_CHANGING = (
    "trigger, state, covers_from, wake_at, node_no, token, claimed_at, deadline_at, started_at, finished_at, "
    "outcome, error, reason, retries, losses, exit_code"
)
_ENTRY = "j.job_no, j.key, j.frame, j.data, j.policy_no, s.lane_no, s.newest_at, s.damage, " + ", ".join(
    f"s.{name}" for name in STATE_COLUMNS.split(", ")
)
_STATE = "s.job_no, s.defined, s.lane_no, s.newest_at, s.damage, " + ", ".join(
    f"s.{name}" for name in STATE_COLUMNS.split(", ")
)
_ENTRIES = f"SELECT {_ENTRY} FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no"

# Time as the server has it, or as a test says.
NOW = "coalesce(%s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"

# What is due, locked, in each lane at most so many, from one place to another. What others have is theirs.
LOCK_DUE = f"""
    SELECT d.* FROM unnest(%s::bigint[], %s::bigint[]) AS l (lane_no, most), LATERAL (
        SELECT {_STATE} FROM states AS s
        WHERE s.lane_no = l.lane_no AND s.wake_at <= %s AND s.damage IS NULL
        AND (s.wake_at, s.job_no) > (%s, %s) AND (s.wake_at, s.job_no) <= (%s, %s)
        ORDER BY s.wake_at, s.job_no LIMIT l.most FOR UPDATE SKIP LOCKED
    ) AS d
"""
WAIT_FOR_DUE = LOCK_DUE.replace(" SKIP LOCKED", "")
# How the jobs that have been due for longest are spread over lanes.
SPREAD = """
    SELECT lane_no, count(*) FROM (
        SELECT l.lane_no FROM unnest(%s::bigint[]) AS l (lane_no), LATERAL (
            SELECT s.wake_at, s.job_no FROM states AS s
            WHERE s.lane_no = l.lane_no AND s.wake_at <= %s AND s.damage IS NULL
            ORDER BY s.wake_at, s.job_no LIMIT %s
        ) AS d ORDER BY d.wake_at, d.job_no LIMIT %s
    ) AS first GROUP BY lane_no
"""
NEXT_WAKE = """
    SELECT d.wake_at, d.job_no FROM lanes AS l, LATERAL (
        SELECT s.wake_at, s.job_no FROM states AS s
        WHERE s.lane_no = l.lane_no AND s.wake_at IS NOT NULL AND s.damage IS NULL
        ORDER BY s.wake_at, s.job_no LIMIT 1
    ) AS d
"""
BACKLOG = """
    SELECT count(*) FROM states AS s JOIN lanes AS l ON l.lane_no = s.lane_no
    WHERE l.queue = ANY(%s::text[]) AND (%s::text[] IS NULL OR l.kind = ANY(%s::text[]))
    AND s.wake_at <= %s AND s.wake_at IS NOT NULL AND s.damage IS NULL
"""
# Locked in the order of their numbers, so that no two wait for each other.
LOCK_BY_KEY = """
    SELECT s.job_no FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no
    WHERE j.key = ANY(%s::text[]) ORDER BY s.job_no FOR UPDATE OF s
"""
LOCK_BY_NUMBER = f"""
    SELECT {_STATE} FROM states AS s WHERE s.job_no = ANY(%s::bigint[]) ORDER BY s.job_no FOR UPDATE
"""
MARK = "SELECT (pg_current_xact_id()::text::bigint & 4294967295)::text"
LOCK_MARKS = """
    SELECT s.job_no, s.xmin::text FROM states AS s WHERE s.job_no = ANY(%s::bigint[])
    ORDER BY s.job_no FOR UPDATE
"""
OPEN_MARKS = "SELECT job_no, xmin::text FROM attempts WHERE state < 3 AND job_no = ANY(%s::bigint[])"
DEFINITIONS = "SELECT job_no, key, frame, data, policy_no FROM jobs WHERE job_no = ANY(%s::bigint[])"
BY_KEY = f"{_ENTRIES} WHERE j.key = ANY(%s::text[])"
BY_NUMBER = f"{_ENTRIES} WHERE j.job_no = ANY(%s::bigint[])"
PAGE = f"""
    {_ENTRIES} WHERE j.key > %s AND (%s::text IS NULL OR j.key < %s) AND (%s OR s.removed_at IS NULL)
    AND (%s::text IS NULL OR substr(j.key, strpos(j.key, '/') + 1) = %s) ORDER BY j.key LIMIT %s
"""
_ATTEMPT = ", ".join(f"a.{name}" for name in ATTEMPT_COLUMNS.split(", "))
_OPEN = f"SELECT {_ATTEMPT}, a.ordinal FROM attempts AS a"
OPEN_BY_NUMBER = f"{_OPEN} WHERE a.state < 3 AND a.job_no = ANY(%s::bigint[])"
OPEN_BY_KEY = f"""
    {_OPEN} JOIN jobs AS j ON j.job_no = a.job_no WHERE a.state < 3 AND j.key = ANY(%s::text[])
"""
HELD = f"""
    SELECT {_ATTEMPT}, a.claim_no, j.key
    FROM attempts AS a JOIN jobs AS j ON j.job_no = a.job_no WHERE a.node_no = %s AND a.state IN (1, 2)
"""
HOLDERS = """
    WITH RECURSIVE holders (node_no) AS (
        (SELECT node_no FROM attempts WHERE state IN (1, 2) AND node_no IS NOT NULL ORDER BY node_no LIMIT 1)
        UNION ALL
        SELECT (
            SELECT a.node_no FROM attempts AS a WHERE a.state IN (1, 2) AND a.node_no > holders.node_no
            ORDER BY a.node_no LIMIT 1
        )
        FROM holders WHERE holders.node_no IS NOT NULL
    )
    SELECT h.node_no FROM holders AS h LEFT JOIN nodes AS n ON n.node_no = h.node_no
    WHERE h.node_no IS NOT NULL AND (n.node_no IS NULL OR n.is_buried)
"""


class Insert:
    """Rows to be inserted or, where the key is there, to be changed; all of them in one statement.

    An insert that finds its row is how rows are changed, too: it goes by the key whatever the planner
    believes. `constants` are values that are the same for all rows. `key` is how many columns name a row.
    """

    def __init__(
        self, table: str, columns: str, on_conflict: str = "", constants: str = "", key: slice = slice(0)
    ) -> None:
        self._names = columns.split(", ")
        self._makers = [arrays.texts if name in _TEXTS else arrays.numbers for name in self._names]
        self._key = key
        fixed = [pair.split(" = ") for pair in constants.split(", ")] if constants else []
        places = ", ".join(f"%s::{'text' if name in _TEXTS else 'bigint'}[]" for name in self._names)
        into = ", ".join([*self._names, *(name for name, _ in fixed)])
        values = ", ".join([*(f"v.{name}" for name in self._names), *(value for _, value in fixed)])
        tail = f" ON CONFLICT {on_conflict}" if on_conflict else ""
        self.sql = (
            f"INSERT INTO {table} ({into}) SELECT {values} FROM unnest({places}) AS v ({columns}){tail}"
        )

    def execute(self, connection: Connection, rows: list[Row]) -> None:
        """Write the rows; of several for the same key the last counts, and each takes effect."""
        for wave in self._waves(rows):
            columns = zip(*wave, strict=True)
            values = [make(column) for make, column in zip(self._makers, columns, strict=True)]
            connection.execute(self.sql, values)

    def _waves(self, rows: list[Row]) -> Iterable[list[Row]]:
        """A statement must not touch a row twice."""
        key = self._key
        if key == slice(0) or len({row[key] for row in rows}) == len(rows):
            return [rows]
        waves: list[list[Row]] = []
        counts: dict[Row, int] = {}
        for row in rows:
            place = counts[row[key]] = counts.get(row[key], -1) + 1
            if place == len(waves):
                waves.append([])
            waves[place].append(row)
        return waves


def _excluded(columns: str) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in columns.split(", "))


PUT_ATTEMPT = Insert(
    "attempts",
    f"scheduled_for, job_no, request, number, ordinal, previous_at, claim_no, {_CHANGING}",
    f"""(scheduled_for, job_no, request, number) DO UPDATE SET
        claim_no = coalesce(excluded.claim_no, attempts.claim_no), {_excluded(_CHANGING)}""",
    key=slice(4),
)
NEW_STATE = f"{STATE_COLUMNS}, newest_at, job_no, lane_no"
PUT_STATE = Insert(
    "states",
    NEW_STATE,
    f"(job_no) DO UPDATE SET {_excluded(STATE_COLUMNS)}, newest_at = excluded.newest_at",
    key=slice(13, 14),
)
PUT_SKIP = Insert(
    "skips",
    "job_no, first_at, last_at, reason",
    "(job_no, first_at, last_at) DO UPDATE SET reason = excluded.reason",
    key=slice(3),
)
# The usual: an occurrence starts, its job moves on, its attempt succeeds. See `quick` of the store on SQLite.
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
    key=slice(1),
)
END = Insert(
    "attempts",
    "scheduled_for, job_no, request, number, started_at, finished_at",
    f"""(scheduled_for, job_no, request, number) DO UPDATE SET
        state = {STATE_CODES[AttemptState.ENDED]}, outcome = {OUTCOME_CODES[Outcome.SUCCEEDED]},
        started_at = excluded.started_at, finished_at = excluded.finished_at""",
    # As above: the row is there.
    constants="ordinal = 0, trigger = 0, state = 0, token = 0, reason = '', retries = 0, losses = 0",
    key=slice(4),
)
ADD_JOB = Insert("jobs", "job_no, key, frame, data, policy_no")
CHANGE_JOB = "UPDATE jobs SET frame = %s, data = %s, policy_no = %s WHERE job_no = %s"
COUNT_DEFINITION = "UPDATE states SET defined = defined + 1 WHERE job_no = %s"
CHANGE_LANE = "UPDATE states SET lane_no = %s, damage = NULL WHERE job_no = %s"
