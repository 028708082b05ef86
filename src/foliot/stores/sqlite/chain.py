"""The history of one job, found by the chain of its moments: see `foliot.stores.sql.chain`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from foliot.stores.sql.chain import WHOLE, Stretch, key_of, mend, output_keys
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row

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
_NEWEST_OF_JOB = ATTEMPTS_OF_JOB.replace("IS NOT NULL\n    )", "IS NOT NULL\n        LIMIT :most\n    )")
_RELINK = "UPDATE attempts SET previous_at = ? WHERE scheduled_for = ? AND job_no = ?"
DELETE = "DELETE FROM attempts WHERE scheduled_for = ? AND job_no = ? AND request = ? AND number = ?"


def attempts_of(connection: sqlite3.Connection, job_no: int) -> list[Row]:
    """All rows of a job, open and ended, in no order, each with its link behind the usual columns."""
    return connection.execute(ATTEMPTS_OF_JOB, {"job": job_no}).fetchall()


def newest_of(connection: sqlite3.Connection, job_no: int, most: int) -> list[Row]:
    """The rows of so many moments of a job, from its newest on; its chain is walked no further."""
    return connection.execute(_NEWEST_OF_JOB, {"job": job_no, "most": most}).fetchall()


def put_behind_newest(connection: sqlite3.Connection, job_no: int, newest: int, at: int) -> int | None:
    """Make room for a moment of the past in the chain; the link that its first attempt is to carry."""
    if _link(connection, job_no, at) is not None:
        return None  # there are attempts of that moment, so it is in the chain
    (link,) = _link(connection, job_no, newest) or (None,)
    connection.execute(_RELINK, (at, newest, job_no))
    return link


def _link(connection: sqlite3.Connection, job_no: int, at: int) -> tuple[int | None] | None:
    """The link of a moment; None if there is no attempt of it at all."""
    (count, link) = connection.execute(
        "SELECT count(*), max(previous_at) FROM attempts WHERE scheduled_for = ? AND job_no = ?", (at, job_no)
    ).fetchone()
    return (link,) if count else None


def forget(
    connection: sqlite3.Connection,
    job_no: int,
    rows: list[Row],
    gone: Iterable[Row],
    stretch: Stretch = WHOLE,
) -> int | None:
    """Delete some of a job's rows, and link what is left; the newest moment.

    All its rows are given, or those of a stretch that begins with the newest.
    """
    keys = {key_of(row) for row in gone}
    connection.executemany(DELETE, [(at, job_no, request, number) for at, request, number in keys])
    newest, links = mend((row for row in rows if key_of(row) not in keys), stretch)
    connection.executemany(_RELINK, [(link, at, job_no) for link, at in links])
    connection.execute("UPDATE states SET newest_at = ? WHERE job_no = ?", (newest, job_no))
    return newest


def forget_outputs(connection: sqlite3.Connection, key: str, gone: Iterable[Row]) -> None:
    """Delete what some attempts of a job wrote."""
    keys = output_keys(key, gone)
    connection.executemany("DELETE FROM outputs WHERE run_key = ? AND number = ?", keys)


def forget_all(connection: sqlite3.Connection, job_no: int) -> None:
    """Delete all rows of a job."""
    connection.execute(
        f"{_MOMENTS} DELETE FROM attempts WHERE job_no = :job AND scheduled_for IN moments",  # noqa: S608 - own words
        {"job": job_no},
    )
    connection.execute("DELETE FROM attempts WHERE job_no = ? AND state < 3", (job_no,))
