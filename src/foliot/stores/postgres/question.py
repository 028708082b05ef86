"""Questions: what is shown is what was committed when they were asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from foliot.model.attempt import Attempt, Outcome
from foliot.model.state import Skip
from foliot.model.view import Overview
from foliot.protocols import JobQuery, RunQuery
from foliot.stores.postgres import arrays, history, statement
from foliot.stores.postgres.book import Book, Desk
from foliot.stores.sql.answer import Shown, Woken, bounds, first_wake, newest_runs, show, skips_of, wanted
from foliot.stores.sql.codes import OUTCOME_CODES, whole
from foliot.stores.sql.lane import lanes_of
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row, read_those_that_can_be

# ruff: noqa: S608 - made of constants only

_RUNS = f"""
    SELECT {", ".join(f"a.{name}" for name in ATTEMPT_COLUMNS.split(", "))}, j.key
    FROM attempts AS a JOIN jobs AS j ON j.job_no = a.job_no
"""
_NEWEST_FIRST = "ORDER BY a.scheduled_for DESC, a.job_no DESC, a.number DESC LIMIT %s"
OPEN_OF_JOB = f"""
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM attempts
    WHERE job_no = %s AND state < 3
"""
PROBLEMS_OF_JOB = f"""
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM attempts
    WHERE job_no = %s AND outcome = %s AND outcome > 1 AND (%s::bigint IS NULL OR scheduled_for >= %s)
    ORDER BY scheduled_for DESC, number DESC LIMIT %s
"""
_SKIPS = """
    SELECT first_at, last_at, reason FROM skips WHERE job_no = %s
    ORDER BY first_at DESC, last_at DESC LIMIT %s
"""
_OVERVIEW = """
    SELECT
        (SELECT count(*) FROM states WHERE removed_at IS NULL),
        (SELECT count(*) FROM states WHERE damage IS NOT NULL),
        (SELECT count(*) FROM attempts AS a JOIN states AS s ON s.job_no = a.job_no
            WHERE a.state < 3 AND s.removed_at IS NULL)
"""
_LANES = statement.NEXT_WAKE.replace("SELECT d.wake_at", "SELECT l.queue, l.kind, d.wake_at", 1)
_NODES = "SELECT i.id FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no WHERE NOT n.is_buried"


# -- jobs ------------------------------------------------------------------------------------------


def jobs(desk: Desk, query: JobQuery) -> Shown:
    """A page of jobs, in the order of their keys."""
    book = Book(desk, locks=False)
    if query.keys is None:
        entries = book.entries(_page(desk, query))
    else:
        entries = wanted(book.by_key(query.keys).values(), query)
    found = history.last_successes(desk.connection, {entry.job_no: entry.newest for entry in entries})
    return show(entries, (found.get(entry.job_no) for entry in entries))


def _page(desk: Desk, query: JobQuery) -> list[Row]:
    after, last = bounds(query)
    values = (after, last, last, query.with_removed, query.name, query.name, query.limit)
    return desk.connection.execute(statement.PAGE, values, binary=True).fetchall()


# -- runs ------------------------------------------------------------------------------------------


def runs(desk: Desk, query: RunQuery) -> tuple[Attempt, ...]:
    """Attempts, newest first."""
    return tuple(attempt for _, attempt in read_those_that_can_be(_run_rows(desk, query), desk.shelf))


def _run_rows(desk: Desk, query: RunQuery) -> list[Row]:
    if query.job is not None:
        return _runs_of_job(desk, query.job, query)
    conditions, values = ["true"], []
    if query.is_open is not None:
        conditions.append("a.state < 3" if query.is_open else "a.state = 3")
    if query.outcome is not None:
        conditions.append("a.outcome = %s")
        values.append(OUTCOME_CODES[query.outcome])
        if query.outcome is not Outcome.SUCCEEDED:
            conditions.append("a.outcome > 1")
    if query.since is not None:
        conditions.append("a.scheduled_for >= %s")
        values.append(whole(query.since))
    sql = f"{_RUNS} WHERE {' AND '.join(conditions)} {_NEWEST_FIRST}"
    return desk.connection.execute(sql, (*values, query.limit), binary=True).fetchall()


def _runs_of_job(desk: Desk, job: str, query: RunQuery) -> list[Row]:
    number = job_number(desk, job)
    if number is None:
        return []
    if query.is_open:
        some = desk.connection.execute(OPEN_OF_JOB, (number,), binary=True).fetchall()
        rows: Iterable[Row] = sorted(some, key=lambda row: row[4], reverse=True)
    elif query.outcome not in (None, Outcome.SUCCEEDED):
        since = None if query.since is None else whole(query.since)
        values = number, OUTCOME_CODES[query.outcome], since, since, query.limit
        rows = desk.connection.execute(PROBLEMS_OF_JOB, values, binary=True)
    else:
        rows = history.newest_first(desk.connection, number, query.limit + 1)
    return newest_runs(rows, job, query)


def job_number(desk: Desk, key: str) -> int | None:
    """The number of a job, if there is one of that key."""
    row = desk.connection.execute("SELECT job_no FROM jobs WHERE key = %s", (key,)).fetchone()
    return None if row is None else row[0]


def skips(desk: Desk, job: str, limit: int | None) -> tuple[Skip, ...]:
    """The skipped ranges of a job, the newest so many of them, oldest first."""
    rows = desk.connection.execute(_SKIPS, (job_number(desk, job), limit), binary=True).fetchall()
    return skips_of(job, reversed(rows))


# -- when to look ----------------------------------------------------------------------------------


def next_wake(desk: Desk, queues: Iterable[str], kinds: Collection[str] | None) -> Woken:
    """When the next job of these queues and kinds is due."""
    conditions, values = "l.queue = ANY(%s::text[])", [arrays.texts(queues)]
    if kinds is not None:
        conditions += " AND l.kind = ANY(%s::text[])"
        values.append(arrays.texts(kinds))
    rows = desk.connection.execute(f"{statement.NEXT_WAKE} WHERE {conditions}", values, binary=True)
    return first_wake(rows)


def backlog(desk: Desk, queues: Iterable[str], now: datetime, kinds: Collection[str] | None) -> int:
    """How many jobs of these queues and kinds are due."""
    can_do = None if kinds is None else arrays.texts(kinds)
    values = (arrays.texts(queues), can_do, can_do, whole(now))
    row = desk.connection.execute(statement.BACKLOG, values, binary=True).fetchone()
    return 0 if row is None else row[0]


def overview(desk: Desk) -> tuple[Overview, tuple[int, ...]]:
    """The store at a glance, and jobs whose wake cannot be read."""
    counts = desk.connection.execute(_OVERVIEW, binary=True)
    nodes = desk.connection.execute(_NODES)
    lanes, unreadable = lanes_of(desk.connection.execute(_LANES, binary=True))
    next_at = min((lane.wake_at for lane in lanes), default=None)
    ids = tuple(sorted(id_ for (id_,) in nodes))
    jobs, damaged, open_count = counts.fetchone() or (0, 0, 0)
    return Overview(jobs, damaged, open_count, ids, next_at, lanes), unreadable
