"""Questions about the history of one job, found by its links: see `foliot.stores.sql.history`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from foliot.stores.sql.history import FAR, NEAR
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row

# ruff: noqa: S608 - made of this module's own words

# The parts that lead down are read side by side: what SQLite takes next from a queue with an order is the
# newest of them. Without a limit it would leave the order away, because instants are joined to something.
NEWEST_FIRST = f"""
    WITH RECURSIVE instants (at) AS (
        SELECT newest_at FROM states WHERE job_no = :job AND newest_at IS NOT NULL
        UNION ALL
        SELECT previous_at FROM attempts INDEXED BY attempts_rise
        WHERE job_no = :job AND previous_at > scheduled_for
        UNION
        SELECT previous_at FROM instants CROSS JOIN attempts
        WHERE scheduled_for = instants.at AND job_no = :job AND previous_at IS NOT NULL
        ORDER BY 1 DESC LIMIT -1
    )
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM instants CROSS JOIN attempts
    WHERE scheduled_for = instants.at AND job_no = :job
"""
_INSTANTS = """
    WITH RECURSIVE instants (at) AS (
        SELECT newest_at FROM states WHERE job_no = :job AND newest_at IS NOT NULL
        UNION
        SELECT previous_at FROM instants CROSS JOIN attempts
        WHERE scheduled_for = instants.at AND job_no = :job AND previous_at IS NOT NULL
        LIMIT :most
    )
"""
_SUCCESS = """
    FROM instants CROSS JOIN attempts
    WHERE scheduled_for = instants.at AND job_no = :job AND outcome = 1 AND typeof(finished_at) = 'integer'
"""
SUCCESS_NEAR = f"{_INSTANTS} SELECT max(finished_at) {_SUCCESS}"
SUCCESS_FAR = f"{_INSTANTS} SELECT finished_at {_SUCCESS} LIMIT 1"


def newest_first(connection: sqlite3.Connection, job_no: int) -> Iterator[Row]:
    """The rows of a job by their instants, the newest first; links are followed as far as they are read."""
    return connection.execute(NEWEST_FIRST, {"job": job_no})


def last_success(connection: sqlite3.Connection, job_no: int) -> int | None:
    """When a job last succeeded, as far as its history goes back. See `foliot.stores.sql.history.NEAR`."""
    near: tuple[int | None] = connection.execute(SUCCESS_NEAR, {"job": job_no, "most": NEAR}).fetchone()
    if near[0] is not None:
        return near[0]
    far: tuple[int] | None = connection.execute(SUCCESS_FAR, {"job": job_no, "most": FAR}).fetchone()
    return None if far is None else far[0]
