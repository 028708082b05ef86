"""The history of jobs that were removed: what is much of it is forgotten by and by, in batches.

A transaction that deleted the runs of a year would keep all others waiting. So a job that is removed leaves
its name, and where the chain of its attempts goes on; nobody else finds them, for its number is of no job.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from foliot.stores.sql.chain import first_of, key_of, output_keys, output_ranges
from foliot.stores.sql.rows import Row
from foliot.stores.sqlite import chain

AT_ONCE = 1000  # moments, and skips, that are forgotten together with their job
_NEXT = "SELECT job_no, key, newest_at FROM remains ORDER BY job_no LIMIT 1"
_SKIPS = """
    DELETE FROM skips WHERE job_no = :job AND (first_at, last_at) IN (
        SELECT first_at, last_at FROM skips WHERE job_no = :job ORDER BY first_at, last_at LIMIT :most
    )
"""
# Where a job of the same name was declared since, the old ones are gone: see `clear_outputs`.
_OUTPUT = """
    DELETE FROM outputs
    WHERE run_key = ? AND number = ? AND NOT EXISTS (SELECT 1 FROM jobs WHERE key = ?)
"""
_OUTPUTS = """
    DELETE FROM outputs
    WHERE ((run_key > ? AND run_key < ?) OR (run_key > ? AND run_key < ?)) AND job = ?
"""


def leave(connection: sqlite3.Connection, job_no: int, key: str, newest_at: int | None) -> None:
    """Forget the history of a job that was just removed; what is too much of it for now is left behind."""
    # Nobody is to find an open one; it may be needed to find those behind it.
    connection.execute("UPDATE attempts SET state = 3 WHERE job_no = ? AND state < 3", (job_no,))
    _, left = _forget_some(connection, (job_no, key, newest_at), AT_ONCE)
    if left is not None:
        connection.execute(
            "INSERT INTO remains (job_no, key, newest_at) VALUES (?, ?, ?)", (job_no, key, *left)
        )


def clear_outputs(connection: sqlite3.Connection, keys: Collection[str]) -> None:
    """Forget the outputs that jobs have left which had these keys: another job may soon write its own there.

    All at once: there are few that come again before they are forgotten.
    """
    if keys and are_there(connection):
        for (key,) in connection.execute("SELECT DISTINCT key FROM remains").fetchall():
            if key in keys:
                connection.execute(_OUTPUTS, (*output_ranges(key), key))


def are_there(connection: sqlite3.Connection) -> bool:
    """Whether a job has left some of its history behind."""
    return connection.execute(_NEXT).fetchone() is not None


def forget(connection: sqlite3.Connection, most: int) -> int:
    """Forget so many moments, or skips, of those that a job has left behind; how much it was."""
    job = connection.execute(_NEXT).fetchone()
    if job is None:
        return 0
    count, left = _forget_some(connection, job, most)
    if left is None:
        connection.execute("DELETE FROM remains WHERE job_no = ?", (job[0],))
    else:
        connection.execute("UPDATE remains SET newest_at = ? WHERE job_no = ?", (*left, job[0]))
    return count


def _forget_some(connection: sqlite3.Connection, job: Row, most: int) -> tuple[int, tuple[int | None] | None]:
    """Forget so much of a job; how much it was, and with which moment the rest begins, if there is one."""
    job_no, key, newest_at = job
    walk = chain.walk(connection, {job_no: newest_at}, most)
    rows, beyond = walk.rows(job_no), walk.beyond(job_no)
    place: int | None = None
    if len(beyond) > 1:  # the chain parts, and only one place can be kept
        rows = chain.walk(connection, {job_no: newest_at}, -1).rows(job_no)
    else:
        rows, place = first_of(rows, newest_at, most)
        place = next(iter(beyond), None) if place is None else place
    connection.executemany(chain.DELETE, [(at, job_no, *rest) for at, *rest in map(key_of, rows)])
    connection.executemany(_OUTPUT, [(*output, key) for output in output_keys(key, rows)])
    room = max(0, most - len(rows))
    skips = connection.execute(_SKIPS, {"job": job_no, "most": room}).rowcount
    has_more = place is not None or skips >= room
    return len(rows) + skips, (place,) if has_more else None
