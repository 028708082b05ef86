"""The statements of the hot path, in one place, so that a test can ask for their plans."""

from __future__ import annotations

from collections.abc import Iterable

from foliot.stores.postgres import arrays
from foliot.stores.postgres.connection import Connection
from foliot.stores.sql import put
from foliot.stores.sql.put import Put
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, STATE_COLUMNS, Row

# ruff: noqa: S608 - made of constants only

_TEXTS = {"request", "error", "reason", "last_run", "key", "frame", "data"}
_COLUMNS = "s.lane_no, s.newest_at, s.opened, s.skipped, s.look_at, s.damage, " + ", ".join(
    f"s.{name}" for name in STATE_COLUMNS.split(", ")
)
_ENTRY = f"j.job_no, j.key, j.frame, j.data, j.policy_no, {_COLUMNS}"
_STATE = f"s.job_no, s.defined, {_COLUMNS}"
_ENTRIES = f"SELECT {_ENTRY} FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no"

# Time as the server has it, or as a test says.
NOW = "coalesce(%s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"

# What is due, locked, in each lane at most so many, after a place. What others have is theirs.
LOCK_DUE = f"""
    SELECT d.* FROM unnest(%s::bigint[], %s::bigint[]) AS l (lane_no, most), LATERAL (
        SELECT {_STATE} FROM states AS s
        WHERE s.lane_no = l.lane_no AND s.wake_at <= %s AND s.damage IS NULL
        AND (s.wake_at, s.job_no) > (%s, %s)
        ORDER BY s.wake_at, s.job_no LIMIT l.most FOR UPDATE SKIP LOCKED
    ) AS d
"""
# How long others need, as a rule, to decide about what they have locked; less than a call may take.
A_MOMENT = """
    SELECT pg_sleep(least(0.05, extract(epoch FROM current_setting('statement_timeout')::interval) / 4))
"""
# How the jobs that have been due for longest are spread over lanes.
SPREAD = """
    SELECT lane_no, count(*) FROM (
        SELECT l.lane_no FROM unnest(%s::bigint[]) AS l (lane_no), LATERAL (
            SELECT s.wake_at, s.job_no FROM states AS s
            WHERE s.lane_no = l.lane_no AND s.wake_at <= %s AND s.damage IS NULL
            AND (s.wake_at, s.job_no) > (%s, %s)
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
# Not by a join: to have the order without sorting, it would walk through all states.
LOCK_BY_KEY = """
    SELECT s.job_no FROM states AS s
    WHERE s.job_no = ANY(ARRAY(SELECT j.job_no FROM unnest(%s::text[]) AS w (key)
        JOIN jobs AS j ON j.key = w.key COLLATE "C"))
    ORDER BY s.job_no FOR UPDATE
"""
LOCK_BY_NUMBER = f"""
    SELECT {_STATE} FROM states AS s WHERE s.job_no = ANY(%s::bigint[]) ORDER BY s.job_no FOR UPDATE
"""
# What the transaction leaves on the rows that it writes.
MARK = "(pg_current_xact_id()::text::bigint & 4294967295)::text"
# Jobs are locked, in the order in which they are given; how many of them bear their marks.
LOCK_MARKED = """
    SELECT count(*) FILTER (WHERE s.xmin = v.mark) FROM unnest(%s::bigint[], %s::xid[]) AS v (job_no, mark),
    LATERAL (SELECT s.xmin FROM states AS s WHERE s.job_no = v.job_no FOR UPDATE) AS s
"""
# How many attempts of some jobs are open, and how many of those bear the marks of their jobs.
OPEN_MARKED = """
    SELECT count(*), count(*) FILTER (WHERE a.xmin = v.mark)
    FROM unnest(%s::bigint[], %s::xid[]) AS v (job_no, mark),
    LATERAL (SELECT a.xmin FROM attempts AS a WHERE a.job_no = v.job_no AND a.state < 3 OFFSET 0) AS a
"""
DEFINITIONS = "SELECT job_no, key, frame, data, policy_no FROM jobs WHERE job_no = ANY(%s::bigint[])"
# By a join with what is wanted, none twice: for a thousand keys in `= ANY` a planner walks through all.
_WANTED = 'unnest(%s::text[]) AS w (key) JOIN jobs AS j ON j.key = w.key COLLATE "C"'
BY_KEY = f"SELECT {_ENTRY} FROM {_WANTED} JOIN states AS s ON s.job_no = j.job_no"
BY_NUMBER = f"{_ENTRIES} WHERE j.job_no = ANY(%s::bigint[])"
PAGE = f"""
    {_ENTRIES} WHERE j.key > %s AND (%s::text IS NULL OR j.key < %s) AND (%s OR s.removed_at IS NULL)
    AND (%s::text IS NULL OR substr(j.key, strpos(j.key, '/') + 1) = %s) ORDER BY j.key LIMIT %s
"""
_ATTEMPT = ", ".join(f"a.{name}" for name in ATTEMPT_COLUMNS.split(", "))
_OPEN = f"SELECT {_ATTEMPT}, a.ordinal FROM attempts AS a"
OPEN_BY_NUMBER = f"{_OPEN} WHERE a.state < 3 AND a.job_no = ANY(%s::bigint[])"
OPEN_BY_KEY = (
    f"SELECT {_ATTEMPT}, a.ordinal FROM {_WANTED} JOIN attempts AS a ON a.job_no = j.job_no WHERE a.state < 3"
)
ATTEMPT = "SELECT 1 FROM attempts WHERE (scheduled_for, job_no, request, number) = (%s, %s, %s, %s)"
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
    believes.
    """

    def __init__(self, what: Put) -> None:
        names = what.columns.split(", ")
        self._makers = [arrays.texts if name in _TEXTS else arrays.numbers for name in names]
        self._key = what.key
        self._job = names.index("job_no")
        fixed = [pair.split(" = ") for pair in what.constants.split(", ")] if what.constants else []
        places = ", ".join(f"%s::{'text' if name in _TEXTS else 'bigint'}[]" for name in names)
        into = ", ".join([*names, *(name for name, _ in fixed)])
        values = ", ".join([*(f"v.{name}" for name in names), *(value for _, value in fixed)])
        tail = f" ON CONFLICT {what.on_conflict}" if what.on_conflict else ""
        rows = f"unnest({places}) AS v ({what.columns})"
        self.sql = f"INSERT INTO {what.table} ({into}) SELECT {values} FROM {rows}{tail}"

    def execute(self, connection: Connection, rows: list[Row]) -> None:
        """Write the rows; of several for the same key the last counts, and each takes effect."""
        for wave in self._waves(rows):
            columns = zip(*wave, strict=True)
            values = [make(column) for make, column in zip(self._makers, columns, strict=True)]
            connection.execute(self.sql, values)

    def _waves(self, rows: list[Row]) -> Iterable[list[Row]]:
        """A statement must not touch a row twice. Rows of as many jobs as there are rows never do."""
        key, job = self._key, self._job
        if key == slice(0) or len({row[job] for row in rows}) == len(rows):
            return [rows]
        waves: list[list[Row]] = []
        counts: dict[Row, int] = {}
        for row in rows:
            place = counts[row[key]] = counts.get(row[key], -1) + 1
            if place == len(waves):
                waves.append([])
            waves[place].append(row)
        return waves


NEW_STATE = put.PUT_STATE.columns
PUT_ATTEMPT = Insert(put.PUT_ATTEMPT)
PUT_STATE = Insert(put.PUT_STATE)
PUT_SKIP = Insert(put.PUT_SKIP)
START = Insert(put.START)
MOVE = Insert(put.MOVE)
END = Insert(put.END)
ADD_JOB = Insert(put.ADD_JOB)
CHANGE_JOB = "UPDATE jobs SET frame = %s, data = %s, policy_no = %s WHERE job_no = %s"
COUNT_DEFINITION = "UPDATE states SET defined = defined + 1 WHERE job_no = %s"
SET_ASIDE = "UPDATE states SET damage = %s WHERE job_no = ANY(%s::bigint[])"
CHANGE_LANE = "UPDATE states SET lane_no = %s, damage = NULL WHERE job_no = %s"
