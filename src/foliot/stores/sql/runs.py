"""Claims, finishes and recovery: what becomes of attempts."""

from __future__ import annotations

from datetime import datetime, timedelta

from foliot.protocols import Claimed, DecideLost, Finished, Recovered
from foliot.stores.sql import ending, node_rows
from foliot.stores.sql.claim import PLACES, Asked, Claimer, answer_again
from foliot.stores.sql.ending import Report
from foliot.stores.sql.rows import Row
from foliot.stores.sql.session import Session

_REMEMBER = """
    INSERT INTO claims (claim_no, claim_id, node_no, kept_until) VALUES (:number, :id, :node, :until)
"""
LOST = """
    SELECT a.job_no, a.scheduled_for, a.request, a.number
    FROM attempts AS a INDEXED BY attempts_held CROSS JOIN states AS s
    WHERE a.node_no = :node AND a.state IN (1, 2) AND s.job_no = a.job_no AND s.damage IS NULL LIMIT :most
"""


def claim(session: Session, asked: Asked, lease: timedelta) -> Claimed:
    """Start what is due, and remember the claim if it has started something."""
    start = session.begin_claim(asked)
    if start.before is not None:
        held = node_rows.held_by(session, start.node_no)
        return answer_again(session.batch(locks=False), held, start.before)
    if start.now >= start.lease_until:
        return Claimed()  # the lease has run out: nothing is claimed until it is renewed
    batch = session.batch()
    batch.claim_no, batch.is_careful = start.claim_no * PLACES, session.is_careful
    claimer = Claimer(batch, session.claim_cursor, asked, session.clock)
    claimed = claimer.claim(start.lanes)
    session.keep_claimed(start, claimer.held)
    session.is_careful = False
    if claimed.attempts:
        until = start.now + lease // timedelta(microseconds=1)
        session.dialect.run(
            _REMEMBER, number=start.claim_no, id=asked.claim_id, node=start.node_no, until=until
        )
    return claimed


def finish(session: Session, report: Report) -> Finished:
    """Record how attempts ended; one counts only if it is open under its own node and token."""
    check = node_rows.hold(session, report.node)
    batch = session.batch()
    entries = batch.recalled(report.jobs)
    check()
    return ending.finish(batch, entries, report)


def recover(session: Session, limit: int, now: datetime, decide: DecideLost, lease: timedelta) -> Recovered:
    """Bury the dead; what they held is lost, at most so much of it."""
    buried = node_rows.bury(session, now, lease)
    lost: list[Row] = []
    for node_no in node_rows.dead_holders(session):
        lost += session.dialect.run(LOST, node=node_no, most=limit + 1 - len(lost)).fetchall()
        if len(lost) > limit:
            break
    batch = session.batch()
    entries = batch.by_number({row[0] for row in lost[:limit]}) if lost else {}
    events = ending.lose(batch, entries, lost[:limit], now, decide)
    node_rows.forget_dead(session)
    return Recovered(events, len(lost) > limit and bool(events), buried)
