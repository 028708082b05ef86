"""The history of one job, without an index of all history by job.

Attempts are stored by time, so that writing one costs the same however long a job's past is. To find
those of one job all the same, each knows the next older moment of which there is an attempt of the same
job (`previous_at`), and the job's state knows the newest (`newest_at`): a chain of moments, each found by
its key. A moment may have several attempts; one of them at least carries the link. Only the newest
moment is sure to be in order; what is written for the past is put in right behind it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise

from foliot.model.attempt import run_key
from foliot.stores.sqlite.codes import UNREADABLE, an_instant
from foliot.stores.sqlite.rows import ATTEMPT_COLUMNS, Row

_MOMENTS = """
    WITH RECURSIVE moments (at) AS (
        SELECT newest_at FROM states WHERE job_no = :job AND newest_at IS NOT NULL
        UNION
        SELECT previous_at FROM moments CROSS JOIN attempts
        WHERE scheduled_for = moments.at AND job_no = :job AND previous_at IS NOT NULL
    )
"""
ATTEMPTS_OF_JOB = f"""
    {_MOMENTS}
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM moments CROSS JOIN attempts
    WHERE scheduled_for = moments.at AND job_no = :job
"""  # noqa: S608 - made of this module's own words
_PREVIOUS = len(ATTEMPT_COLUMNS.split(","))
DELETE = "DELETE FROM attempts WHERE scheduled_for = ? AND job_no = ? AND request = ? AND number = ?"


def attempts_of(connection: sqlite3.Connection, job_no: int) -> list[Row]:
    """All rows of a job, open and ended, in no order, each with its link behind the usual columns."""
    return connection.execute(ATTEMPTS_OF_JOB, {"job": job_no}).fetchall()


def put_behind_newest(connection: sqlite3.Connection, job_no: int, newest: int, at: int) -> int | None:
    """Make room for a moment of the past in the chain; the link that its first attempt is to carry."""
    if _link(connection, job_no, at) is not None:
        return None  # there are attempts of that moment, so it is in the chain
    (link,) = _link(connection, job_no, newest) or (None,)
    connection.execute(
        "UPDATE attempts SET previous_at = ? WHERE scheduled_for = ? AND job_no = ?", (at, newest, job_no)
    )
    return link


def _link(connection: sqlite3.Connection, job_no: int, at: int) -> tuple[int | None] | None:
    """The link of a moment; None if there is no attempt of it at all."""
    (count, link) = connection.execute(
        "SELECT count(*), max(previous_at) FROM attempts WHERE scheduled_for = ? AND job_no = ?", (at, job_no)
    ).fetchone()
    return (link,) if count else None


def forget(connection: sqlite3.Connection, job_no: int, rows: list[Row], gone: Iterable[Row]) -> int | None:
    """Delete some of a job's rows, and link what is left; the newest moment."""
    keys = {_key(row) for row in gone}
    connection.executemany(DELETE, [(at, job_no, request, number) for at, request, number in keys])
    left = [row for row in rows if _key(row) not in keys]
    links = {row[4]: None for row in left}
    moments = sorted(links, key=lambda at: at if isinstance(at, int) else 0, reverse=True)
    links.update(pairwise(moments))
    found: dict[int, set[int | None]] = {at: set() for at in moments}
    for row in left:
        found[row[4]].add(row[_PREVIOUS])
    connection.executemany(
        "UPDATE attempts SET previous_at = ? WHERE scheduled_for = ? AND job_no = ?",
        [
            (link, at, job_no)
            for at, link in links.items()
            if not found[at] <= {link, None} or link not in found[at]
        ],
    )
    newest = moments[0] if moments else None
    connection.execute("UPDATE states SET newest_at = ? WHERE job_no = ?", (newest, job_no))
    return newest


def _key(row: Row) -> Row:
    """Moment, request and number of a row."""
    return row[4], row[5], row[1]


def forget_outputs(connection: sqlite3.Connection, key: str, gone: Iterable[Row]) -> None:
    """Delete what some attempts of a job wrote."""
    keys = []
    for row in gone:
        with suppress(*UNREADABLE):
            keys.append((f"{key}{row[5]}" if row[5] else run_key(key, an_instant(row[4]), None), row[1]))
    connection.executemany("DELETE FROM outputs WHERE run_key = ? AND number = ?", keys)


def forget_all(connection: sqlite3.Connection, job_no: int) -> None:
    """Delete all rows of a job."""
    connection.execute(
        f"{_MOMENTS} DELETE FROM attempts WHERE job_no = :job AND scheduled_for IN moments",  # noqa: S608 - own words
        {"job": job_no},
    )
    connection.execute("DELETE FROM attempts WHERE job_no = ? AND state < 3", (job_no,))
