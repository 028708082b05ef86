"""Lists of jobs: by source, by state, by a word in the name, or by the next occurrence.

No list reads a whole table. If there is an index for the query, it is used. Otherwise a call reads at most
`MOST_LOOKED_AT` jobs, and the page says where to continue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import merge
from itertools import islice
from operator import itemgetter

from foliot.model.query import MOST_LOOKED_AT, JobOrder, JobPage, JobQuery, JobState, bad_place
from foliot.stores.sql import history_queries
from foliot.stores.sql.answer import Shown, bounds, show, wanted
from foliot.stores.sql.entry import ENTRIES, Entry
from foliot.stores.sql.queries import SOURCES
from foliot.stores.sql.rows import Row
from foliot.stores.sql.session import Session

# ruff: noqa: S608 - made of constants only

_ALL = 2**31
BOUND = "AND j.key < :last"  # where the jobs of a source end: else all that follow would be read
_FEW = 5000  # jobs in a state: their keys are sorted. If there are more, one in a few hundred jobs is in it
_PAGE = f"""
    {ENTRIES} AND j.key > :after {{bound}}
    AND (:removed OR s.removed_at IS NULL) ORDER BY j.key LIMIT :most
"""
PAGE = _PAGE.format(bound="")
PAGE_OF_SOURCE = _PAGE.format(bound=BOUND)
_FACTS = "j.key, j.job_no, s.lane_no, s.paused_at, s.failures_in_row, s.damage, s.removed_at"
_SCAN = f"""
    SELECT {_FACTS} FROM jobs AS j CROSS JOIN states AS s WHERE s.job_no = j.job_no
    AND j.key > :after {{bound}} ORDER BY j.key LIMIT :most
"""
SCAN = _SCAN.format(bound="")
SCAN_OF_SOURCE = _SCAN.format(bound=BOUND)
FACTS_OF = f"""
    SELECT {_FACTS} FROM jobs AS j CROSS JOIN states AS s WHERE s.job_no = j.job_no AND j.job_no IN :these
"""
OF_STATE = {
    JobState.PAUSED: """
        SELECT s.job_no FROM states AS s INDEXED BY states_paused WHERE s.paused_at IS NOT NULL LIMIT :most
    """,
    JobState.FAILING: """
        SELECT s.job_no FROM states AS s INDEXED BY states_failing WHERE s.failures_in_row > 0 LIMIT :most
    """,
    JobState.DAMAGED: """
        SELECT s.job_no FROM states AS s INDEXED BY states_damaged WHERE s.damage IS NOT NULL LIMIT :most
    """,
    JobState.OPEN: """
        SELECT DISTINCT a.job_no FROM attempts AS a INDEXED BY attempts_open WHERE a.state < 3 LIMIT :most
    """,
}
OPEN_AMONG = """
    SELECT a.job_no FROM attempts AS a INDEXED BY attempts_open WHERE a.state < 3 AND a.job_no IN :these
"""
SOONEST = """
    SELECT s.wake_at, s.job_no FROM states AS s INDEXED BY states_due
    WHERE s.lane_no = :lane AND s.wake_at IS NOT NULL AND s.damage IS NULL
    AND (s.wake_at, s.job_no) > (:at, :job) ORDER BY s.wake_at, s.job_no LIMIT :most
"""
_LANES = "SELECT lane_no, queue, kind FROM lanes"
_KEY, _NUMBER, _LANE, _PAUSED, _FAILURES, _DAMAGE, _REMOVED = range(7)
_IS_IN: dict[JobState, Callable[[Row], bool]] = {
    JobState.PAUSED: lambda row: row[_PAUSED] is not None,
    JobState.FAILING: lambda row: isinstance(row[_FAILURES], int) and row[_FAILURES] > 0,
    JobState.DAMAGED: lambda row: row[_DAMAGE] is not None,
}


def jobs(session: Session, query: JobQuery) -> Shown:
    """A page of jobs."""
    batch = session.batch(locks=False)
    following: str | None = None
    if query.is_filtered:
        numbers, following = _Search(session, query).find()
        found = batch.by_number(numbers)
        entries = [found[number] for number in numbers if number in found]
    elif (keys := _keys(session, query)) is not None:
        meant = wanted(batch.by_key(keys).values(), query)
        entries = meant[: query.limit]
        following = entries[-1].key if entries and len(meant) > query.limit else None
    else:
        entries = batch.entries(_page(session, query))
        if len(entries) > query.limit:
            entries = entries[: query.limit]
            following = entries[-1].key if entries else None
    return _show(session, entries, following)


def _show(session: Session, entries: list[Entry], following: str | None) -> Shown:
    shown = show(entries, history_queries.last_successes(session.dialect, entries))
    return shown._replace(views=JobPage(shown.views, following))


def _keys(session: Session, query: JobQuery) -> Collection[str] | None:
    """The keys that a query names. A name alone means a job of any source."""
    if query.keys is not None or query.name is None:
        return query.keys
    return [f"{source}/{query.name}" for (source,) in session.dialect.run(SOURCES).fetchall()]


def _page(session: Session, query: JobQuery) -> list[Row]:
    after, last = bounds(query)
    most = _ALL if session.has_bad_text else query.limit + 1
    statement, end = (PAGE, {}) if last is None else (PAGE_OF_SOURCE, {"last": last})
    asked = session.dialect.run(statement, after=after, removed=query.with_removed, most=most, **end)
    rows = asked.fetchall()
    if session.has_bad_text:
        # A key of invalid text is shown with others that sort lower: do not repeat it on the next page.
        rows = [row for row in rows if row[1] > query.after][: query.limit + 1]
        rows.sort(key=itemgetter(1))
    return rows


class _Search:
    """The jobs of a query, found by the best index for its conditions."""

    def __init__(self, session: Session, query: JobQuery) -> None:
        self._dialect = session.dialect
        self._query = query
        self._search = None if query.search is None else query.search.casefold()
        self._lanes = {
            lane
            for lane, queue, kind in session.dialect.run(_LANES).fetchall()
            if query.queue in (None, queue) and query.kind in (None, kind)
        }
        self._open: set[int] | None = None

    def find(self) -> tuple[list[int], str | None]:
        """The numbers of jobs in order, and the position after which the next page begins."""
        if self._query.order is JobOrder.SOONEST:
            return self._soonest()
        state = self._query.state
        if state is not None:
            few = self._dialect.run(OF_STATE[state], most=_FEW + 1).fetchall()
            if len(few) <= _FEW:
                return self._among_few([number for (number,) in few])
        return self._by_key()

    def _among_few(self, numbers: list[int]) -> tuple[list[int], str | None]:
        if self._query.state is JobState.OPEN:
            self._open = set(numbers)
        after, last = bounds(self._query)
        rows = self._dialect.among(FACTS_OF, numbers).fetchall()
        meant = sorted(
            row[:2] for row in rows
            if row[_KEY] > after and (last is None or row[_KEY] < last) and self._is_meant(row)
        )  # fmt: skip
        page = meant[: self._query.limit]
        return [number for _, number in page], page[-1][0] if page and len(meant) > len(page) else None

    def _by_key(self) -> tuple[list[int], str | None]:
        after, last = bounds(self._query)
        statement, end = (SCAN, {}) if last is None else (SCAN_OF_SOURCE, {"last": last})
        rows = self._dialect.run(statement, after=after, most=MOST_LOOKED_AT, **end).fetchall()
        if self._query.state is JobState.OPEN:
            self._look_for_open(row[_NUMBER] for row in rows)
        page = list(islice(filter(self._is_meant, rows), self._query.limit))
        following = None
        if len(page) == self._query.limit:
            following = page[-1][_KEY] if page else None
        elif len(rows) == MOST_LOOKED_AT:
            following = rows[-1][_KEY]
        return [row[_NUMBER] for row in page], following

    def _look_for_open(self, numbers: Iterable[int]) -> None:
        self._open = {number for (number,) in self._dialect.among(OPEN_AMONG, list(numbers)).fetchall()}

    def _is_meant(self, row: Row) -> bool:
        query, key = self._query, row[_KEY]
        if query.state is JobState.OPEN:
            is_in = self._open is not None and row[_NUMBER] in self._open
        else:
            is_in = query.state is None or _IS_IN[query.state](row)
        return (
            is_in
            and (query.with_removed or row[_REMOVED] is None)
            and row[_LANE] in self._lanes
            and query.name in (None, key.partition("/")[2])
            and (query.keys is None or key in query.keys)
            and (self._search is None or self._search in key.casefold())
        )

    # -- soonest -----------------------------------------------------------------------------------

    def _soonest(self) -> tuple[list[int], str | None]:
        at, job = read_place(self._query.after, 2) if self._query.after else (-(2**63), 0)
        page: list[int] = []
        looked, following = 0, self._query.after
        while looked < MOST_LOOKED_AT:
            portion = list(islice(self._due(at, job), 4 * self._query.limit + 16))
            looked += len(portion)
            for place, row in self._facts_in_order(portion):
                if len(page) == self._query.limit:
                    return page, following
                if row is not None and self._is_of_source(row) and self._is_meant(row):
                    page.append(row[_NUMBER])
                following = write_place(*place)
            if not portion:
                return page, None
            at, job = portion[-1]
        return page, write_place(at, job)

    def _due(self, at: int, job: int) -> Iterator[tuple[int, int]]:
        most = 4 * self._query.limit + 16
        lanes = [self._dialect.run(SOONEST, lane=lane, at=at, job=job, most=most) for lane in self._lanes]
        return merge(*(lane.fetchall() for lane in lanes))

    def _facts_in_order(self, places: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], Row | None]]:
        rows = self._dialect.among(FACTS_OF, [job for _, job in places]).fetchall()
        facts = {row[_NUMBER]: row for row in rows}
        if self._query.state is JobState.OPEN:
            self._look_for_open(facts)
        return ((place, facts.get(place[1])) for place in places)

    def _is_of_source(self, row: Row) -> bool:
        return self._query.source in (None, row[_KEY].partition("/")[0])


def write_place(*numbers: int) -> str:
    """A place in a list, as a text."""
    return ".".join(map(str, numbers))


def read_place(text: str, count: int) -> tuple[int, ...]:
    """The numbers of a place."""
    try:
        numbers = tuple(map(int, text.split(".", count - 1)))
    except ValueError:
        raise bad_place(text) from None
    if len(numbers) != count or any(abs(number) >= 2**63 for number in numbers):
        raise bad_place(text)
    return numbers
