"""The history of jobs that were removed: what is much of it is forgotten by and by, in batches.

A transaction that deleted the runs of a year would keep its locks for as long as that takes. So a job that is
removed leaves its name, and where the chain of its attempts goes on; nobody else finds them, for its number
is of no job.
"""

from __future__ import annotations

from foliot.stores.postgres import arrays, chain
from foliot.stores.postgres.connection import Connection
from foliot.stores.sql.chain import key_of, outputs_of
from foliot.stores.sql.rows import Row

AT_ONCE = 1000  # moments, and skips, that are forgotten together with their job
_ALL = 2**31  # moments
# Two nodes that prune at the same time have one each.
_NEXT = "SELECT job_no, key, newest_at FROM remains ORDER BY job_no LIMIT 1 FOR UPDATE SKIP LOCKED"
_SKIPS = """
    DELETE FROM skips AS s USING (
        SELECT job_no, first_at, last_at FROM skips WHERE job_no = %s ORDER BY first_at, last_at LIMIT %s
    ) AS v WHERE s.job_no = v.job_no AND s.first_at = v.first_at AND s.last_at = v.last_at
    RETURNING 1
"""
# A job of the same name, declared since, may have written others in their place.
_OUTPUTS = """
    DELETE FROM outputs AS o
    USING unnest(%s::text[], %s::bigint[], %s::bigint[], %s::text[]) AS v (run_key, number, at, request)
    WHERE o.run_key = v.run_key AND o.number = v.number AND NOT EXISTS (
        SELECT 1 FROM attempts AS a
        WHERE a.scheduled_for = v.at AND a.job_no = (SELECT j.job_no FROM jobs AS j WHERE j.key = %s)
            AND a.request = v.request AND a.number = v.number
    )
"""


def leave(connection: Connection, job_no: int, key: str, newest_at: int | None) -> None:
    """Forget the history of a job that is being removed; what is too much of it for now is left behind."""
    # Nobody is to find an open one; it may be needed to find those behind it.
    connection.execute("UPDATE attempts SET state = 3 WHERE job_no = %s AND state < 3", (job_no,))
    job = (job_no, key, newest_at)
    connection.execute("INSERT INTO remains (job_no, key, newest_at) VALUES (%s, %s, %s)", job)
    _forget_some(connection, job, AT_ONCE)


def are_there(connection: Connection) -> bool:
    """Whether a job has left some of its history behind."""
    return connection.execute("SELECT 1 FROM remains LIMIT 1").fetchone() is not None


def forget(connection: Connection, most: int) -> int:
    """Forget so many moments, or skips, of those that a job has left behind; how much it was."""
    job = connection.execute(_NEXT, binary=True).fetchone()
    return 0 if job is None else _forget_some(connection, job, most)


def _forget_some(connection: Connection, job: Row, most: int) -> int:
    job_no, key, newest_at = job
    walk = chain.walk(connection, {job_no: newest_at}, most)
    rows, beyond = walk.rows(job_no), walk.beyond(job_no)
    if len(beyond) > 1:  # the chain parts, and only one place can be kept
        rows, beyond = chain.walk(connection, {job_no: newest_at}, _ALL).rows(job_no), set()
    chain.delete(connection, job_no, map(key_of, rows))
    outputs = [(*output, row[4], row[5]) for row, output in outputs_of(key, rows)]
    if outputs:
        keys, numbers, moments, requests = zip(*outputs, strict=True)
        values = arrays.texts(keys), arrays.numbers(numbers), arrays.numbers(moments), arrays.texts(requests)
        connection.execute(_OUTPUTS, (*values, key))
    room = max(0, most - len(rows))
    skips = connection.execute(_SKIPS, (job_no, room)).fetchall()
    if beyond or len(skips) >= room:
        place = next(iter(beyond), None)
        connection.execute("UPDATE remains SET newest_at = %s WHERE job_no = %s", (place, job_no))
    else:
        connection.execute("DELETE FROM remains WHERE job_no = %s", (job_no,))
    return len(rows) + len(skips)
