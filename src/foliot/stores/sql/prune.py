"""Retention: what no policy keeps is looked for by a reader, and forgotten by a writer, in batches.

So many moments are read at once, of however many jobs. A history that is longer is read by parts, from the
newest to the oldest; then the answer's `after` names a moment of that job, besides its key. The last moment
of a part is kept, for the next part begins with it; it goes when the history is read the next time. If it is
not what it was, the history has changed, or is another job's of that name: the next job's is read then.

The history of a job that was removed is forgotten by batches, too, before anything else: see `remains`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol
from zlib import crc32

from foliot.model.attempt import Attempt, Outcome
from foliot.model.state import Record
from foliot.protocols import Pruned
from foliot.stores.retention import Seen, keeps_all, superfluous
from foliot.stores.sql.book import Entry
from foliot.stores.sql.chain import WHOLE, Stretch, Walk, key_of
from foliot.stores.sql.codes import UNREADABLE, an_instant, whole
from foliot.stores.sql.rows import Names, Row, read_attempt

MOST_MOMENTS = 10_000  # read at once: some tenths of a second
_DAY = timedelta(days=1) // timedelta(microseconds=1)


class Place(NamedTuple):
    """After which job to look on; or from which moment of it, and what is known of the moments before.

    `mark` is what the rows of that moment look like.
    """

    key: str
    at: int | None = None
    after: int | None = None
    newer: int | None = None
    success: int | None = None
    job_no: int | None = None
    mark: int | None = None

    @property
    def seen(self) -> Seen:
        """What is known of the part of the history that was read before."""
        after, success = (None if at is None else an_instant(at) for at in (self.after, self.success))
        return Seen(after, self.newer or 0, success)

    def __str__(self) -> str:
        return "\n".join("" if part is None else str(part) for part in self)


def _read_place(after: str) -> Place:
    key, *inside = after.split("\n")  # which no key holds
    return Place(key, *(int(part) if part else None for part in inside))


class Page(NamedTuple):
    """Jobs in the order of their keys, those that have something to forget, and whether more follow.

    `rest` is where to look on in the history of the only job, if it was too long to be read at once.
    `has_remains`: the histories of jobs that were removed come first.
    """

    keys: tuple[str, ...]
    ripe: frozenset[str]
    has_more: bool
    rest: str = ""
    has_remains: bool = False

    @property
    def end(self) -> str:
        """Where to look on when all of it is done."""
        return self.rest or (self.keys[-1] if self.has_more and self.keys else "")

    @property
    def nothing(self) -> Pruned:
        """What comes of a page of which nothing is to be forgotten."""
        return Pruned(0, self.end)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it is to be forgotten."""
        return not self.ripe and not self.has_remains


class Surplus(NamedTuple):
    """The rows of a job's history, or a part of it; those, and those skips, that its policy does not keep."""

    rows: list[Row]
    gone: list[Row]
    skips: list[Row]  # when they began and ended
    stretch: Stretch = WHOLE

    @property
    def size(self) -> int:
        """How much there is to forget."""
        return len(self.gone) + len(self.skips)

    def at_most(self, count: int) -> Surplus:
        """So much of it: runs first, then skips."""
        skips = self.skips[: max(0, count - len(self.gone))]
        return self._replace(gone=self.gone[:count], skips=skips)


class Bounds(NamedTuple):
    """How many skips of a job are kept, and those that ended when: None for however many, and since ever."""

    last: int | None
    since: int | None


class Past(Protocol):
    """The history of jobs, as a dialect reads and forgets it."""

    def page(self, after: str, count: int) -> list[Row]:
        """So many keys of jobs, in their order, each with whether it has any history."""
        ...

    def entries(self, keys: Collection[str]) -> Collection[Entry]:
        """Jobs by their keys, those that are there."""
        ...

    def walk(self, firsts: Mapping[int, int | None], most: int) -> Walk:
        """So many moments of some jobs, in their order, each from a moment on; None: from its newest."""
        ...

    def old_skips(self, bounds: Mapping[int, Bounds], most: int) -> Mapping[int, list[Row]]:
        """Of each job, so many of its oldest skips that are not kept."""
        ...

    def forget(self, entry: Entry, surplus: Surplus) -> None:
        """Delete what is not kept of a job's history."""
        ...

    def has_remains(self) -> bool:
        """Whether there is history of jobs that were removed."""
        ...

    def forget_remains(self, most: int) -> int:
        """Delete so much history of jobs that were removed; how much it was."""
        ...


class Pruner:
    """One call to forget. `limit`: so many jobs at most are looked at, and so much is forgotten."""

    def __init__(self, past: Past, names: Names, now: datetime, limit: int) -> None:
        self._past = past
        self._names = names
        self._now = now
        self._limit = limit

    def look(self, after: str) -> Page:
        """Which of the next jobs have something to forget."""
        limit = self._limit
        if limit > 0 and not after and self._past.has_remains():
            return Page((), frozenset(), has_more=False, has_remains=True)
        place = _read_place(after)
        found = [(place.key, True)] if place.at is not None else self._past.page(after, limit + 1)
        keys = tuple(key for key, _ in found[:limit])
        entries = self._past.entries([key for key, has_past in found[:limit] if has_past])
        walk, surplus = self._surplus(entries, place)
        ripe = frozenset(key for key, found in surplus.items() if found.size)
        cut = next((entry for entry in entries if entry.job_no == walk.cut), None)
        if cut is None:
            return Page(keys, ripe, has_more=len(found) > limit or place.at is not None)
        done = keys[: keys.index(cut.key)]
        if done:  # the next page begins with the one that was cut off
            return Page(done, ripe & set(done), has_more=True)
        rest = self._rest(cut, surplus[cut.key], place)
        return Page((cut.key,), ripe & {cut.key}, has_more=True, rest=rest)

    def forget(self, page: Page, after: str) -> Pruned:
        """Forget what is ripe; the same is looked for again, because things may have changed."""
        if page.has_remains:
            return Pruned(self._past.forget_remains(self._limit))
        entries = {entry.key: entry for entry in self._past.entries(page.ripe)}
        place = _read_place(after)
        _, surplus = self._surplus(entries.values(), place)
        count = 0
        for key in page.keys:
            if key in surplus:
                found = surplus[key]
                some = found.at_most(self._limit - count)
                self._past.forget(entries[key], some)
                count += some.size
                if some.size < found.size:
                    return Pruned(count, after if place.at is None else self._again(place))  # there is more
            after = key
        return Pruned(count, page.end)

    def _surplus(self, entries: Iterable[Entry], place: Place) -> tuple[Walk, dict[str, Surplus]]:
        """What the policies of jobs do not keep, by their keys, as far as their chains were walked."""
        ordered = sorted(entries, key=lambda entry: entry.key.encode())
        records = {
            entry: entry.record
            for entry in ordered
            if entry.record is not None and not keeps_all(entry.record)
        }
        walk = self._past.walk({entry.job_no: place.at for entry in records}, MOST_MOMENTS)
        if place.at is not None and not any(_is_at(place, entry.job_no, walk) for entry in records):
            return Walk((), MOST_MOMENTS), {}
        bounds = {entry.job_no: _bounds(record, self._now) for entry, record in records.items()}
        skips = self._past.old_skips(bounds, self._limit + 1) if place.at is None else {}
        found = {}
        for entry, record in records.items():
            rows, beyond = walk.rows(entry.job_no), walk.beyond(entry.job_no)
            last = next((row for row in rows if row[-1] in beyond), None)
            stretch = Stretch(place.at) if last is None else Stretch(place.at, last[4], last[-1])
            history = self._history(entry, rows)
            gone = [history[attempt] for attempt in superfluous(record, history, self._now, place.seen)]
            is_sound = len(beyond) <= 1  # else the chain parts, and nobody can mend it by halves
            gone = [row for row in gone if is_sound and row[4] not in (stretch.first, stretch.last)]
            found[entry.key] = Surplus(rows, gone, list(skips.get(entry.job_no, ())), stretch)
        return walk, found

    def _history(self, entry: Entry, rows: list[Row]) -> dict[Attempt, Row]:
        """Those that have ended, and can be read."""
        found = {}
        for row in rows:
            try:
                attempt = read_attempt(row, entry.key, self._names)
            except UNREADABLE:
                continue
            if not attempt.is_open:
                found[attempt] = row
        return found

    def _rest(self, cut: Entry, surplus: Surplus, place: Place) -> str:
        """Where to look on in a history, behind the part that was read. Only what can be read counts."""
        at = surplus.stretch.last
        if at is None or not _can_be_read(at):
            return ""
        gone = {key_of(row) for row in surplus.gone}
        history = self._history(cut, surplus.rows)
        kept = [a for a, row in history.items() if row[4] != at and key_of(row) not in gone]
        after = at if place.after is None else min(at, place.after)
        newer = (place.newer or 0) + sum(whole(attempt.scheduled_for) > after for attempt in kept)
        successes = [whole(a.scheduled_for) for a in kept if a.outcome is Outcome.SUCCEEDED]
        if place.success is not None:
            successes.append(place.success)
        success, mark = max(successes, default=None), _mark(surplus.rows, at)
        return str(Place(cut.key, at, after, newer, success, cut.job_no, mark))

    def _again(self, place: Place) -> str:
        """The same place, when something behind it was forgotten: what it leads to is another moment now."""
        if place.at is None or place.job_no is None:
            return str(place)
        walk = self._past.walk({place.job_no: place.at}, 1)
        return str(place._replace(mark=_mark(walk.rows(place.job_no), place.at)))


def _bounds(record: Record, now: datetime) -> Bounds:
    keep = record.job.policy.keep
    return Bounds(keep.last, None if keep.days is None else whole(now) - keep.days * _DAY)


def _is_at(place: Place, job_no: int, walk: Walk) -> bool:
    """Whether the moment of a place is where it was, in the history of the same job."""
    return job_no == place.job_no and _mark(walk.rows(job_no), place.at) == place.mark


def _mark(rows: Iterable[Row], at: int | None) -> int:
    """What tells a moment from one that was forgotten and came again: its rows, and what they lead to."""
    return crc32(repr(sorted(map(repr, (row for row in rows if row[4] == at)))).encode())


def _can_be_read(at: int) -> bool:
    """Whether a moment is one, and no damage."""
    try:
        an_instant(at)
    except UNREADABLE:
        return False
    return True
