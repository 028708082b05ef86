"""Retention: what no policy keeps is looked for by a reader, and forgotten by the writer, in batches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from foliot.model.attempt import Attempt
from foliot.model.state import Skip
from foliot.protocols import Pruned
from foliot.stores.postgres import arrays, chain
from foliot.stores.postgres.book import Book, Desk, Entry
from foliot.stores.postgres.question import skips_of
from foliot.stores.retention import superfluous, superfluous_skips
from foliot.stores.sqlite.codes import UNREADABLE, whole
from foliot.stores.sqlite.rows import Row, read_attempt

_KEYS = "SELECT key FROM jobs WHERE key > %s ORDER BY key LIMIT %s"
_DELETE_SKIPS = """
    DELETE FROM skips AS s USING unnest(%s::bigint[], %s::bigint[]) AS v (first_at, last_at)
    WHERE s.job_no = %s AND s.first_at = v.first_at AND s.last_at = v.last_at
"""


class Page(NamedTuple):
    """Jobs in the order of their keys, those that have something to forget, and whether more follow."""

    keys: tuple[str, ...]
    ripe: frozenset[str]
    has_more: bool


class _Surplus(NamedTuple):
    rows: list[Row]
    gone: list[Row]
    skips: list[Skip]


def look(desk: Desk, now: datetime, limit: int, after: str) -> Page:
    """Which of the next jobs have something to forget."""
    found = desk.connection.execute(_KEYS, (after, limit + 1)).fetchall()
    keys = tuple(key for (key,) in found[:limit])
    entries = Book(desk, locks=False).by_key(keys)
    surplus = _surplus(desk, entries.values(), now)
    ripe = frozenset(key for key, entry in entries.items() if any(surplus[entry.job_no][1:]))
    return Page(keys, ripe, has_more=len(found) > limit)


def forget(desk: Desk, page: Page, now: datetime, limit: int, after: str) -> Pruned:
    """Forget at most so much of a page; the same is looked for again, because things may have changed."""
    entries = Book(desk).by_key(page.ripe)
    surplus = _surplus(desk, entries.values(), now)
    count = 0
    for key in page.keys:
        if key in entries:
            ours = surplus[entries[key].job_no]
            count_before, wanted = count, len(ours.gone) + len(ours.skips)
            count += _forget_some(desk, entries[key], ours, limit - count)
            if count - count_before < wanted:
                return Pruned(count, after)  # there is more to forget of this one
        after = key
    return Pruned(count, after if page.has_more else "")


def _surplus(desk: Desk, entries: Collection[Entry], now: datetime) -> dict[int, _Surplus]:
    """What the policies of jobs do not keep. Of one that cannot be read, nobody knows."""
    numbers = [entry.job_no for entry in entries]
    rows, skips = chain.attempts_of(desk.connection, numbers), skips_of(desk, entries)
    found = {}
    for entry in entries:
        number = entry.job_no
        if entry.record is None:
            found[number] = _Surplus([], [], [])
            continue
        history = _readable_history(desk, entry, rows[number])
        gone = [history[a] for a in superfluous(entry.record, history, now)]
        found[number] = _Surplus(rows[number], gone, superfluous_skips(entry.record, skips[number], now))
    return found


def _readable_history(desk: Desk, entry: Entry, rows: list[Row]) -> Mapping[Attempt, Row]:
    found = {}
    for row in rows:
        try:
            attempt = read_attempt(row, entry.key, desk.names)
        except UNREADABLE:
            continue
        if not attempt.is_open:
            found[attempt] = row
    return found


def _forget_some(desk: Desk, entry: Entry, surplus: _Surplus, most: int) -> int:
    """Runs first, then skips; how many."""
    gone = surplus.gone[:most]
    if gone:
        chain.forget_outputs(desk.connection, entry.key, gone)
        chain.forget(desk.connection, entry.job_no, surplus.rows, gone)
    old = surplus.skips[: most - len(gone)]
    if old:
        firsts, lasts = (
            arrays.numbers(whole(s.first) for s in old),
            arrays.numbers(whole(s.last) for s in old),
        )
        desk.connection.execute(_DELETE_SKIPS, (firsts, lasts, entry.job_no))
    return len(gone) + len(old)
