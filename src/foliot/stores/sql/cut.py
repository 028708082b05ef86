"""The usual way to forget: a history ends at its *cut*, the attempt that was the newest at the last look.

A history is looked at when it has more than doubled. What was there at the last look is then superfluous:

    newest ... so many as are kept ... | cut | what was there at the last look ... oldest
                                             '------------- goes as a whole ------------'

Only what goes is read, and no link has to be mended: that of the cut, which stays, is taken away. This holds
if the cut succeeded (the newest success stays in every history), and if all behind it was opened before it
and has ended. A history for which it does not hold is walked through: see `look`.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import NamedTuple

from foliot.stores.sql.codes import UNREADABLE
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.look import ENDED, SUCCEEDED
from foliot.stores.sql.rows import Row

_BEHIND = "a.scheduled_for, a.request, a.number, a.job_no, a.state, a.outcome, a.seq, a.previous_at"
BEHIND_CUTS = f"""
    WITH RECURSIVE past (at, request, number, job_no, state, outcome, seq, link) AS (
        SELECT {_BEHIND} FROM states AS s CROSS JOIN attempts AS a
        WHERE s.job_no IN :these AND a.scheduled_for = s.cut_at AND a.job_no = s.job_no
        UNION ALL
        SELECT {_BEHIND} FROM past AS p CROSS JOIN attempts AS a
        WHERE a.scheduled_for = p.link AND a.job_no = p.job_no AND p.link IS NOT NULL
    )
    SELECT at, request, number, job_no, state, outcome, seq, link FROM past LIMIT :most
"""  # noqa: S608 - made of constants only


class Cut(NamedTuple):
    """Where a job's history may be cut, how many attempts the job has had, and how many of them are kept.

    `next_look` is after how many more the next cut is due.
    """

    at: int
    opened: int
    kept: int
    next_look: int

    @property
    def most(self) -> int:
        """How many attempts are behind it, at most: as many as there were at the last look."""
        return self.next_look + 1


class Rest(NamedTuple):
    """The key of the attempt at a cut, and the rows behind it, as they were read."""

    cut: Row
    behind: list[Row]


def behind(dialect: Dialect, cuts: Mapping[int, Cut], most: int) -> dict[int, Rest]:
    """What is behind the cuts of jobs, where all of it may go; of no job, if it is more than so much."""
    rows = dialect.among(BEHIND_CUTS, cuts.keys(), most=most + 1).fetchall()
    if len(rows) > most:
        return {}
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row[3], []).append(row)
    return {job: rest for job, rows in found.items() if (rest := _rest(rows, cuts[job])) is not None}


def _rest(rows: list[Row], cut: Cut) -> Rest | None:
    """The rows behind a cut; None if some of them may have to stay."""
    at_cut = [row for row in rows if row[0] == cut.at]
    if len(at_cut) != 1:
        return None
    at, request, number, job_no, state, outcome, order, _ = at_cut[0]
    others = [row for row in rows if row is not at_cut[0]]
    try:
        may_go = (
            (state, outcome) == (ENDED, SUCCEEDED)
            and order <= cut.opened - cut.kept
            and set(map(itemgetter(4), others)) <= {ENDED}
            and all(0 < opened < order for opened in map(itemgetter(6), others))
        )
    except UNREADABLE:
        return None
    return Rest((at, job_no, request, number), others) if may_go else None
