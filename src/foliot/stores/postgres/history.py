"""Questions about the history of jobs, found by their links: see `foliot.stores.sql.history`.

Those of many jobs are followed together, because each question is a journey.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from heapq import merge

from foliot.stores.postgres import arrays
from foliot.stores.postgres.connection import Connection
from foliot.stores.sql.history import FAR, NEAR
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row

# ruff: noqa: S608 - made of constants only

_COLUMNS = f"{', '.join(f'a.{name}' for name in ATTEMPT_COLUMNS.split(', '))}, a.previous_at"
# Each part that leads down, as far as it leads down, and no further than is asked for.
DESCENTS = f"""
    SELECT h.first_at, {_COLUMNS}
    FROM unnest(%s::bigint[], %s::bigint[]) AS h (first_at, job_no)
    CROSS JOIN LATERAL (
        WITH RECURSIVE instants (at) AS (
            SELECT h.first_at
            UNION
            SELECT a.previous_at FROM instants AS m
            JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = h.job_no
            WHERE a.previous_at < m.at
        )
        SELECT at FROM instants LIMIT %s
    ) AS m JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = h.job_no
"""
HEADS = """
    SELECT newest_at FROM states WHERE job_no = %s AND newest_at IS NOT NULL
    UNION
    SELECT previous_at FROM attempts WHERE job_no = %s AND previous_at > scheduled_for
"""
_LINKS = """
    WITH RECURSIVE instants (at) AS (
        SELECT v.newest_at
        UNION
        SELECT a.previous_at FROM instants AS m
        JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = v.job_no
        WHERE a.previous_at IS NOT NULL
    )
"""
SUCCESSES = f"""
    SELECT v.job_no, coalesce(
        (
            {_LINKS} SELECT max(a.finished_at)
            FROM (SELECT at FROM instants LIMIT %s) AS m
            JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = v.job_no WHERE a.outcome = 1
        ),
        (
            {_LINKS} SELECT a.finished_at
            FROM (SELECT at FROM instants LIMIT %s) AS m
            JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = v.job_no
            WHERE a.outcome = 1 AND a.finished_at IS NOT NULL LIMIT 1
        )
    )
    FROM unnest(%s::bigint[], %s::bigint[]) AS v (job_no, newest_at) WHERE v.newest_at IS NOT NULL
"""
_MOST_AT_ONCE = 10_000  # instants of a descent


def newest_first(connection: Connection, job_no: int, most: int) -> Iterator[Row]:
    """The rows of a job by their instants, the newest first; so many are fetched at first, and then more."""
    heads = [at for (at,) in connection.execute(HEADS, (job_no, job_no), binary=True)]
    parts = _descend(connection, job_no, heads, most)
    descents = (_descent(connection, job_no, part, most) for part in parts.values())
    return merge(*descents, key=lambda row: row[4], reverse=True)


def _descend(connection: Connection, job_no: int, heads: Collection[int], most: int) -> dict[int, list[Row]]:
    """The rows of so many instants of each descent, from its head on."""
    found: dict[int, list[Row]] = {head: [] for head in heads}
    values = arrays.numbers(heads), arrays.numbers([job_no] * len(heads)), most
    for head, *row in connection.execute(DESCENTS, values, binary=True):
        found[head].append(tuple(row))
    return found


def _descent(connection: Connection, job_no: int, rows: list[Row], most: int) -> Iterator[Row]:
    while rows:
        rows.sort(key=lambda row: row[4], reverse=True)
        yield from rows
        last = rows[-1][4]
        link = max((row[-1] for row in rows if row[4] == last and row[-1] is not None), default=last)
        if link >= last:  # it leads up, or nowhere: the descent ends
            return
        most = min(2 * most, _MOST_AT_ONCE)
        rows = _descend(connection, job_no, (link,), most)[link]


def last_successes(connection: Connection, newest: Mapping[int, int | None]) -> Mapping[int, int | None]:
    """When jobs last succeeded, as far as their histories go back. See `foliot.stores.sql.history.NEAR`."""
    values = NEAR, FAR, arrays.numbers(newest), arrays.numbers(newest.values())
    return dict(connection.execute(SUCCESSES, values, binary=True).fetchall())
