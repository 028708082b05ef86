"""Which attempts were started in a group: a row for each, until it has ended and the group is counted again.

    claim: lock the group ──▶ forget the rows of attempts that have ended ──▶ count ──▶ add what was started

An end writes nothing here, because the attempt's own row says whether it runs. So the end of a run costs
nothing more, and the attempts of a buried node free their places.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from foliot.model.attempt import Attempt
from foliot.stores.sql import upsert
from foliot.stores.sql.rows import Row, attempt_key

if TYPE_CHECKING:
    from foliot.stores.sql.session import Session

# ruff: noqa: S608 - made of constants only

_RUNS = """
    FROM attempts AS a WHERE a.scheduled_for = g.scheduled_for AND a.job_no = g.job_no
    AND a.request = g.request AND a.number = g.number AND a.state + 0 IN (1, 2)
"""
FORGET_ENDED = f"DELETE FROM group_runs AS g WHERE g.group_name = :group AND NOT EXISTS (SELECT 1 {_RUNS})"
COUNT = f"""
    SELECT g.group_name, count(*) FROM group_runs AS g
    WHERE g.group_name IN :texts AND EXISTS (SELECT 1 {_RUNS}) GROUP BY g.group_name
"""


class GroupRows:
    """The attempts of groups, within one claim."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rows: list[Row] = []

    def hold(self, group: str) -> int | None:
        """Lock a group until this claim commits. Returns how many of its attempts run.

        None if another claim has the lock.
        """
        if not self._session.lock_group(group):
            return None
        self._session.dialect.run(FORGET_ENDED, group=group)
        return running(self._session, group)

    def full(self, limits: Mapping[str, int]) -> tuple[str, ...]:
        """The groups without a free place, read without a lock."""
        counts = _count(self._session, limits) if limits else {}
        return tuple(sorted(group for group, count in counts.items() if count >= limits[group]))

    def add(self, group: str, job_no: int, started: Iterable[Attempt]) -> None:
        """Attempts of a job start in a group."""
        self._rows += ((group, *attempt_key(attempt, job_no)) for attempt in started)

    def flush(self) -> None:
        """Write what was added."""
        self._session.dialect.upsert(upsert.ADD_GROUP_RUN, self._rows)
        self._rows.clear()


def running(session: Session, group: str) -> int:
    """How many attempts of a group run."""
    return _count(session, (group,)).get(group, 0)


def _count(session: Session, groups: Collection[str]) -> dict[str, int]:
    """How many attempts of each group run. A group without any is left out."""
    return dict(session.dialect.among(COUNT, groups).fetchall())
