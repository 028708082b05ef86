"""Queries about the history of a job, by its links: see `history_links`.

Links lead to earlier instants, except for a few that lead to later ones. So a history consists of *parts* in
which all links lead down. The heads of the parts are indexed (`attempts_rise`); reading all parts side by
side gives the newest runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from heapq import merge
from itertools import groupby

from foliot.model.state import Record
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.entry import Entry
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row

# ruff: noqa: S608 - made of constants only

# The last success of each job of a page is searched from the newest instant back. The search looks at LEAST
# instants, because runs may end in another order, and then goes on to the first success. It ends after USUAL
# instants, as far as histories usually go back; jobs without a success there are searched one by one.
LEAST, USUAL = 8, 128
# Search no further than this: a list of jobs must not wait for a job that has failed so often.
FAR = 20_000
_MOST_AT_FIRST, _MOST_AT_ONCE = 1000, 10_000  # instants of a part
_NUMBER = "a.finished_at <= 9223372036854775807"  # sorts a damaged value behind all numbers

_COLUMNS = f"{', '.join(f'a.{name}' for name in ATTEMPT_COLUMNS.split(', '))}, a.previous_at"
# Each part, from its head on, as far as it leads down, and no further than is asked for.
_PARTS = f"""
    parts (head, at, depth) AS (
        SELECT h.at, h.at, 1 FROM heads AS h
        UNION
        SELECT p.head, a.previous_at, p.depth + 1 FROM parts AS p CROSS JOIN attempts AS a
        WHERE a.scheduled_for = p.at AND a.job_no = :job AND a.previous_at < p.at AND p.depth < :most
    )
    SELECT p.head, {_COLUMNS} FROM parts AS p CROSS JOIN attempts AS a
    WHERE a.scheduled_for = p.at AND a.job_no = :job
"""
ALL_PARTS = f"""
    WITH RECURSIVE heads (at) AS (
        SELECT newest_at FROM states WHERE job_no = :job AND newest_at IS NOT NULL
        UNION ALL
        SELECT previous_at FROM attempts INDEXED BY attempts_rise
        WHERE job_no = :job AND previous_at > scheduled_for
    ), {_PARTS}
"""
RISES = """
    SELECT 1 FROM attempts INDEXED BY attempts_rise
    WHERE job_no = :job AND previous_at > scheduled_for LIMIT 1
"""
ONE_PART = f"WITH RECURSIVE heads (at) AS (SELECT CAST(:head AS bigint)), {_PARTS}"
SUCCESS_NEAR = f"""
    WITH RECURSIVE past (job_no, at, depth, success_at) AS (
        SELECT s.job_no, s.newest_at, 0, CAST(NULL AS bigint) FROM states AS s
        WHERE s.job_no IN :these AND s.newest_at IS NOT NULL
        UNION
        SELECT p.job_no, a.previous_at, p.depth + 1,
            CASE WHEN a.outcome = 1 AND {_NUMBER} THEN a.finished_at ELSE p.success_at END
        FROM past AS p CROSS JOIN attempts AS a
        WHERE a.scheduled_for = p.at AND a.job_no = p.job_no AND p.depth < :most
            AND (p.success_at IS NULL OR p.depth < :least)
    )
    SELECT p.job_no, max(p.depth), max(p.success_at) FROM past AS p GROUP BY p.job_no
"""
SUCCESS_FAR = f"""
    WITH RECURSIVE instants (at) AS (
        SELECT CAST(:newest AS bigint)
        UNION
        SELECT a.previous_at FROM instants AS i CROSS JOIN attempts AS a
        WHERE a.scheduled_for = i.at AND a.job_no = :job AND a.previous_at IS NOT NULL
    )
    SELECT a.finished_at FROM (SELECT at FROM instants LIMIT :most) AS i CROSS JOIN attempts AS a
    WHERE a.scheduled_for = i.at AND a.job_no = :job AND a.outcome = 1 AND {_NUMBER} LIMIT 1
"""


def newest_first(dialect: Dialect, job_no: int, most: int) -> Iterator[Row]:
    """The rows of a job, newest first. `most` rows are fetched at first, and then more."""
    most = min(most, _MOST_AT_FIRST)
    parts: dict[int, list[Row]] = {}
    for head, *row in dialect.run(ALL_PARTS, job=job_no, most=most).fetchall():
        parts.setdefault(head, []).append(tuple(row))
    rest = (_part(dialect, job_no, rows, most) for rows in parts.values())
    # A part may lead into another: a link to an instant that was deleted, and came again.
    for _, rows in groupby(merge(*rest, key=_instant, reverse=True), key=_instant):
        yield from dict.fromkeys(rows)


def newest_first_from(dialect: Dialect, job_no: int, at: int, most: int) -> Iterator[Row]:
    """The rows of a job from an instant on, the newest first. All links from there on lead down."""
    found = dialect.run(ONE_PART, job=job_no, head=at, most=min(most, _MOST_AT_FIRST)).fetchall()
    return _part(dialect, job_no, [tuple(row) for _, *row in found], most)


def _part(dialect: Dialect, job_no: int, rows: list[Row], most: int) -> Iterator[Row]:
    while rows:
        rows.sort(key=_instant, reverse=True)
        yield from rows
        last = _instant(rows[-1])
        link = max((row[-1] for row in rows if row[4] == last and row[-1] is not None), default=last)
        if link >= last:  # the link leads up, or there is none: the part ends here
            return
        most = min(2 * most, _MOST_AT_ONCE)
        found = dialect.run(ONE_PART, job=job_no, head=link, most=most).fetchall()
        rows = [tuple(row) for _, *row in found]


def _instant(row: Row) -> int:
    at: int = row[4]
    return at


def last_successes(dialect: Dialect, entries: Collection[Entry]) -> Iterable[int | None]:
    """When each of some jobs last succeeded, as far as their histories go back."""
    newest = {
        entry.job_no: entry.newest
        for entry in entries
        if entry.newest is not None and not _has_only_failed(entry.record)
    }
    if not newest:
        return [None] * len(entries)
    rows = dialect.among(SUCCESS_NEAR, newest, least=LEAST, most=USUAL).fetchall()
    found = {job_no: at for job_no, _, at in rows}
    unknown = [job_no for job_no, depth, at in rows if at is None and depth >= USUAL]
    asked = {job: dialect.run(SUCCESS_FAR, job=job, newest=newest[job], most=FAR) for job in unknown}
    found |= {job_no: _first(answer.fetchone()) for job_no, answer in asked.items()}
    return [found.get(entry.job_no) for entry in entries]


def _has_only_failed(record: Record | None) -> bool:
    """Whether each run of a job has failed for good, or is open: then no success need be searched for."""
    if record is None:
        return False
    running = sum(attempt.is_running for attempt in record.attempts)
    return 0 < record.state.fired_count - running <= record.state.failures_in_row


def _first(row: Row | None) -> int | None:
    return None if row is None else row[0]
