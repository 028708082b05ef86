"""Questions: what is shown is what was committed when they were asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from operator import itemgetter

from foliot.model.attempt import Attempt, Outcome
from foliot.model.kinds import serves
from foliot.model.state import Skip
from foliot.model.view import Lane, Overview
from foliot.protocols import JobQuery, Output, RunQuery
from foliot.stores.sql import history_queries, upsert
from foliot.stores.sql.answer import Shown, Woken, bounds, first_wake, newest_runs, show, skips_of, wanted
from foliot.stores.sql.codes import OUTCOME_CODES, UNREADABLE, an_instant, whole
from foliot.stores.sql.entry import ENTRIES
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row, read_those_that_can_be
from foliot.stores.sql.session import Session

# ruff: noqa: S608 - made of constants only

_ALL = 2**31
_EVER = -(2**63)
PAGE = f"""
    {ENTRIES} AND j.key > :after AND (CAST(:last AS text) IS NULL OR j.key < :last)
    AND (:removed OR s.removed_at IS NULL)
    AND (CAST(:name AS text) IS NULL OR substr(j.key, instr(j.key, '/') + 1) = :name)
    ORDER BY j.key LIMIT :most
"""
_RUNS = f"SELECT {', '.join(f'a.{name}' for name in ATTEMPT_COLUMNS.split(', '))}, j.key FROM attempts AS a"
_NEWEST_FIRST = "ORDER BY a.scheduled_for DESC, a.job_no DESC, a.number DESC LIMIT :most"
OPEN_OF_JOB = f"""
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM attempts INDEXED BY attempts_open
    WHERE job_no = :job AND state < 3
"""
PROBLEMS_OF_JOB = f"""
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM attempts INDEXED BY attempts_trouble
    WHERE job_no = :job AND outcome = :outcome AND outcome > 1 AND scheduled_for >= :since
    ORDER BY scheduled_for DESC, number DESC LIMIT :most
"""
_SKIPS = """
    SELECT first_at, last_at, reason FROM skips WHERE job_no = :job
    ORDER BY first_at DESC, last_at DESC LIMIT :most
"""
_OUTPUT = """
    SELECT o.job, o.run_key, o.number, o.text, o.dropped FROM outputs AS o
    WHERE o.run_key = :run AND o.number = :number
    AND EXISTS (SELECT 1 FROM jobs AS j WHERE j.key = o.job)
"""
_IS_DUE = "s.lane_no = l.lane_no AND s.wake_at IS NOT NULL AND s.damage IS NULL"
FIRST_WAKES = f"""
    SELECT l.queue, l.kind, f.wake_at, f.job_no FROM lanes AS l CROSS JOIN states AS f
    WHERE f.job_no = (
        SELECT s.job_no FROM states AS s INDEXED BY states_due WHERE {_IS_DUE}
        ORDER BY s.wake_at, s.job_no LIMIT 1
    )
"""
WAKES_OF_QUEUES = f"{FIRST_WAKES} AND l.queue IN :texts"
BACKLOG = f"""
    SELECT l.kind, (
        SELECT count(*) FROM states AS s INDEXED BY states_due WHERE {_IS_DUE} AND s.wake_at <= :now
    )
    FROM lanes AS l WHERE l.queue IN :texts
"""
_OVERVIEW = """
    SELECT
        (SELECT count(*) FROM states WHERE removed_at IS NULL),
        (SELECT count(*) FROM states WHERE damage IS NOT NULL),
        (SELECT count(*) FROM attempts AS a INDEXED BY attempts_open CROSS JOIN states AS s
            WHERE a.state < 3 AND s.job_no = a.job_no AND s.removed_at IS NULL)
"""
_NODES = "SELECT i.id FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no WHERE NOT n.is_buried"


# -- jobs ------------------------------------------------------------------------------------------


def jobs(session: Session, query: JobQuery) -> Shown:
    """A page of jobs, in the order of their keys."""
    batch = session.batch(locks=False)
    if query.keys is None:
        entries = batch.entries(_page(session, query))
    else:
        entries = wanted(batch.by_key(query.keys).values(), query)
    return show(entries, history_queries.last_successes(session.dialect, entries))


def _page(session: Session, query: JobQuery) -> list[Row]:
    after, last = bounds(query)
    most = _ALL if session.has_bad_text else query.limit
    rows = session.dialect.run(
        PAGE, after=after, last=last, removed=query.with_removed, name=query.name, most=most
    ).fetchall()
    if session.has_bad_text:
        # A key that is bad text is shown as a lesser one: the page after that must not have it again.
        rows = [row for row in rows if row[1] > query.after][: query.limit]
        rows.sort(key=itemgetter(1))
    return rows


# -- runs ------------------------------------------------------------------------------------------


def runs(session: Session, query: RunQuery) -> tuple[Attempt, ...]:
    """Attempts, newest first."""
    rows = _run_rows(session, query) if query.job is None else _runs_of_job(session, query.job, query)
    return tuple(attempt for _, attempt in read_those_that_can_be(rows, session.interned))


def _run_rows(session: Session, query: RunQuery) -> list[Row]:
    conditions, index, values = ["j.job_no = a.job_no"], "", {}
    if query.is_open is True:
        conditions.append("a.state < 3")
        index = "INDEXED BY attempts_open"
    elif query.is_open is False:
        conditions.append("a.state = 3")
    if query.outcome is not None:
        conditions.append("a.outcome = :outcome")
        values["outcome"] = OUTCOME_CODES[query.outcome]
        if query.outcome is not Outcome.SUCCEEDED and not index:
            conditions.append("a.outcome > 1")
            index = "INDEXED BY attempts_problem"
    if query.since is not None:
        conditions.append("a.scheduled_for >= :since")
        values["since"] = whole(query.since)
    sql = f"{_RUNS} {index} CROSS JOIN jobs AS j WHERE {' AND '.join(conditions)} {_NEWEST_FIRST}"
    return session.dialect.run(sql, most=query.limit, **values).fetchall()


def _runs_of_job(session: Session, job: str, query: RunQuery) -> list[Row]:
    number = _job_number(session, job)
    if number is None:
        return []
    if query.is_open:
        rows: Iterable[Row] = sorted(
            session.dialect.run(OPEN_OF_JOB, job=number).fetchall(), key=itemgetter(4), reverse=True
        )
    elif query.outcome not in (None, Outcome.SUCCEEDED):
        since = _EVER if query.since is None else whole(query.since)
        outcome = OUTCOME_CODES[query.outcome]
        rows = session.dialect.run(
            PROBLEMS_OF_JOB, job=number, outcome=outcome, since=since, most=query.limit
        ).fetchall()
    else:
        rows = history_queries.newest_first(session.dialect, number, query.limit + 1)
    return newest_runs(rows, job, query)


def _job_number(session: Session, key: str) -> int | None:
    row = session.dialect.run("SELECT job_no FROM jobs WHERE key = :key", key=key).fetchone()
    return None if row is None else row[0]


def skips(session: Session, job: str, limit: int | None = None) -> tuple[Skip, ...]:
    """The skipped ranges of a job, the newest so many of them, oldest first."""
    most = _ALL if limit is None else limit
    rows = session.dialect.run(_SKIPS, job=_job_number(session, job), most=most).fetchall()
    return skips_of(job, reversed(rows))


# -- outputs ---------------------------------------------------------------------------------------


def write_outputs(session: Session, outputs: Sequence[Output]) -> None:
    """Keep outputs; one that is there already is replaced."""
    text = session.dialect.output_text
    rows = [(o.run_key, o.number, o.job, text(o.text), o.dropped) for o in outputs]
    session.dialect.upsert(upsert.PUT_OUTPUT, rows)


def output(session: Session, run_key: str, number: int) -> Output | None:
    """What an attempt wrote; nothing, if its job was removed."""
    row = session.dialect.run(_OUTPUT, run=run_key, number=number).fetchone()
    if row is None:
        return None
    job, key, count, text, dropped = row
    return Output(job, key, count, session.dialect.read_output(text), dropped)


# -- when to look ----------------------------------------------------------------------------------


def next_wake(session: Session, queues: Collection[str], kinds: Collection[str] | None) -> Woken:
    """When the next job of these queues and kinds is due."""
    rows = session.dialect.among(WAKES_OF_QUEUES, queues).fetchall()
    return first_wake(row[2:] for row in rows if serves(kinds, row[1]))


def backlog(session: Session, queues: Collection[str], now: datetime, kinds: Collection[str] | None) -> int:
    """How many jobs of these queues and kinds are due."""
    rows = session.dialect.among(BACKLOG, set(queues), now=whole(now)).fetchall()
    return sum(count for kind, count in rows if serves(kinds, kind))


def overview(session: Session) -> tuple[Overview, tuple[int, ...]]:
    """The store at a glance, and jobs whose wake cannot be read."""
    counts, nodes = session.dialect.run(_OVERVIEW), session.dialect.run(_NODES)
    lanes, unreadable = [], []
    for queue, kind, wake_at, job_no in session.dialect.run(FIRST_WAKES).fetchall():
        try:
            lanes.append(Lane(queue, kind, an_instant(wake_at)))
        except UNREADABLE:
            unreadable.append(job_no)
    next_at = min((lane.wake_at for lane in lanes), default=None)
    ids = tuple(sorted(id_ for (id_,) in nodes.fetchall()))
    ((count, damaged, open_count),) = counts.fetchall()
    return Overview(count, damaged, open_count, ids, next_at, tuple(sorted(lanes))), tuple(unreadable)
