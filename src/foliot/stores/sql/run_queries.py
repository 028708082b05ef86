"""Lists of attempts and of skips.

Attempts of one job are found by the links of its history (`history_queries`), attempts of all jobs by the key
of the table, which begins with the time. For a source, a node or a trigger there is no index: a call reads at
most `MOST_LOOKED_AT` attempts, and the page says where to continue. If that is a job of another source, the
position has numbers only: a client that may see one source must not read names of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import takewhile

from foliot.model.attempt import Outcome
from foliot.model.query import MOST_LOOKED_AT, RunPage, RunQuery, SkipPage, SkipQuery, bad_place, names_of
from foliot.model.state import Skip
from foliot.stores.sql import history_queries
from foliot.stores.sql.answer import is_of
from foliot.stores.sql.codes import OUTCOME_CODES, TRIGGER_CODES, an_instant, whole
from foliot.stores.sql.job_queries import read_place, write_place
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row, read_those_that_can_be, request_text
from foliot.stores.sql.session import Session

# ruff: noqa: S608 - made of constants only


def _hidden(condition: str) -> str:
    """The same, but PostgreSQL's planner does not use the key of the table for it."""
    return condition.replace("a.scheduled_for", "a.scheduled_for + 0")


_PLACE = "at", "job", "request", "number"
_EVER, _NEVER = -(2**63), 2**63 - 1
_AT, _REQUEST = 4, 5  # see rows
_COLUMNS = ", ".join(f"a.{name}" for name in ATTEMPT_COLUMNS.split(", "))
_TIME = "a.scheduled_for >= :since AND a.scheduled_for < :until"
_BEFORE = "(a.scheduled_for, a.job_no, a.request, a.number) < (:at, :job, :request, :number)"
_NEWEST_FIRST = "ORDER BY a.scheduled_for DESC, a.job_no DESC, a.request DESC, a.number DESC"
OPEN_OF_JOB = f"""
    SELECT {ATTEMPT_COLUMNS}, previous_at FROM attempts INDEXED BY attempts_open
    WHERE job_no = :job AND state < 3
"""
PROBLEMS_OF_JOB = f"""
    SELECT {_COLUMNS}, a.previous_at FROM attempts AS a INDEXED BY attempts_trouble
    WHERE a.job_no = :of AND a.outcome = :outcome AND a.outcome > 1 AND {_TIME} AND {_hidden(_BEFORE)}
    ORDER BY a.scheduled_for DESC, a.request DESC, a.number DESC LIMIT :most
"""
OCCURRENCE = f"""
    SELECT {_COLUMNS}, j.key FROM jobs AS j CROSS JOIN attempts AS a
    WHERE j.key = :key AND a.scheduled_for = :at AND a.job_no = j.job_no AND a.request = ''
"""
REQUEST = f"""
    SELECT {_COLUMNS}, j.key FROM jobs AS j CROSS JOIN attempts AS a INDEXED BY attempts_request
    WHERE j.key = :key AND a.job_no = j.job_no AND a.request = :request AND a.request > ''
"""
SKIPS_OF_JOB = """
    SELECT j.key, s.job_no, s.first_at, s.last_at, s.reason FROM skips AS s CROSS JOIN jobs AS j
    WHERE s.job_no = :of AND j.job_no = s.job_no AND s.last_at + 0 >= :since AND s.last_at + 0 < :until
    AND (s.first_at, s.last_at) < (:first, :at) ORDER BY s.first_at DESC, s.last_at DESC LIMIT :most
"""
SKIPS = """
    SELECT j.key, s.job_no, s.first_at, s.last_at, s.reason FROM skips AS s INDEXED BY skips_by_end
    CROSS JOIN jobs AS j
    WHERE j.job_no = s.job_no AND s.last_at >= :since AND s.last_at < :until
    AND (s.last_at, s.job_no, s.first_at) < (:at, :job, :first)
    ORDER BY s.last_at DESC, s.job_no DESC, s.first_at DESC LIMIT :most
"""
_LAST_FIRST = "ORDER BY s.last_at DESC, s.job_no DESC, s.first_at DESC"
_LOOKED_AT = f"""
    FROM skips AS s INDEXED BY skips_by_end WHERE s.last_at >= :since AND s.last_at < :until
    AND (s.last_at, s.job_no, s.first_at) < (:at, :job, :first) {_LAST_FIRST}
"""
SKIPS_OF_SOURCE = f"""
    SELECT j.key, s.job_no, s.first_at, s.last_at, s.reason
    FROM (SELECT s.job_no, s.first_at, s.last_at, s.reason {_LOOKED_AT} LIMIT :looked) AS s
    CROSS JOIN jobs AS j
    WHERE j.job_no = s.job_no AND j.key > :low AND j.key < :high {_LAST_FIRST} LIMIT :most
"""
LAST_SKIP = f"SELECT s.last_at, s.job_no, s.first_at {_LOOKED_AT} LIMIT 1 OFFSET :looked - 1"
OF_SOURCE = "SELECT 1 FROM jobs WHERE job_no = :job AND key > :low AND key < :high"


def runs(session: Session, query: RunQuery) -> RunPage:
    """Attempts, newest first."""
    following: str | None = None
    if query.run_key is not None:
        rows = _after(session, _of_run(session, query.run_key), query)
    elif query.job is not None:
        rows = _of_job(session, query.job, query)
    else:
        rows, following = _of_all(session, query)
    if len(rows) > query.limit:
        rows = rows[: query.limit]
        following = _place_of(rows[-1]) if rows else None
    return RunPage((attempt for _, attempt in read_those_that_can_be(rows, session.interned)), following)


# -- one run, one job ------------------------------------------------------------------------------


def _of_run(session: Session, run_key: str) -> list[Row]:
    found: list[Row] = []
    for job, at, request in names_of(run_key):
        if at is not None:
            found += session.dialect.run(OCCURRENCE, key=job, at=whole(at)).fetchall()
        else:
            found += session.dialect.run(REQUEST, key=job, request=request_text(request)).fetchall()
    return found


def _of_job(session: Session, job: str, query: RunQuery) -> list[Row]:
    """The rows, one more than asked for if there are more."""
    number = job_number(session, job)
    if number is None:
        return []
    since, until = _time(query.since, query.until)
    if query.is_open:
        rows: Iterable[Row] = session.dialect.run(OPEN_OF_JOB, job=number).fetchall()
    elif query.outcome not in (None, Outcome.SUCCEEDED) and query.trigger is query.node is None:
        before = _read_place(query.after) if query.after else (_NEVER, number, "", 0)
        values = dict(zip(_PLACE, before, strict=True), since=since, until=until, of=number)
        outcome = OUTCOME_CODES[query.outcome]
        rows = session.dialect.run(
            PROBLEMS_OF_JOB, **values, outcome=outcome, most=query.limit + 1
        ).fetchall()
    else:
        rows = _history(session, number, query)
        rows = takewhile(lambda row: row[_AT] >= since, rows)
    return _after(session, ((*row[:-1], job) for row in rows), query)


_OF_A_TIME = 128  # rows that are fetched at first if a time has a begin: mostly it is a short one


def _history(session: Session, number: int, query: RunQuery) -> Iterable[Row]:
    """The rows of a job, the newest instants first."""
    most = query.limit + 2
    if query.since is not None:
        most = min(most, _OF_A_TIME)
    if not query.after or session.dialect.run(history_queries.RISES, job=number).fetchone():
        return history_queries.newest_first(session.dialect, number, most)
    return history_queries.newest_first_from(session.dialect, number, _read_place(query.after)[0], most)


def _after(session: Session, rows: Iterable[Row], query: RunQuery) -> list[Row]:
    """The rows that match a query and come after its position; one more than asked for."""
    node_no = None
    if query.node is not None:
        row = session.dialect.run(
            "SELECT node_no FROM node_names WHERE id = :node", node=query.node
        ).fetchone()
        node_no = -1 if row is None else row[0]
    before = _read_place(query.after) if query.after else None
    since, until = _time(query.since, query.until)
    found: list[Row] = []
    for row in rows:
        is_enough = len(found) > query.limit and row[_AT] != found[-1][_AT]
        if is_enough:
            break
        if (
            since <= row[_AT] < until
            and (before is None or _order(row) < before)
            and is_of(row, query, node_no)
        ):
            found.append(row)
    found.sort(key=_order, reverse=True)
    return found[: query.limit + 1]


# -- all jobs --------------------------------------------------------------------------------------


def _of_all(session: Session, query: RunQuery) -> tuple[list[Row], str | None]:
    """The rows, one more than asked for if there are more; or the position at which to continue."""
    found = Conditions(query)
    if found.is_exact:
        rows = session.dialect.run(found.exactly, **found.values, most=query.limit + 1).fetchall()
        return rows, None
    rows = session.dialect.run(
        found.bounded, **found.values, looked=MOST_LOOKED_AT, most=query.limit + 1
    ).fetchall()
    if len(rows) > query.limit:
        return rows, None
    last = session.dialect.run(found.last_looked_at, **found.values, most=MOST_LOOKED_AT).fetchone()
    if last is not None and not _is_of_source(session, last[1], query.source):
        last = (*last[:2], "", 0)  # skip all attempts of that job
    return rows, None if last is None else _write_place(*last)


class Conditions:
    """The conditions of a query in SQL. `values` are their values."""

    def __init__(self, query: RunQuery) -> None:
        since, until = _time(query.since, query.until)
        self.values: dict[str, object] = {"since": since, "until": until}
        self._found_by = [_TIME]  # conditions on indexed columns
        self._others: list[str] = []
        self._index, self._order = "", _NEWEST_FIRST
        if query.is_open:
            self._index, self._order = "INDEXED BY attempts_open", _hidden(_NEWEST_FIRST)
            self._found_by = [_hidden(_TIME), "a.state < 3"]
        elif query.is_open is False:
            self._found_by.append("a.state = 3")  # nearly all attempts have ended
        if query.outcome is not None:
            self._compare_outcome(query)
        if query.trigger is not None:
            self._others.append("a.trigger = :trigger")
            self.values["trigger"] = TRIGGER_CODES[query.trigger]
        if query.node is not None:
            self._others.append("a.node_no = (SELECT node_no FROM node_names WHERE id = :node)")
            self.values["node"] = query.node
        if query.source is not None:
            self._others.append("j.key > :low AND j.key < :high")
            self.values |= _range(query.source)
        if query.after:
            self._found_by.append(_hidden(_BEFORE) if self._index else _BEFORE)
            self.values |= zip(_PLACE, _read_place(query.after), strict=True)
        self.is_exact = not self._others or query.is_open is True

    def _compare_outcome(self, query: RunQuery) -> None:
        self.values["outcome"] = OUTCOME_CODES[query.outcome]
        if query.outcome is Outcome.SUCCEEDED or query.is_open:
            self._others.append("a.outcome = :outcome")
        else:
            self._found_by.append("a.outcome = :outcome AND a.outcome > 1")
            self._index = "INDEXED BY attempts_problem"

    @property
    def exactly(self) -> str:
        """The statement for all matches."""
        conditions = " AND ".join(("j.job_no = a.job_no", *self._found_by, *self._others))
        tables = f"attempts AS a {self._index} CROSS JOIN jobs AS j"
        return f"SELECT {_COLUMNS}, j.key FROM {tables} WHERE {conditions} {self._order} LIMIT :most"

    @property
    def bounded(self) -> str:
        """The statement for matches among a limited number of rows."""
        conditions = " AND ".join(("j.job_no = a.job_no", *self._others))
        tables = f"({self._looked_at} LIMIT :looked) AS a CROSS JOIN jobs AS j"
        return f"SELECT {_COLUMNS}, j.key FROM {tables} WHERE {conditions} {self._order} LIMIT :most"

    @property
    def last_looked_at(self) -> str:
        """The position of the last of those rows; no row if there are fewer."""
        columns = "a.scheduled_for, a.job_no, a.request, a.number"
        return self._looked_at.replace(_COLUMNS, columns) + " LIMIT 1 OFFSET :most - 1"

    @property
    def _looked_at(self) -> str:
        conditions = " AND ".join(self._found_by)
        return f"SELECT {_COLUMNS} FROM attempts AS a {self._index} WHERE {conditions} {self._order}"


# -- skips -----------------------------------------------------------------------------------------


def skips(session: Session, query: SkipQuery) -> SkipPage:
    """Skips, ordered by their ends, the latest first."""
    since, until = _time(query.since, query.until)
    last, job, first = read_place(query.after, 3) if query.after else (_NEVER, _NEVER, _NEVER)
    values = {"since": since, "until": until, "at": last, "job": job, "first": first}
    most, end = query.limit + 1, None
    if query.job is not None:
        number = job_number(session, query.job)
        rows = session.dialect.run(SKIPS_OF_JOB, **values, of=number, most=most).fetchall()
    elif query.source is None:
        rows = session.dialect.run(SKIPS, **values, most=most).fetchall()
    else:
        rows, end = _skips_of_source(session, query.source, values, most)
    page = rows[: query.limit]
    if len(rows) > query.limit and page:
        _, number, began, ended, _ = page[-1]
        end = (ended, number, began)
    following = None if end is None else write_place(*end)
    return SkipPage(
        (Skip(key, an_instant(first), an_instant(last), reason) for key, _, first, last, reason in page),
        following,
    )


def _skips_of_source(
    session: Session, source: str, values: Mapping[str, object], most: int
) -> tuple[list[Row], Row | None]:
    """The rows, one more than asked for if there are more; or the position at which to continue."""
    values = {**values, "looked": max(most, MOST_LOOKED_AT)}
    rows = session.dialect.run(SKIPS_OF_SOURCE, **values, **_range(source), most=most).fetchall()
    last = session.dialect.run(LAST_SKIP, **values).fetchone() if len(rows) < most else None
    if last is not None and not _is_of_source(session, last[1], source):
        last = (*last[:2], _EVER + 1)  # skip all entries of that job
    return rows, last


# -- places ----------------------------------------------------------------------------------------


def _range(source: str) -> dict[str, object]:
    """The bounds of the keys of a source."""
    return {"low": f"{source}/", "high": f"{source}0"}  # "0" follows "/"


def _is_of_source(session: Session, job_no: int, source: str | None) -> bool:
    if source is None:
        return True
    return session.dialect.run(OF_SOURCE, job=job_no, **_range(source)).fetchone() is not None


def job_number(session: Session, key: str) -> int | None:
    """The number of a job."""
    row = session.dialect.run("SELECT job_no FROM jobs WHERE key = :key", key=key).fetchone()
    return None if row is None else row[0]


def _time(since: datetime | None, until: datetime | None) -> tuple[int, int]:
    return _EVER if since is None else whole(since), _NEVER if until is None else whole(until)


def _order(row: Row) -> Row:
    """The sort key of attempts in lists; the greatest comes first."""
    return row[_AT], row[0], row[_REQUEST], row[1]


def _place_of(row: Row) -> str:
    return _write_place(*_order(row))


def _write_place(at: int, job_no: int, request: str, number: int) -> str:
    return f"{write_place(at, job_no, number)}.{request}"


def _read_place(after: str) -> Row:
    *numbers, request = after.split(".", 3)
    if len(numbers) != 3:  # noqa: PLR2004 - those of `_write_place`
        raise bad_place(after)
    at, job_no, number = read_place(".".join(numbers), 3)
    return at, job_no, request, number
