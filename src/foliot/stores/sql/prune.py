"""Retention: what no policy keeps is looked for by a reader, and forgotten by the writer, by pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from foliot.model.attempt import Attempt
from foliot.model.state import Skip
from foliot.protocols import Pruned
from foliot.stores.retention import NOTHING_ELSE, Seen, superfluous, superfluous_skips
from foliot.stores.sql.book import Entry
from foliot.stores.sql.chain import WHOLE, Stretch
from foliot.stores.sql.codes import UNREADABLE
from foliot.stores.sql.rows import Names, Row, read_attempt


class Page(NamedTuple):
    """Jobs in the order of their keys, those that have something to forget, and whether more follow.

    `rest` is where to look on in the history of the only job, if it was too long to be read at once.
    """

    keys: tuple[str, ...]
    ripe: frozenset[str]
    has_more: bool
    rest: str = ""

    @property
    def end(self) -> str:
        """Where to look on when all of it is done."""
        return self.rest or (self.keys[-1] if self.has_more and self.keys else "")

    @property
    def nothing(self) -> Pruned:
        """What comes of a page of which nothing is to be forgotten."""
        return Pruned(0, self.end)


class Surplus(NamedTuple):
    """The rows of a job's history, or a part of it; those, and those skips, that its policy does not keep."""

    rows: list[Row]
    gone: list[Row]
    skips: list[Skip]
    stretch: Stretch = WHOLE

    @property
    def size(self) -> int:
        """How much there is to forget."""
        return len(self.gone) + len(self.skips)

    def at_most(self, count: int) -> Surplus:
        """So much of it: runs first, then skips."""
        skips = self.skips[: max(0, count - len(self.gone))]
        return self._replace(gone=self.gone[:count], skips=skips)


def surplus_of(  # noqa: PLR0913 - all that is known of a job's past
    entry: Entry,
    rows: list[Row],
    skips: Iterable[Skip],
    names: Names,
    now: datetime,
    *,
    seen: Seen = NOTHING_ELSE,
) -> Surplus:
    """What the policy of a job does not keep. Of one that cannot be read, nobody knows."""
    if entry.record is None:
        return Surplus([], [], [])
    history = _readable_history(entry, rows, names)
    gone = [history[attempt] for attempt in superfluous(entry.record, history, now, seen)]
    return Surplus(rows, gone, superfluous_skips(entry.record, skips, now))


def _readable_history(entry: Entry, rows: list[Row], names: Names) -> Mapping[Attempt, Row]:
    found = {}
    for row in rows:
        try:
            attempt = read_attempt(row, entry.key, names)
        except UNREADABLE:
            continue
        if not attempt.is_open:
            found[attempt] = row
    return found


def forget_page(
    page: Page,
    limit: int,
    after: str,
    surplus: Mapping[str, Callable[[], Surplus]],
    forget: Callable[[str, Surplus], None],
) -> Pruned:
    """Forget at most so much of a page."""
    count = 0
    for key in page.keys:
        if key in surplus:
            found = surplus[key]()
            some = found.at_most(limit - count)
            forget(key, some)
            count += some.size
            if some.size < found.size:
                return Pruned(count, after)  # there is more to forget of this one
        after = key
    return Pruned(count, page.end)
