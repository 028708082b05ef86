"""Read queries. They show what was committed when they began."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from foliot.model.kinds import serves
from foliot.model.query import JobQuery
from foliot.model.view import Lane, Overview
from foliot.stores.sql.answer import Woken, bounds, first_wake
from foliot.stores.sql.codes import UNREADABLE, an_instant, whole
from foliot.stores.sql.session import Session

# ruff: noqa: S608 - made of constants only

_IS_DUE = "s.lane_no = l.lane_no AND s.wake_at IS NOT NULL AND s.damage IS NULL"
FIRST_WAKES = f"""
    SELECT l.queue, l.kind, f.wake_at, f.job_no FROM lanes AS l CROSS JOIN states AS f
    WHERE f.job_no = (
        SELECT s.job_no FROM states AS s INDEXED BY states_due WHERE {_IS_DUE}
        ORDER BY s.wake_at, s.job_no LIMIT 1
    )
"""
WAKES_OF_QUEUES = f"{FIRST_WAKES} AND l.queue IN :texts"
LATER_WAKES_OF_QUEUES = WAKES_OF_QUEUES.replace(_IS_DUE, f"{_IS_DUE} AND s.wake_at > :since")
BACKLOG = f"""
    SELECT l.kind, (
        SELECT count(*) FROM states AS s INDEXED BY states_due WHERE {_IS_DUE} AND s.wake_at <= :now
    )
    FROM lanes AS l WHERE l.queue IN :texts
"""
# The keys of a source are counted in their index, without a look at the jobs. Few of them are removed.
JOBS_OF_SOURCE = "SELECT count(*) FROM jobs AS j WHERE j.key > :after AND j.key < :last"
JOBS_BY_SOURCE = """
    SELECT substr(j.key, 1, instr(j.key, '/') - 1), count(*) FROM jobs AS j CROSS JOIN states AS s
    WHERE s.job_no = j.job_no AND s.removed_at IS NULL GROUP BY 1
"""
REMOVED_BY_SOURCE = """
    SELECT substr(j.key, 1, instr(j.key, '/') - 1), count(*) FROM states AS s CROSS JOIN jobs AS j
    WHERE s.removed_at IS NOT NULL AND j.job_no = s.job_no GROUP BY 1
"""
COUNTS = """
    SELECT
        (SELECT count(*) FROM states AS s INDEXED BY states_damaged WHERE s.damage IS NOT NULL),
        (SELECT count(*) FROM states AS s INDEXED BY states_paused
            WHERE s.paused_at IS NOT NULL AND s.removed_at IS NULL),
        (SELECT count(*) FROM states AS s INDEXED BY states_failing
            WHERE s.failures_in_row > 0 AND s.removed_at IS NULL),
        (SELECT count(*) FROM attempts AS a INDEXED BY attempts_open CROSS JOIN states AS s
            WHERE a.state < 3 AND s.job_no = a.job_no AND s.removed_at IS NULL)
"""
# From a source to the next one: one step into the index of keys for each.
SOURCES = """
    WITH RECURSIVE found (source) AS (
        SELECT substr(min(key), 1, instr(min(key), '/') - 1) FROM jobs
        UNION
        SELECT (
            SELECT substr(j.key, 1, instr(j.key, '/') - 1) FROM jobs AS j
            WHERE j.key > f.source || '0' ORDER BY j.key LIMIT 1
        ) FROM found AS f WHERE f.source IS NOT NULL
    )
    SELECT source FROM found WHERE source IS NOT NULL
"""  # "0" follows "/"
_NODES = "SELECT i.id FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no WHERE NOT n.is_buried"


class WakeQuery(NamedTuple):
    """The arguments of `wakes`."""

    queues: Collection[str]
    kinds: Collection[str] | None
    due_by: datetime | None
    after: datetime | None


def wakes(session: Session, asked: WakeQuery) -> Woken:
    """When the next job of these queues and kinds is due; with `due_by`, also how many are due by then."""
    queues, kinds, due_by, after = asked
    if after is None:
        rows = session.dialect.among(WAKES_OF_QUEUES, queues).fetchall()
    else:
        rows = session.dialect.among(LATER_WAKES_OF_QUEUES, queues, since=whole(after)).fetchall()
    woken = first_wake(row[2:] for row in rows if serves(kinds, row[1]))
    if due_by is None:
        return woken
    counts = session.dialect.among(BACKLOG, queues, now=whole(due_by)).fetchall()
    return woken._replace(due=sum(count for kind, count in counts if serves(kinds, kind)))


def count_jobs(session: Session) -> dict[str, int]:
    """How many jobs each source declares. All jobs are counted, so stores remember the answer for a while."""
    dialect = session.dialect
    removed: dict[str, int] = dict(dialect.run(REMOVED_BY_SOURCE).fetchall())
    sources = [source for (source,) in dialect.run(SOURCES).fetchall()]
    if session.has_bad_text or "" in sources:  # a damaged key stands somewhere else than its source
        return dict(dialect.run(JOBS_BY_SOURCE).fetchall())
    found = {}
    for source in sources:
        after, last = bounds(JobQuery(source=source))
        ((count,),) = dialect.run(JOBS_OF_SOURCE, after=after, last=last).fetchall()
        found[source] = count - removed.get(source, 0)
    return {source: count for source, count in found.items() if count}


def overview(session: Session, jobs: int) -> tuple[Overview, tuple[int, ...]]:
    """The overview, with the counted number of jobs; and the jobs whose wake cannot be read."""
    counts, nodes = session.dialect.run(COUNTS), session.dialect.run(_NODES)
    lanes, unreadable = [], []
    for queue, kind, wake_at, job_no in session.dialect.run(FIRST_WAKES).fetchall():
        try:
            lanes.append(Lane(queue, kind, an_instant(wake_at)))
        except UNREADABLE:
            unreadable.append(job_no)
    next_at = min((lane.wake_at for lane in lanes), default=None)
    ids = tuple(sorted(id_ for (id_,) in nodes.fetchall()))
    ((damaged, paused, failing, open_count),) = counts.fetchall()
    shown = Overview(jobs, damaged, open_count, ids, next_at, tuple(sorted(lanes)), paused, failing)
    return shown, tuple(unreadable)
