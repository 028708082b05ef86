"""The history of jobs that were removed: what is much of it is forgotten by and by, in batches.

A transaction that deleted the runs of a year would keep its locks for as long as that takes. So a job that is
removed leaves its name, and where the chain of its attempts goes on; nobody else finds them, for its number
is of no job.
"""

from __future__ import annotations

from collections.abc import Collection

from foliot.stores.postgres import arrays, chain
from foliot.stores.postgres.connection import Connection
from foliot.stores.sql.chain import first_of, key_of, output_keys, output_ranges
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
# Where a job of the same name was declared since, the old ones are gone: see `clear_outputs`.
_OUTPUTS = """
    DELETE FROM outputs AS o USING unnest(%s::text[], %s::bigint[]) AS v (run_key, number)
    WHERE o.run_key = v.run_key AND o.number = v.number AND NOT EXISTS (SELECT 1 FROM jobs WHERE key = %s)
"""
# Locked, so that nobody forgets some of the same meanwhile, in another order.
_LEFT_BY = "SELECT key FROM remains WHERE key = ANY(%s::text[]) ORDER BY job_no FOR UPDATE"
_ALL_OUTPUTS = """
    DELETE FROM outputs
    WHERE ((run_key > %s AND run_key < %s) OR (run_key > %s AND run_key < %s)) AND job = %s
"""


def leave(connection: Connection, job_no: int, key: str, newest_at: int | None) -> None:
    """Forget the history of a job that was just removed; what is too much of it for now is left behind."""
    # Nobody is to find an open one; it may be needed to find those behind it.
    connection.execute("UPDATE attempts SET state = 3 WHERE job_no = %s AND state < 3", (job_no,))
    _, left = _forget_some(connection, (job_no, key, newest_at), AT_ONCE)
    if left is not None:
        values = (job_no, key, *left)
        connection.execute("INSERT INTO remains (job_no, key, newest_at) VALUES (%s, %s, %s)", values)


def clear_outputs(connection: Connection, keys: Collection[str]) -> None:
    """Forget the outputs that jobs have left which had these keys: another job may soon write its own there.

    All at once: there are few that come again before they are forgotten.
    """
    if keys:
        found = connection.execute(_LEFT_BY, (arrays.texts(keys),), binary=True).fetchall()
        for key in dict.fromkeys(key for (key,) in found):
            connection.execute(_ALL_OUTPUTS, (*output_ranges(key), key))


def are_there(connection: Connection) -> bool:
    """Whether a job has left some of its history behind."""
    return connection.execute("SELECT 1 FROM remains LIMIT 1").fetchone() is not None


def forget(connection: Connection, most: int) -> int:
    """Forget so many moments, or skips, of those that a job has left behind; how much it was."""
    job = connection.execute(_NEXT, binary=True).fetchone()
    if job is None:
        return 0
    count, left = _forget_some(connection, job, most)
    if left is None:
        connection.execute("DELETE FROM remains WHERE job_no = %s", (job[0],))
    else:
        connection.execute("UPDATE remains SET newest_at = %s WHERE job_no = %s", (*left, job[0]))
    return count


def _forget_some(connection: Connection, job: Row, most: int) -> tuple[int, tuple[int | None] | None]:
    """Forget so much of a job; how much it was, and with which moment the rest begins, if there is one."""
    job_no, key, newest_at = job
    walk = chain.walk(connection, {job_no: newest_at}, most)
    rows, beyond = walk.rows(job_no), walk.beyond(job_no)
    place: int | None = None
    if len(beyond) > 1:  # the chain parts, and only one place can be kept
        rows = chain.walk(connection, {job_no: newest_at}, _ALL).rows(job_no)
    else:
        rows, place = first_of(rows, newest_at, most)
        place = next(iter(beyond), None) if place is None else place
    chain.delete(connection, job_no, map(key_of, rows))
    outputs = output_keys(key, rows)
    if outputs:
        keys, numbers = zip(*outputs, strict=True)
        connection.execute(_OUTPUTS, (arrays.texts(keys), arrays.numbers(numbers), key))
    room = max(0, most - len(rows))
    skips = connection.execute(_SKIPS, (job_no, room)).fetchall()
    has_more = place is not None or len(skips) >= room
    return len(rows) + len(skips), (place,) if has_more else None
