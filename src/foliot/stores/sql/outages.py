"""Periods without a heartbeat of any node. The first node after such a period records it.

    last heartbeat, or leave ──▶ │ no node │ ──▶ a node joins, or renews a lease that has run out

The row of the last node stays until another node has declared it dead and deleted it. So the first node after
an outage can still read the last sign of life.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from foliot.model.view import KEPT_OUTAGES, Outage
from foliot.stores.sql.codes import an_instant
from foliot.stores.sql.session import Session

_MICRO = timedelta(microseconds=1)
_NODES = "SELECT node_no, lease_until, is_buried, :present FROM nodes"
_NOTE = "INSERT INTO outages (first_at, last_at) VALUES (:first, :last) ON CONFLICT DO NOTHING"
_FORGET = """
    DELETE FROM outages WHERE first_at < (
        SELECT min(o.first_at) FROM (SELECT first_at FROM outages ORDER BY first_at DESC LIMIT :most) AS o
    )
"""
_ALL = "SELECT first_at, last_at FROM outages ORDER BY first_at DESC"


def note_outage(session: Session, dead: Collection[int] = ()) -> None:
    """Record the time since the last sign of life, if no node is alive.

    `dead`: nodes that are dead by proof.
    """
    rows = session.dialect.run(_NODES).fetchall()
    leases = [(until, now, is_buried or number in dead) for number, until, is_buried, now in rows]
    sound = [(until, now, is_over) for until, now, is_over in leases if isinstance(until, int)]
    if not sound or any(until >= now and not is_over for until, now, is_over in sound):
        return
    now, last_sign = sound[0][1], max(until for until, _, _ in sound) - session.lease // _MICRO
    if last_sign < now:
        session.dialect.run(_NOTE, first=last_sign, last=now)
        session.dialect.run(_FORGET, most=KEPT_OUTAGES)


def outages(session: Session) -> tuple[Outage, ...]:
    """The outages that are kept, the newest first."""
    rows = session.dialect.run(_ALL).fetchall()
    return tuple(Outage(an_instant(first), an_instant(last)) for first, last in rows)
