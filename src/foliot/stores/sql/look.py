"""Reads one job's history, and finds what its policy does not keep."""

from __future__ import annotations

from typing import NamedTuple

from foliot.model.policy import Keep
from foliot.stores.retention import NEVER, superfluous
from foliot.stores.sql import history_links
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.history_links import Past, Walked

MOST_WALKED = 20_000  # attempts that a look reads, beyond those that are kept
ENDED, SUCCEEDED = 3, 1  # see codes

SKIPS = "SELECT first_at, last_at FROM skips WHERE job_no = :job ORDER BY first_at, last_at LIMIT :most"


class Counted(NamedTuple):
    """A job, and what its state says of its history."""

    number: int
    key: str
    policy_no: int
    newest_at: int | None
    opened: int
    skipped: int
    trim_at: int
    look_at: int | None
    cut_at: int | None


class Look:
    """A look at one job's history: queries that were sent, and later their answers."""

    def __init__(self, dialect: Dialect, job: Counted, keep: Keep, since: int | None) -> None:
        self.job = job
        self.keep = keep
        self.since = since
        most = min(keep.last or 0, NEVER) + MOST_WALKED
        self._walk = history_links.Walk(dialect, job.number, job.newest_at, most)
        self._skips = dialect.run(SKIPS, job=job.number, most=most)
        self._outputs = history_links.ask_for_outputs(dialect, job.key)

    def end(self) -> None:
        """Take the answers."""
        self.walked = self._walk.end()
        self.skips = self._skips.fetchall()
        self.has_outputs = bool(self._outputs.fetchall())

    @property
    def has_superfluous_open(self) -> bool:
        """Whether an open attempt will be deleted after it has ended."""
        cut = self.job.opened - (self.keep.last or 0)
        return any(row[3] != ENDED and row[6] <= cut for row in self.walked.rows)

    def surplus(self) -> list[Past]:
        """The attempts that are not kept."""
        orders = _orders(self.walked.rows, self.job.opened)
        ended = {order: row for order, row in orders.items() if row[3] == ENDED}
        found = superfluous(
            [(order, _instant(row[5]), row[4] == SUCCEEDED) for order, row in ended.items()],
            max(orders, default=self.job.opened),
            self.keep,
            self.since,
        )
        return [ended[order] for order in found]


def _orders(rows: list[Past], opened: int) -> dict[int, Past]:
    """Attempts in the order of their opening. Older programs do not number theirs: there time decides."""
    found = {row[6]: row for row in rows}
    if 0 not in found:
        return found
    unnumbered = [row for row in rows if not row.seq]
    found = {row.seq: row for row in rows if row.seq}
    unnumbered.sort(key=lambda row: (_instant(row.at) or 0, row.number))
    newest = max((_instant(row.at) or 0 for row in found.values()), default=0)
    later = [row for row in unnumbered if found and (_instant(row.at) or 0) > newest]
    earlier = unnumbered[: len(unnumbered) - len(later)]
    found |= {opened + place: row for place, row in enumerate(later, start=1)}
    found |= {-place: row for place, row in enumerate(reversed(earlier))}
    return found


def is_linked_through(walked: Walked, gone: list[Past], newest_at: int | None) -> bool:
    """Whether a row that stays is reached by a link of a row that goes."""
    ids = set(map(id, gone))
    left = {row[0] for row in walked.rows if id(row) not in ids}
    return newest_at not in left or not left.isdisjoint([row[7] for row in gone])


def _instant(value: object) -> int | None:
    """A number; a damaged value has no age."""
    return value if isinstance(value, int) else None
