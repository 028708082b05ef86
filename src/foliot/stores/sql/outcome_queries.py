"""How the last attempts of several jobs ended: one statement for all of them.

Histories are walked by their links: see `history_queries`. A history with a link that leads up is read by
itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from foliot.stores.sql import history_queries
from foliot.stores.sql.codes import OUTCOMES, STATES
from foliot.stores.sql.rows import Row
from foliot.stores.sql.session import Session

_NUMBERS = "SELECT j.job_no, j.key FROM jobs AS j WHERE j.key IN :texts"
WITH_RISES = """
    SELECT DISTINCT a.job_no FROM attempts AS a INDEXED BY attempts_rise
    WHERE a.job_no IN :these AND a.previous_at > a.scheduled_for
"""
LAST = """
    WITH RECURSIVE past (job_no, scheduled_for, request, number, state, outcome, previous_at, depth) AS (
        SELECT a.job_no, a.scheduled_for, a.request, a.number, a.state, a.outcome, a.previous_at, 1
        FROM states AS s CROSS JOIN attempts AS a
        WHERE s.job_no IN :these AND a.scheduled_for = s.newest_at AND a.job_no = s.job_no
        UNION
        SELECT a.job_no, a.scheduled_for, a.request, a.number, a.state, a.outcome, a.previous_at, p.depth + 1
        FROM past AS p CROSS JOIN attempts AS a
        WHERE a.scheduled_for = p.previous_at AND a.job_no = p.job_no AND p.depth < :most
    )
    SELECT p.job_no, p.scheduled_for, p.request, p.number, p.state, p.outcome FROM past AS p
"""


def outcomes(session: Session, jobs: Collection[str], most: int) -> Mapping[str, tuple[str, ...]]:
    """The outcomes of the last attempts of each job, the newest first; of an open one, its state."""
    dialect = session.dialect
    keys: dict[int, str] = dict(dialect.among(_NUMBERS, jobs).fetchall()) if jobs else {}
    if not keys:
        return {}
    rising = {number for (number,) in dialect.among(WITH_RISES, keys).fetchall()}
    found: dict[int, list[Row]] = {}
    if straight := keys.keys() - rising:
        for row in dialect.among(LAST, straight, most=most).fetchall():
            found.setdefault(row[0], []).append(row)
    told = {keys[number]: _words(rows, most) for number, rows in found.items()}
    for number in rising:
        rows = _newest(history_queries.newest_first(dialect, number, most), most)
        told[keys[number]] = _words([(row[0], row[4], row[5], row[1], row[3], row[14]) for row in rows], most)
    return told


def _newest(rows: Iterable[Row], most: int) -> Iterator[Row]:
    """The first rows, and all others of the last instant among them: their order is not told by it."""
    last, count = None, 0
    for row in rows:
        if count >= most and row[4] != last:
            return
        last, count = row[4], count + 1
        yield row


def _words(rows: list[Row], most: int) -> tuple[str, ...]:
    """The words of the newest rows; a damaged value has none."""
    rows.sort(key=lambda row: row[1:4], reverse=True)
    known = (OUTCOMES.get(row[5]) or STATES.get(row[4]) for row in rows[:most])
    return tuple(word.value for word in known if word is not None)
