"""The history of one job, found by the chain of its moments: see `foliot.stores.sql.chain`."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping

from foliot.stores.sql.chain import FAR, NEAR, WHOLE, Stretch, Walk, key_of, mend, output_keys
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
# From a moment on, or from the newest, in the order of the chain; -1: all of it.
_STRETCH = f"""
    WITH RECURSIVE moments (at) AS (
        SELECT at FROM (SELECT coalesce(:first, (SELECT newest_at FROM states WHERE job_no = :job)) AS at)
        WHERE at IS NOT NULL
        UNION
        SELECT previous_at FROM moments CROSS JOIN attempts
        WHERE scheduled_for = moments.at AND job_no = :job AND previous_at IS NOT NULL
        LIMIT :most
    )
    SELECT :job, moments.at, {ATTEMPT_COLUMNS}, previous_at
    FROM moments LEFT JOIN attempts ON scheduled_for = moments.at AND job_no = :job
"""  # noqa: S608 - made of this module's own words
# The descents side by side: what SQLite takes next from a queue with an order is the newest of them. It would
# leave the order away, because the moments are joined to something, if there were no limit, be it none.
NEWEST_FIRST = f"""
    WITH RECURSIVE moments (at) AS (
        SELECT newest_at FROM states WHERE job_no = :job AND newest_at IS NOT NULL
        UNION ALL
        SELECT previous_at FROM attempts INDEXED BY attempts_rise
        WHERE job_no = :job AND previous_at > scheduled_for
        UNION
        SELECT previous_at FROM moments CROSS JOIN attempts
        WHERE scheduled_for = moments.at AND job_no = :job AND previous_at IS NOT NULL
        ORDER BY 1 DESC LIMIT -1
    )
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM moments CROSS JOIN attempts
    WHERE scheduled_for = moments.at AND job_no = :job
"""  # noqa: S608 - made of this module's own words
_SUCCESS = """
    FROM moments CROSS JOIN attempts
    WHERE scheduled_for = moments.at AND job_no = :job AND outcome = 1 AND typeof(finished_at) = 'integer'
"""
_SOME_MOMENTS = _MOMENTS.replace("IS NOT NULL\n    )", "IS NOT NULL\n        LIMIT :most\n    )")
SUCCESS_NEAR = f"{_SOME_MOMENTS} SELECT max(finished_at) {_SUCCESS}"
SUCCESS_FAR = f"{_SOME_MOMENTS} SELECT finished_at {_SUCCESS} LIMIT 1"
_RELINK = "UPDATE attempts SET previous_at = ? WHERE scheduled_for = ? AND job_no = ?"
DELETE = "DELETE FROM attempts WHERE scheduled_for = ? AND job_no = ? AND request = ? AND number = ?"


def attempts_of(connection: sqlite3.Connection, job_no: int) -> list[Row]:
    """All rows of a job, open and ended, in no order, each with its link behind the usual columns."""
    return connection.execute(ATTEMPTS_OF_JOB, {"job": job_no}).fetchall()


def walk(connection: sqlite3.Connection, firsts: Mapping[int, int | None], most: int) -> Walk:
    """So many moments of some jobs, in their order, each from a moment on; None: from its newest."""
    rows: list[Row] = []
    left = most
    for job_no, first in firsts.items():
        if left == 0:
            break
        part = connection.execute(_STRETCH, {"job": job_no, "first": first, "most": left}).fetchall()
        left = max(0, left - len({row[1] for row in part})) if most > 0 else most
        rows += part
    return Walk(rows, most if most > 0 else sys.maxsize)


def newest_first(connection: sqlite3.Connection, job_no: int) -> Iterator[Row]:
    """The rows of a job by their moments, the newest first; its chains are walked as far as they are read."""
    return connection.execute(NEWEST_FIRST, {"job": job_no})


def last_success(connection: sqlite3.Connection, job_no: int) -> int | None:
    """When a job last succeeded, as far as its history goes back. See `foliot.stores.sql.chain.NEAR`."""
    near: tuple[int | None] = connection.execute(SUCCESS_NEAR, {"job": job_no, "most": NEAR}).fetchone()
    if near[0] is not None:
        return near[0]
    far: tuple[int] | None = connection.execute(SUCCESS_FAR, {"job": job_no, "most": FAR}).fetchone()
    return None if far is None else far[0]


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
    """Delete some of a job's rows, and link what is left; the newest moment of those.

    All its rows are given, or those of a stretch.
    """
    keys = {key_of(row) for row in gone}
    connection.executemany(DELETE, [(at, job_no, request, number) for at, request, number in keys])
    newest, links = mend((row for row in rows if key_of(row) not in keys), stretch)
    connection.executemany(_RELINK, [(link, at, job_no) for link, at in links])
    if stretch.first is None:
        connection.execute("UPDATE states SET newest_at = ? WHERE job_no = ?", (newest, job_no))
    return newest


def forget_outputs(connection: sqlite3.Connection, key: str, gone: Iterable[Row]) -> None:
    """Delete what some attempts of a job wrote."""
    keys = output_keys(key, gone)
    connection.executemany("DELETE FROM outputs WHERE run_key = ? AND number = ?", keys)
