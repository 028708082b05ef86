"""Claims, finishes and recovery: what becomes of attempts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta

from foliot.model.events import joined
from foliot.protocols import Claimed, DecideLost, Finished, Recovered
from foliot.stores.sql import ending
from foliot.stores.sql.claim import PLACES, Asked, Claimer, answer_again
from foliot.stores.sql.codes import whole
from foliot.stores.sql.ending import Report
from foliot.stores.sql.herd import end_quietly, ended
from foliot.stores.sql.rows import Row
from foliot.stores.sqlite import life
from foliot.stores.sqlite.book import Book, Desk

_ASKED_BEFORE = "SELECT claim_no FROM claims WHERE claim_id = ? AND node_no = ?"
# Nobody else writes meanwhile, and a number that was used stays used when its claim is forgotten.
_NEXT_CLAIM = "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'claims'"
_REMEMBER = "INSERT INTO claims (claim_no, claim_id, node_no, kept_until) VALUES (?, ?, ?, ?)"
_LOST = """
    SELECT a.job_no, a.scheduled_for, a.request, a.number
    FROM attempts AS a INDEXED BY attempts_held CROSS JOIN states AS s ON s.job_no = a.job_no
    WHERE a.node_no = ? AND a.state IN (1, 2) AND s.damage IS NULL LIMIT ?
"""


class ClashError(Exception):
    """A claim would start what is there already: all of it is undone, and the next one is careful."""


def claim(desk: Desk, asked: Asked, store_now: datetime, lease: timedelta) -> Claimed:
    """Start what is due, and remember the claim if it has started something."""
    alive = life.living(desk, asked.node)
    before = desk.connection.execute(_ASKED_BEFORE, (asked.claim_id, alive.node_no)).fetchone()
    if before is not None:
        return answer_again(Book(desk), life.held_by(desk, alive.node_no), before[0])
    if whole(store_now) >= alive.lease_until:
        return Claimed()  # the lease has run out: nothing is claimed until it is renewed
    desk.refresh()
    book = Book(desk)
    (claim_no,) = desk.connection.execute(_NEXT_CLAIM).fetchone()
    book.told = desk.told
    book.claim_no, book.is_careful = claim_no * PLACES, desk.is_careful
    claimer = Claimer(book, desk.sweep, asked, desk.clock, desk.herds, alive.node_no)
    try:
        claimed = claimer.claim({queue: desk.shelf.lanes(queue, alive.kinds) for queue in asked.room})
    except sqlite3.IntegrityError as error:
        raise ClashError from error
    desk.kept |= claimer.held
    desk.is_careful = False
    if claimed.runs:
        remembered = (claim_no, asked.claim_id, alive.node_no, whole(store_now + lease))
        desk.connection.execute(_REMEMBER, remembered)
    return claimed


def finish(desk: Desk, report: Report) -> Finished:
    """Record how attempts ended; one counts only if it is open under its own node and token."""
    alive = life.living(desk, report.node)
    quiet, rest = end_quietly(desk.dialect, alive.node_no, report.endings)
    report = report._replace(endings=rest)
    book = Book(desk)
    entries = book.recalled(report.jobs)
    finished = ending.finish(book, entries, report)
    return finished._replace(events=joined(ended(quiet, report.now), finished.events))


def recover(book: Book, holders: Sequence[int], limit: int, now: datetime, decide: DecideLost) -> Recovered:
    """What the dead held is lost, at most so much of it."""
    lost: list[Row] = []
    for node_no in holders:
        lost += book.connection.execute(_LOST, (node_no, limit + 1 - len(lost))).fetchall()
        if len(lost) > limit:
            break
    entries = book.by_number({row[0] for row in lost[:limit]})
    events = ending.lose(book, entries, lost[:limit], now, decide)
    return Recovered(events, more=len(lost) > limit and bool(events))
