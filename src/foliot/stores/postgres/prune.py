"""Retention: what no policy keeps is looked for first, and then forgotten, in batches.

So many moments are read at once, of however many jobs. A history that is longer is read by parts, from the
newest to the oldest; then the answer's `after` names a moment of that job, besides its key. The last moment
of a part is kept, for the next part begins with it; it goes when the history is read the next time.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import NamedTuple

from foliot.model.attempt import Outcome
from foliot.protocols import Pruned
from foliot.stores.postgres import arrays, chain
from foliot.stores.postgres.book import Book, Desk
from foliot.stores.postgres.question import skips_of
from foliot.stores.retention import Seen
from foliot.stores.sql.book import Entry
from foliot.stores.sql.chain import Stretch, key_of
from foliot.stores.sql.codes import OUTCOME_CODES, an_instant, whole
from foliot.stores.sql.prune import Page, Surplus, forget_page, surplus_of

_ENDED = 3  # see codes
_SUCCEEDED = OUTCOME_CODES[Outcome.SUCCEEDED]
MOST_MOMENTS = 10_000  # read at once: some tenths of a second
# A job without a past has nothing to forget, and need not be read: most of a million have none.
_NEXT = """
    SELECT j.key, s.newest_at IS NOT NULL OR EXISTS (SELECT 1 FROM skips AS k WHERE k.job_no = j.job_no)
    FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no WHERE j.key > %s ORDER BY j.key LIMIT %s
"""
_DELETE_SKIPS = """
    DELETE FROM skips AS s USING unnest(%s::bigint[], %s::bigint[]) AS v (first_at, last_at)
    WHERE s.job_no = %s AND s.first_at = v.first_at AND s.last_at = v.last_at
"""


class Place(NamedTuple):
    """After which job to look on; or from which moment of it, and what is known of the moments before."""

    key: str
    at: int | None = None
    after: int | None = None
    newer: int | None = None
    success: int | None = None

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


def look(desk: Desk, now: datetime, limit: int, after: str) -> Page:
    """Which of the next jobs have something to forget."""
    place = _read_place(after)
    found = [(place.key, True)]
    if place.at is None:
        found = desk.connection.execute(_NEXT, (after, limit + 1)).fetchall()
    keys = tuple(key for key, _ in found[:limit])
    old = [key for key, has_past in found[:limit] if has_past]
    entries = Book(desk, locks=False).by_key(old) if old else {}
    walk, surplus = _surplus(desk, entries.values(), now, place)
    ripe = frozenset(key for key, found in surplus.items() if found.size)
    cut = next((entry for entry in entries.values() if entry.job_no == walk.cut), None)
    if cut is None:
        return Page(keys, ripe, has_more=len(found) > limit or place.at is not None)
    done = keys[: keys.index(cut.key)]
    if done:  # the next page begins with the one that was cut off
        return Page(done, ripe & set(done), has_more=True)
    return Page((cut.key,), ripe & {cut.key}, has_more=True, rest=_rest(cut, surplus[cut.key], place))


def _rest(cut: Entry, surplus: Surplus, place: Place) -> str:
    """Where to look on in a history, behind the part that was read."""
    at = surplus.stretch.last
    if at is None:
        return ""
    gone = {key_of(row) for row in surplus.gone}
    kept = [row for row in surplus.rows if row[3] == _ENDED and row[4] != at and key_of(row) not in gone]
    after = at if place.after is None else min(at, place.after)
    newer = (place.newer or 0) + sum(row[4] > after for row in kept)
    successes = [row[4] for row in kept if row[14] == _SUCCEEDED]
    if place.success is not None:
        successes.append(place.success)
    return str(Place(cut.key, at, after, newer, max(successes, default=None)))


def forget(desk: Desk, page: Page, now: datetime, limit: int, after: str) -> Pruned:
    """Forget at most so much of a page; the same is looked for again, because things may have changed."""
    entries = Book(desk).by_key(page.ripe)
    _, surplus = _surplus(desk, entries.values(), now, _read_place(after))

    def forget_some(key: str, surplus: Surplus) -> None:
        _forget_some(desk, entries[key], surplus)

    known = {key: partial(surplus.__getitem__, key) for key in surplus}
    return forget_page(page, limit, after, known, forget_some)


def _surplus(
    desk: Desk, entries: Iterable[Entry], now: datetime, place: Place
) -> tuple[chain.Walk, dict[str, Surplus]]:
    """What the policies of jobs do not keep, by their keys, as far as their chains were walked."""
    ordered = sorted(entries, key=lambda entry: entry.key.encode())
    walk = chain.walk(desk.connection, {entry.job_no: place.at for entry in ordered}, MOST_MOMENTS)
    skips = skips_of(desk, ordered) if place.at is None else {}
    found = {}
    for entry in ordered:
        rows, beyond = walk.rows(entry.job_no), walk.beyond(entry.job_no)
        surplus = surplus_of(entry, rows, skips.get(entry.job_no, ()), desk.shelf, now, seen=place.seen)
        last = next((row for row in rows if row[-1] in beyond), None)
        stretch = Stretch(place.at) if last is None else Stretch(place.at, last[4], last[-1])
        is_sound = len(beyond) <= 1  # else the chain parts, and nobody can mend it by halves
        gone = [row for row in surplus.gone if is_sound and row[4] not in (stretch.first, stretch.last)]
        found[entry.key] = surplus._replace(gone=gone, stretch=stretch)
    return walk, found


def _forget_some(desk: Desk, entry: Entry, surplus: Surplus) -> None:
    rows, gone, old, stretch = surplus
    if gone:
        chain.forget_outputs(desk.connection, entry.key, gone)
        chain.forget(desk.connection, entry.job_no, rows, gone, stretch)
    if old:
        firsts = arrays.numbers(whole(skip.first) for skip in old)
        lasts = arrays.numbers(whole(skip.last) for skip in old)
        desk.connection.execute(_DELETE_SKIPS, (firsts, lasts, entry.job_no))
