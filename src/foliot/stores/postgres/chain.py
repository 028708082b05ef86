"""The history of jobs, found by the chains of their moments: see `foliot.stores.sql.chain`.

The chains of many jobs are walked together, because each question is a journey.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from foliot.stores.postgres import arrays
from foliot.stores.postgres.connection import Connection
from foliot.stores.sql.chain import WHOLE, Stretch, key_of, mend, output_keys
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
                SELECT coalesce(j.first_at, s.newest_at) FROM states AS s
                WHERE s.job_no = j.job_no AND s.newest_at IS NOT NULL
                UNION
                SELECT a.previous_at FROM moments AS m
                JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = j.job_no
                WHERE a.previous_at IS NOT NULL
            )
            SELECT at FROM moments
        ) AS w LIMIT %s
    ) AS m LEFT JOIN attempts AS a ON a.scheduled_for = m.at AND a.job_no = m.job_no
"""
_DELETE = """
    DELETE FROM attempts AS a USING unnest(%s::bigint[], %s::text[], %s::bigint[]) AS v (at, request, number)
    WHERE a.scheduled_for = v.at AND a.job_no = %s AND a.request = v.request AND a.number = v.number
"""
_DELETE_OUTPUTS = """
    DELETE FROM outputs AS o USING unnest(%s::text[], %s::bigint[]) AS v (run_key, number)
    WHERE o.run_key = v.run_key AND o.number = v.number
"""
_RELINK = """
    UPDATE attempts AS a SET previous_at = v.link FROM unnest(%s::bigint[], %s::bigint[]) AS v (link, at)
    WHERE a.scheduled_for = v.at AND a.job_no = %s
"""


def attempts_of(connection: Connection, numbers: Iterable[int]) -> dict[int, list[Row]]:
    """All rows of each job, open and ended, in no order, with their links behind the usual columns."""
    wanted = list(numbers)
    found: dict[int, list[Row]] = {number: [] for number in wanted}
    if wanted:
        for row in connection.execute(_ATTEMPTS, (arrays.numbers(wanted),), binary=True):
            found[row[0]].append(row)
    return found


class Walk:
    """The chains of some jobs, one after the other, as far as was asked for; the last may be cut off."""

    def __init__(self, rows: Iterable[Row], most: int) -> None:
        self._rows: dict[int, list[Row]] = {}
        self._moments: dict[int, set[int]] = {}
        for job_no, at, *row in rows:
            self._moments.setdefault(job_no, set()).add(at)
            if row[0] is not None:  # else the chain leads to a moment that is not there
                self._rows.setdefault(job_no, []).append(tuple(row))
        is_cut = sum(map(len, self._moments.values())) >= most
        self.cut = next(reversed(self._moments), None) if is_cut else None

    def rows(self, job_no: int) -> list[Row]:
        """The rows of a job, open and ended, with their links behind the usual columns."""
        return self._rows.get(job_no, [])

    def beyond(self, job_no: int) -> set[int]:
        """Moments that a job's rows lead to, and that were not reached; one, if its chain is in order."""
        links = {row[-1] for row in self.rows(job_no)}
        return links - self._moments.get(job_no, set()) - {None}


def walk(connection: Connection, firsts: Mapping[int, int | None], most: int) -> Walk:
    """So many moments of some jobs, in their order, each from a moment on; None: from its newest."""
    values = arrays.numbers(firsts), arrays.numbers(firsts.values()), most
    return Walk(connection.execute(_STRETCH, values, binary=True), most)


def put_behind_newest(connection: Connection, job_no: int, newest: int, at: int) -> int | None:
    """Make room for a moment of the past in the chain; the link that its first attempt is to carry."""
    if _link(connection, job_no, at) is not None:
        return None  # there are attempts of that moment, so it is in the chain
    (link,) = _link(connection, job_no, newest) or (None,)
    connection.execute(_RELINK, (arrays.numbers([at]), arrays.numbers([newest]), job_no))
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
    if keys:
        moments, requests, counts = zip(*keys, strict=True)
        values = arrays.numbers(moments), arrays.texts(requests), arrays.numbers(counts), job_no
        connection.execute(_DELETE, values)
    newest, links = mend((row for row in rows if key_of(row) not in keys), stretch)
    if links:
        older, newer = (arrays.numbers(column) for column in zip(*links, strict=True))
        connection.execute(_RELINK, (older, newer, job_no))
    if stretch.first is None:
        connection.execute("UPDATE states SET newest_at = %s WHERE job_no = %s", (newest, job_no))
    return newest


def forget_outputs(connection: Connection, key: str, gone: Iterable[Row]) -> None:
    """Delete what some attempts of a job wrote."""
    keys = output_keys(key, gone)
    if keys:
        names, numbers = zip(*keys, strict=True)
        connection.execute(_DELETE_OUTPUTS, (arrays.texts(names), arrays.numbers(numbers)))


def forget_all(connection: Connection, job_no: int, rows: list[Row]) -> None:
    """Delete all rows of a job."""
    forget(connection, job_no, rows, rows)
    connection.execute("DELETE FROM attempts WHERE job_no = %s AND state < 3", (job_no,))
