"""Claims, finishes and recovery: what becomes of attempts."""

from __future__ import annotations

from datetime import datetime, timedelta

from foliot.model.events import joined
from foliot.protocols import Claimed, DecideLost, Finished, Recovered
from foliot.stores.postgres import life
from foliot.stores.postgres.book import Book, Desk
from foliot.stores.sql import ending
from foliot.stores.sql.claim import PLACES, Asked, Claimer, answer_again
from foliot.stores.sql.ending import Report
from foliot.stores.sql.herd import end_quietly, ended
from foliot.stores.sql.rows import Row

_REMEMBER = "INSERT INTO claims (claim_no, claim_id, node_no, kept_until) VALUES (%s, %s, %s, %s)"
_LOST = """
    SELECT a.job_no, a.scheduled_for, a.request, a.number
    FROM attempts AS a JOIN states AS s ON s.job_no = a.job_no
    WHERE a.node_no = %s AND a.state IN (1, 2) AND s.damage IS NULL LIMIT %s
"""


def claim(desk: Desk, asked: Asked, lease: timedelta, told: int | None) -> Claimed:
    """Start what is due, and remember the claim if it has started something."""
    alive = life.living(desk, asked, told)
    if alive.before is not None:
        return answer_again(Book(desk, locks=False), life.held_by(desk, alive.node_no), alive.before)
    if alive.now >= alive.lease_until:
        return Claimed()  # the lease has run out: nothing is claimed until it is renewed
    book = Book(desk)
    book.told = desk.told
    book.claim_no, book.is_careful = alive.claim_no * PLACES, desk.is_careful
    claimer = Claimer(book, desk.sweep, asked, desk.clock, desk.herds, alive.node_no)
    claimed = claimer.claim(alive.lanes)
    desk.memory.keep_claimed(alive.mark, claimer.held)
    desk.is_careful = False
    if claimed.runs:
        kept_until = alive.now + lease // timedelta(microseconds=1)
        desk.connection.execute(_REMEMBER, (alive.claim_no, asked.claim_id, alive.node_no, kept_until))
    return claimed


def finish(desk: Desk, report: Report) -> Finished:
    """Record how attempts ended; one counts only if it is open under its own node and token."""
    check = life.hold(desk, report.node)
    node_no = desk.shelf.node_number(report.node) or 0
    quiet, rest = end_quietly(desk.dialect, node_no, report.endings)
    report = report._replace(endings=rest)
    book = Book(desk)
    entries = book.recalled(report.jobs)
    check()
    finished = ending.finish(book, entries, report)
    return finished._replace(events=joined(ended(quiet, report.now), finished.events))


def recover(  # noqa: PLR0913 - what is asked for, and by which time
    desk: Desk, limit: int, now: datetime, decide: DecideLost, *, lease: timedelta, told: int | None
) -> Recovered:
    """Bury the dead; what they held is lost, at most so much of it."""
    buried = life.bury(desk, now, lease, told)
    lost: list[Row] = []
    for node_no in life.dead_holders(desk):
        lost += desk.connection.execute(_LOST, (node_no, limit + 1 - len(lost)), binary=True).fetchall()
        if len(lost) > limit:
            break
    book = Book(desk)
    entries = book.by_number({row[0] for row in lost[:limit]}) if lost else {}
    events = ending.lose(book, entries, lost[:limit], now, decide)
    life.forget_dead(desk)
    return Recovered(events, len(lost) > limit and bool(events), buried)
