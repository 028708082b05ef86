"""Questions: what is shown is what was committed when they were asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from itertools import islice
from operator import itemgetter

from foliot.model.attempt import Attempt, Outcome
from foliot.model.state import Skip
from foliot.model.view import Overview
from foliot.protocols import JobQuery, Output, RunQuery
from foliot.stores.sql.answer import Shown, Woken, bounds, first_wake, newest_runs, show, skips_of, wanted
from foliot.stores.sql.codes import OUTCOME_CODES, whole
from foliot.stores.sql.lane import lanes_of
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row, read_those_that_can_be
from foliot.stores.sqlite import history, statement
from foliot.stores.sqlite.bad_text import has_bad_text
from foliot.stores.sqlite.book import Book, Desk

_RUNS = f"SELECT {', '.join(f'a.{name}' for name in ATTEMPT_COLUMNS.split(', '))}, j.key FROM"
_JOBS = "CROSS JOIN jobs AS j ON j.job_no = a.job_no"
_NEWEST_FIRST = "ORDER BY a.scheduled_for DESC, a.job_no DESC, a.number DESC LIMIT"
_MOST_CANCELS = 1000  # of more, the next heartbeat tells
# A request is compared, and never shown: its bytes will do.
CANCELS = """
    SELECT scheduled_for, job_no, CAST(request AS BLOB), number FROM attempts INDEXED BY attempts_cancelling
    WHERE state = 2 ORDER BY node_no DESC LIMIT ?
"""
OPEN_OF_JOB = f"""
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM attempts INDEXED BY attempts_open
    WHERE job_no = ? AND state < 3 ORDER BY scheduled_for DESC
"""  # noqa: S608 - made of constants only
PROBLEMS_OF_JOB = f"""
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM attempts INDEXED BY attempts_trouble
    WHERE job_no = ? AND outcome = ? AND outcome > 1 ORDER BY scheduled_for DESC
"""  # noqa: S608 - made of constants only


# -- jobs ------------------------------------------------------------------------------------------


def jobs(desk: Desk, query: JobQuery) -> Shown:
    """A page of jobs, in the order of their keys."""
    book = Book(desk)
    if query.keys is None:
        entries = book.entries(_page(desk, query))
    else:
        entries = wanted(book.by_key(query.keys).values(), query)
    return show(entries, (history.last_success(desk.connection, entry.job_no) for entry in entries))


def _page(desk: Desk, query: JobQuery) -> list[Row]:
    after, last = bounds(query)
    is_bad = has_bad_text(desk.connection)
    rows: Iterable[Row] = desk.connection.execute(
        f"""
        {statement.BY_KEY.replace("WHERE j.key IN", "")}
        WHERE j.key > ? AND (? IS NULL OR j.key < ?) AND (? OR s.removed_at IS NULL)
        AND (? IS NULL OR substr(j.key, instr(j.key, '/') + 1) = ?)
        ORDER BY j.key LIMIT ?
        """,
        (after, last, last, query.with_removed, query.name, query.name, -1 if is_bad else query.limit),
    )
    if is_bad:
        # A key that is bad text is shown as a lesser one: who asks for more after that must not get it again.
        rows = islice((row for row in rows if row[1] > query.after), query.limit)
        return sorted(rows, key=itemgetter(1))
    return list(rows)


# -- runs ------------------------------------------------------------------------------------------


def runs(desk: Desk, query: RunQuery) -> tuple[Attempt, ...]:
    """Attempts, newest first."""
    return tuple(attempt for _, attempt in read_those_that_can_be(_run_rows(desk, query), desk.shelf))


def _run_rows(desk: Desk, query: RunQuery) -> list[Row]:
    if query.job is not None:
        return _runs_of_job(desk, query.job, query)
    conditions, values, index = [], [], ""
    if query.is_open is True:
        conditions.append("a.state < 3")
        index = "INDEXED BY attempts_open"
    elif query.is_open is False:
        conditions.append("a.state = 3")
    if query.outcome is not None:
        conditions.append("a.outcome = ?")
        values.append(OUTCOME_CODES[query.outcome])
        if query.outcome is not Outcome.SUCCEEDED and not index:
            conditions.append("a.outcome > 1")
            index = "INDEXED BY attempts_problem"
    if query.since is not None:
        conditions.append("a.scheduled_for >= ?")
        values.append(whole(query.since))
    where = " AND ".join(conditions) or "1"
    return desk.connection.execute(
        f"{_RUNS} attempts AS a {index} {_JOBS} WHERE {where} {_NEWEST_FIRST} ?",
        (*values, query.limit),
    ).fetchall()


def _runs_of_job(desk: Desk, job: str, query: RunQuery) -> list[Row]:
    number = job_number(desk, job)
    if number is None:
        return []
    if query.is_open:
        rows: Iterable[Row] = desk.connection.execute(OPEN_OF_JOB, (number,))
    elif query.outcome not in (None, Outcome.SUCCEEDED):
        rows = desk.connection.execute(PROBLEMS_OF_JOB, (number, OUTCOME_CODES[query.outcome]))
    else:
        rows = history.newest_first(desk.connection, number)
    return newest_runs(rows, job, query)


def job_number(desk: Desk, key: str) -> int | None:
    """The number of a job, if there is one of that key."""
    row = desk.connection.execute("SELECT job_no FROM jobs WHERE key = ?", (key,)).fetchone()
    return None if row is None else row[0]


def skips(desk: Desk, job: str, limit: int | None) -> tuple[Skip, ...]:
    """The skipped ranges of a job, the newest so many of them, oldest first."""
    rows = desk.connection.execute(
        """
        SELECT first_at, last_at, reason FROM skips WHERE job_no = ?
        ORDER BY first_at DESC, last_at DESC LIMIT ?
        """,
        (job_number(desk, job), -1 if limit is None else limit),
    ).fetchall()
    return skips_of(job, reversed(rows))


def output(desk: Desk, run_key: str, number: int) -> Output | None:
    """What an attempt wrote; nothing, if its job was removed."""
    row = desk.connection.execute(
        """
        SELECT job, run_key, number, text, dropped FROM outputs
        WHERE run_key = ? AND number = ? AND EXISTS (SELECT 1 FROM jobs WHERE key = outputs.job)
        """,
        (run_key, number),
    ).fetchone()
    return None if row is None else Output(*row)


# -- when to look ----------------------------------------------------------------------------------


def next_wake(desk: Desk, queues: Iterable[str], kinds: Collection[str] | None) -> Woken:
    """When the next job of these queues and kinds is due."""
    lanes = [lane for queue in queues for lane in desk.shelf.lanes(queue, kinds)]
    return _first_wake(desk, lanes)


def cancels(desk: Desk) -> frozenset[Row]:
    """The keys of attempts that are to end; of very many, those of the nodes that joined last."""
    return frozenset(desk.connection.execute(CANCELS, (_MOST_CANCELS,)))


def _first_wake(desk: Desk, lanes: Iterable[int]) -> Woken:
    return first_wake(row for lane in lanes for row in desk.connection.execute(statement.NEXT_WAKE, (lane,)))


def backlog(desk: Desk, queues: Iterable[str], now: datetime, kinds: Collection[str] | None) -> int:
    """How many jobs of these queues and kinds are due."""
    lanes = [lane for queue in set(queues) for lane in desk.shelf.lanes(queue, kinds)]
    counts = (desk.connection.execute(statement.BACKLOG, (lane, whole(now))).fetchone() for lane in lanes)
    return sum(count for (count,) in counts)


def overview(desk: Desk) -> tuple[Overview, tuple[int, ...]]:
    """The store at a glance, and jobs whose wake cannot be read."""
    connection = desk.connection
    (count,) = connection.execute("SELECT count(*) FROM states WHERE removed_at IS NULL").fetchone()
    (damaged,) = connection.execute("SELECT count(*) FROM states WHERE damage IS NOT NULL").fetchone()
    (open_count,) = connection.execute(
        """
        SELECT count(*) FROM attempts AS a INDEXED BY attempts_open
        JOIN states AS s ON s.job_no = a.job_no WHERE a.state < 3 AND s.removed_at IS NULL
        """
    ).fetchone()
    nodes = connection.execute(
        "SELECT i.id FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no WHERE NOT n.is_buried"
    )
    ids = tuple(sorted(id_ for (id_,) in nodes))
    known = connection.execute("SELECT queue, kind, lane_no FROM lanes").fetchall()
    lanes, unreadable = lanes_of(
        (queue, kind, *row)
        for queue, kind, lane in known
        for row in connection.execute(statement.NEXT_WAKE, (lane,))
    )
    next_at = min((lane.wake_at for lane in lanes), default=None)
    return Overview(count, damaged, open_count, ids, next_at, lanes), unreadable
