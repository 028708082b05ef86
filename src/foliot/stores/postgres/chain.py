"""The history of jobs, found by the chains of their moments: see `foliot.stores.sql.chain`.

The chains of many jobs are walked together, because each question is a journey.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import merge

from foliot.stores.postgres import arrays
from foliot.stores.postgres.connection import Connection
from foliot.stores.sql.chain import FAR, NEAR, WHOLE, Stretch, Walk, key_of, mend, output_keys
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row

# ruff: noqa: S608 - made of constants only

_MOMENTS = """
    WITH RECURSIVE moments (job_no, at) AS (
        SELECT s.job_no, s.newest_at FROM states AS s
        WHERE s.job_no = ANY(%s::bigint[]) AND s.newest_at IS NOT NULL
        UNION
        SELECT a.job_no, a.previous_at FROM moments AS m
        JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = m.job_no
        WHERE a.previous_at IS NOT NULL
    )
"""
_COLUMNS = f"{', '.join(f'a.{name}' for name in ATTEMPT_COLUMNS.split(', '))}, a.previous_at"
_ATTEMPTS = f"""
    {_MOMENTS}
    SELECT {_COLUMNS}
    FROM moments AS m JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = m.job_no
"""
# One chain after the other, and no further than is asked for: the server walks only as far as it is read.
_STRETCH = f"""
    SELECT m.job_no, m.at, {_COLUMNS}
    FROM (
        SELECT j.job_no, w.at FROM unnest(%s::bigint[], %s::bigint[]) AS j (job_no, first_at)
        CROSS JOIN LATERAL (
            WITH RECURSIVE moments (at) AS (
                SELECT f.at FROM (
                    SELECT coalesce(
                        j.first_at, (SELECT s.newest_at FROM states AS s WHERE s.job_no = j.job_no)
                    ) AS at
                ) AS f WHERE f.at IS NOT NULL
                UNION
                SELECT a.previous_at FROM moments AS m
                JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = j.job_no
                WHERE a.previous_at IS NOT NULL
            )
            SELECT at FROM moments
        ) AS w LIMIT %s
    ) AS m LEFT JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = m.job_no
"""
# Each descent as far as it leads down, and no further than is asked for.
DESCENTS = f"""
    SELECT h.first_at, {_COLUMNS}
    FROM unnest(%s::bigint[], %s::bigint[]) AS h (first_at, job_no)
    CROSS JOIN LATERAL (
        WITH RECURSIVE moments (at) AS (
            SELECT h.first_at
            UNION
            SELECT a.previous_at FROM moments AS m
            JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = h.job_no
            WHERE a.previous_at < m.at
        )
        SELECT at FROM moments LIMIT %s
    ) AS m JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = h.job_no
"""
HEADS = """
    SELECT newest_at FROM states WHERE job_no = %s AND newest_at IS NOT NULL
    UNION
    SELECT previous_at FROM attempts WHERE job_no = %s AND previous_at > scheduled_for
"""
_CHAIN = """
    WITH RECURSIVE moments (at) AS (
        SELECT v.newest_at
        UNION
        SELECT a.previous_at FROM moments AS m
        JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = v.job_no
        WHERE a.previous_at IS NOT NULL
    )
"""
SUCCESSES = f"""
    SELECT v.job_no, coalesce(
        (
            {_CHAIN} SELECT max(a.finished_at)
            FROM (SELECT at FROM moments LIMIT %s) AS m
            JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = v.job_no WHERE a.outcome = 1
        ),
        (
            {_CHAIN} SELECT a.finished_at
            FROM (SELECT at FROM moments LIMIT %s) AS m
            JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = v.job_no
            WHERE a.outcome = 1 AND a.finished_at IS NOT NULL LIMIT 1
        )
    )
    FROM unnest(%s::bigint[], %s::bigint[]) AS v (job_no, newest_at) WHERE v.newest_at IS NOT NULL
"""
_MOST_AT_ONCE = 10_000  # moments of a descent
# The number of the job comes with each row: were it a constant, a server that knows nothing of the table yet
# would rather read all rows of the job, again and again.
_DELETE = """
    DELETE FROM attempts AS a
    USING unnest(%s::bigint[], %s::bigint[], %s::text[], %s::bigint[]) AS v (at, job_no, request, number)
    WHERE a.scheduled_for = v.at AND a.job_no = v.job_no AND a.request = v.request AND a.number = v.number
"""
_DELETE_OUTPUTS = """
    DELETE FROM outputs AS o USING unnest(%s::text[], %s::bigint[]) AS v (run_key, number)
    WHERE o.run_key = v.run_key AND o.number = v.number
"""
_RELINK = """
    UPDATE attempts AS a SET previous_at = v.link
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS v (link, at, job_no)
    WHERE a.scheduled_for = v.at AND a.job_no = v.job_no
"""


def attempts_of(connection: Connection, numbers: Iterable[int]) -> dict[int, list[Row]]:
    """All rows of each job, open and ended, in no order, with their links behind the usual columns."""
    wanted = list(numbers)
    found: dict[int, list[Row]] = {number: [] for number in wanted}
    if wanted:
        for row in connection.execute(_ATTEMPTS, (arrays.numbers(wanted),), binary=True):
            found[row[0]].append(row)
    return found


def walk(connection: Connection, firsts: Mapping[int, int | None], most: int) -> Walk:
    """So many moments of some jobs, in their order, each from a moment on; None: from its newest."""
    values = arrays.numbers(firsts), arrays.numbers(firsts.values()), most
    return Walk(connection.execute(_STRETCH, values, binary=True), most)


def newest_first(connection: Connection, job_no: int, most: int) -> Iterator[Row]:
    """The rows of a job by their moments, the newest first; so many are fetched at first, and then more."""
    heads = [at for (at,) in connection.execute(HEADS, (job_no, job_no), binary=True)]
    parts = _descend(connection, job_no, heads, most)
    descents = (_descent(connection, job_no, part, most) for part in parts.values())
    return merge(*descents, key=lambda row: row[4], reverse=True)


def _descend(connection: Connection, job_no: int, heads: Collection[int], most: int) -> dict[int, list[Row]]:
    """The rows of so many moments of each descent, from its head on."""
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
    """When jobs last succeeded, as far as their histories go back. See `foliot.stores.sql.chain.NEAR`."""
    values = NEAR, FAR, arrays.numbers(newest), arrays.numbers(newest.values())
    return dict(connection.execute(SUCCESSES, values, binary=True).fetchall())


def put_behind_newest(connection: Connection, job_no: int, newest: int, at: int) -> int | None:
    """Make room for a moment of the past in the chain; the link that its first attempt is to carry."""
    if _link(connection, job_no, at) is not None:
        return None  # there are attempts of that moment, so it is in the chain
    (link,) = _link(connection, job_no, newest) or (None,)
    connection.execute(_RELINK, [arrays.numbers([number]) for number in (at, newest, job_no)])
    return link


def _link(connection: Connection, job_no: int, at: int) -> tuple[int | None] | None:
    """The link of a moment; None if there is no attempt of it at all."""
    row = connection.execute(
        "SELECT count(*), max(previous_at) FROM attempts WHERE scheduled_for = %s AND job_no = %s",
        (at, job_no),
    ).fetchone()
    return (row[1],) if row is not None and row[0] else None


def forget(
    connection: Connection,
    job_no: int,
    rows: list[Row],
    gone: Iterable[Row],
    stretch: Stretch = WHOLE,
) -> int | None:
    """Delete some of a job's rows, and link what is left; the newest moment of those.

    All its rows are given, or those of a stretch.
    """
    keys = {key_of(row) for row in gone}
    delete(connection, job_no, keys)
    newest, links = mend((row for row in rows if key_of(row) not in keys), stretch)
    if links:
        older, newer = (arrays.numbers(column) for column in zip(*links, strict=True))
        connection.execute(_RELINK, (older, newer, arrays.numbers([job_no] * len(links))))
    if stretch.first is None:
        connection.execute("UPDATE states SET newest_at = %s WHERE job_no = %s", (newest, job_no))
    return newest


def delete(connection: Connection, job_no: int, keys: Iterable[Row]) -> None:
    """Delete rows of a job: their moments, requests and numbers are given."""
    columns = list(zip(*keys, strict=True))
    if columns:
        moments, requests, numbers = columns
        jobs = arrays.numbers([job_no] * len(moments))
        values = arrays.numbers(moments), jobs, arrays.texts(requests), arrays.numbers(numbers)
        connection.execute(_DELETE, values)


def forget_outputs(connection: Connection, key: str, gone: Iterable[Row]) -> None:
    """Delete what some attempts of a job wrote."""
    keys = output_keys(key, gone)
    if keys:
        names, numbers = zip(*keys, strict=True)
        connection.execute(_DELETE_OUTPUTS, (arrays.texts(names), arrays.numbers(numbers)))
