"""The usual way to delete history: everything older than the *cut*, the newest attempt of the last look.

A history is looked at when it has more than doubled. Then everything before the last look can go:

    newest ... as many as are kept ... | cut | the attempts before the last look ... oldest
                                             '------------- deleted as a whole -----------'

Only deleted rows are read, and only one link changes: the cut's own link is removed. This works if the
attempt at the cut succeeded (every history keeps its newest success), and if all attempts behind it are older
and have ended. Other histories are read completely: see `look`.
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
    """Where to cut a job's history, how many attempts the job has had, and how many are kept.

    `next_look`: the number of further attempts until the next cut.
    """

    at: int
    opened: int
    kept: int
    next_look: int

    @property
    def most(self) -> int:
        """The most attempts behind the cut: as many as there were at the last look."""
        return self.next_look + 1


class Rest(NamedTuple):
    """The key of the attempt at a cut, and the rows behind it, as they were read."""

    cut: Row
    behind: list[Row]


def behind(dialect: Dialect, cuts: Mapping[int, Cut], most: int) -> dict[int, Rest]:
    """The rows behind the cuts of jobs, if all of them can go; nothing if there are too many."""
    rows = dialect.among(BEHIND_CUTS, cuts.keys(), most=most + 1).fetchall()
    if len(rows) > most:
        return {}
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row[3], []).append(row)
    return {job: rest for job, rows in found.items() if (rest := _rest(rows, cuts[job])) is not None}


def _rest(rows: list[Row], cut: Cut) -> Rest | None:
    """The rows behind a cut; None if some of them must stay."""
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
