"""The history of jobs that were removed: what is much of it is forgotten by and by, in batches.

A transaction that deleted the runs of a year would keep all others waiting. So a job that is removed leaves
its name, and where the chain of its attempts goes on; nobody else finds them, for its number is of no job.
"""

from __future__ import annotations

import sqlite3

from foliot.stores.sql.chain import key_of, outputs_of
from foliot.stores.sql.rows import Row
from foliot.stores.sqlite import chain

AT_ONCE = 1000  # moments, and skips, that are forgotten together with their job
_NEXT = "SELECT job_no, key, newest_at FROM remains ORDER BY job_no LIMIT 1"
_SKIPS = """
    DELETE FROM skips WHERE job_no = :job AND (first_at, last_at) IN (
        SELECT first_at, last_at FROM skips WHERE job_no = :job ORDER BY first_at, last_at LIMIT :most
    )
"""
# A job of the same name, declared since, may have written others in their place.
_OUTPUT = """
    DELETE FROM outputs WHERE run_key = ? AND number = ? AND NOT EXISTS (
        SELECT 1 FROM jobs AS j CROSS JOIN attempts AS a
        WHERE j.key = ? AND a.scheduled_for = ? AND a.job_no = j.job_no AND a.request = ? AND a.number = ?
    )
"""


def leave(connection: sqlite3.Connection, job_no: int, key: str, newest_at: int | None) -> None:
    """Forget the history of a job that is being removed; what is too much of it for now is left behind."""
    # Nobody is to find an open one; it may be needed to find those behind it.
    connection.execute("UPDATE attempts SET state = 3 WHERE job_no = ? AND state < 3", (job_no,))
    job = (job_no, key, newest_at)
    connection.execute("INSERT INTO remains (job_no, key, newest_at) VALUES (?, ?, ?)", job)
    _forget_some(connection, job, AT_ONCE)


def are_there(connection: sqlite3.Connection) -> bool:
    """Whether a job has left some of its history behind."""
    return connection.execute(_NEXT).fetchone() is not None


def forget(connection: sqlite3.Connection, most: int) -> int:
    """Forget so many moments, or skips, of those that a job has left behind; how much it was."""
    job = connection.execute(_NEXT).fetchone()
    return 0 if job is None else _forget_some(connection, job, most)


def _forget_some(connection: sqlite3.Connection, job: Row, most: int) -> int:
    job_no, key, newest_at = job
    walk = chain.walk(connection, {job_no: newest_at}, most)
    rows, beyond = walk.rows(job_no), walk.beyond(job_no)
    if len(beyond) > 1:  # the chain parts, and only one place can be kept
        rows, beyond = chain.walk(connection, {job_no: newest_at}, -1).rows(job_no), set()
    connection.executemany(chain.DELETE, [(at, job_no, *rest) for at, *rest in map(key_of, rows)])
    outputs = outputs_of(key, rows)
    connection.executemany(_OUTPUT, [(*output, key, *key_of(row)) for row, output in outputs])
    room = max(0, most - len(rows))
    skips = connection.execute(_SKIPS, {"job": job_no, "most": room}).rowcount
    if beyond or skips >= room:
        place = next(iter(beyond), None)
        connection.execute("UPDATE remains SET newest_at = ? WHERE job_no = ?", (place, job_no))
    else:
        connection.execute("DELETE FROM remains WHERE job_no = ?", (job_no,))
    return len(rows) + skips
