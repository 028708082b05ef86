"""Rows of nodes: leases, nodes declared dead ("buried"), and the attempts that nodes hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta

from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt
from foliot.model.state import CORRECTION, Lease, Node
from foliot.model.view import NodeView
from foliot.stores.sql.codes import UNREADABLE, an_instant
from foliot.stores.sql.dialect import Answer
from foliot.stores.sql.outages import note_outage
from foliot.stores.sql.rows import ATTEMPT_COLUMNS, Row, read_those_that_can_be
from foliot.stores.sql.session import Session

# ruff: noqa: S608 - made of constants only

_ATTEMPT = ", ".join(f"a.{name}" for name in ATTEMPT_COLUMNS.split(", "))
_HELD = "attempts AS a INDEXED BY attempts_held"
HELD = f"""
    SELECT {_ATTEMPT}, a.claim_no, j.key FROM {_HELD} CROSS JOIN jobs AS j
    WHERE a.node_no = :node AND a.state IN (1, 2) AND j.job_no = a.job_no
"""
COUNT_HELD = f"SELECT count(*) FROM {_HELD} WHERE a.node_no = :node AND a.state IN (1, 2)"
CANCELS = f"{HELD} AND a.state = 2"
HOLDERS = f"""
    WITH RECURSIVE holders (node_no) AS (
        SELECT min(a.node_no) FROM {_HELD} WHERE a.state IN (1, 2)
        UNION ALL
        SELECT (SELECT min(a.node_no) FROM {_HELD} WHERE a.state IN (1, 2) AND a.node_no > h.node_no)
        FROM holders AS h WHERE h.node_no IS NOT NULL
    )
    SELECT h.node_no FROM holders AS h LEFT JOIN nodes AS n ON n.node_no = h.node_no
    WHERE h.node_no IS NOT NULL AND (n.node_no IS NULL OR n.is_buried)
"""
_LIVES = """
    FROM node_names AS i CROSS JOIN nodes AS n
    WHERE i.id = :id AND n.node_no = i.node_no AND NOT n.is_buried
"""
LIVING = f"SELECT n.node_no, n.lease_until, n.kinds {_LIVES}"
HOLD = f"{LIVING} FOR KEY SHARE OF n"
_NUMBER = "(SELECT node_no FROM node_names WHERE id = :id)"
_RENEW = f"UPDATE nodes SET lease_until = :present + :length WHERE node_no = {_NUMBER} AND NOT is_buried"
# The end of its lease says when it was last seen: see `outages`.
_LEAVE = f"""
    UPDATE nodes SET is_buried = TRUE, lease_until = :present + :length
    WHERE node_no = {_NUMBER} AND NOT is_buried
"""
# A lease that ends hours too late is from before the clock was set back: a running node renews it in time. A
# value that is no number counts as an expired lease.
_CUT_LEASES = """
    UPDATE nodes SET lease_until = :present + :length WHERE node_no IN (
        SELECT node_no FROM nodes
        WHERE NOT is_buried AND lease_until > :present + :longest AND lease_until <= 9223372036854775807
        ORDER BY node_no FOR NO KEY UPDATE SKIP LOCKED
    )
"""
_BURY = "UPDATE nodes SET is_buried = TRUE WHERE node_no IN :these"
# An unknown node counts as dead.
_FORGOTTEN = f"""
    SELECT n.node_no, i.id FROM nodes AS n CROSS JOIN node_names AS i
    WHERE n.is_buried AND i.node_no = n.node_no AND NOT EXISTS (
        SELECT 1 FROM {_HELD} WHERE a.node_no = n.node_no AND a.state IN (1, 2)
    )
"""
_MICRO = timedelta(microseconds=1)


def hold(session: Session, node: str) -> Callable[[], Row]:
    """Lock a running node until the end of the transaction.

    Returns a function that gives its number, lease and kinds; NodeBuriedError if the node is dead.
    """
    asked = session.dialect.run(HOLD, id=node)
    return lambda: _living(asked, node)


def _living(asked: Answer, node: str) -> Row:
    row = asked.fetchone()
    if row is None:
        raise NodeBuriedError(node)
    return row


def join(session: Session, node: Node) -> Lease:
    """A node joins, or changes what it serves. A node that was declared dead cannot join again."""
    note_outage(session, session.proven_dead())
    session.write_node(node)
    return _renew(session, node.id)


def renew(session: Session, node: str) -> Lease:
    """A heartbeat."""
    note_outage(session)
    return _renew(session, node)


def _renew(session: Session, node: str) -> Lease:
    """Extend a lease, and delete answers of claims that no node will ask for again."""
    dialect, length = session.dialect, session.lease // _MICRO
    dialect.run(_RENEW, length=length, id=node)
    number, until, _ = _living(dialect.run(LIVING, id=node), node)
    dialect.run("DELETE FROM claims WHERE kept_until < :now", now=until - length)
    counted = dialect.run(COUNT_HELD, node=number)
    asked = dialect.run(CANCELS, node=number).fetchall()
    cancels = tuple(attempt.key for _, attempt in read_those_that_can_be(asked, session.interned))
    ((count,),) = counted.fetchall()
    return Lease(an_instant(until - length), an_instant(until), count, cancels)


def leave(session: Session, node: str) -> None:
    """A node leaves."""
    session.dialect.run(_LEAVE, id=node, length=session.lease // _MICRO)


def held(session: Session, node: str) -> tuple[Attempt, ...]:
    """The open attempts of a node."""
    number, *_ = _living(session.dialect.run(LIVING, id=node), node)
    return tuple(attempt for attempt, _ in held_by(session, number))


def held_by(session: Session, node_no: int) -> list[tuple[Attempt, int]]:
    """The attempts that a node holds, each with its claim's number and its place in the answer."""
    rows = session.dialect.run(HELD, node=node_no).fetchall()
    return [(attempt, row[-2] or 0) for row, attempt in read_those_that_can_be(rows, session.interned)]


def nodes(session: Session) -> tuple[NodeView, ...]:
    """The nodes that were not declared dead."""
    sql = f"{session.dialect.node_views} WHERE NOT n.is_buried ORDER BY i.id"
    return tuple(_views_of(session.dialect.run(sql).fetchall()))


def _views_of(rows: Iterable[Row]) -> Iterator[NodeView]:
    """Views of nodes. A node can be declared dead even if its other columns cannot be read."""
    for row in rows:
        with suppress(*UNREADABLE):
            yield _view(row)


def _view(row: Row) -> NodeView:
    id_, name, queues, kinds, version, skew, host, process, is_draining, limits, slots, until, count = row
    can_do = None if kinds is None else tuple(json.loads(kinds))
    off = timedelta(microseconds=skew or 0)  # an older program does not write the following columns
    place = host or "", process, bool(is_draining)
    counts = (tuple(sorted(json.loads(text or "{}").items())) for text in (limits, slots))
    node = Node(id_, name, tuple(json.loads(queues)), can_do, version, off, *place, *counts)
    return NodeView(node, an_instant(until), count)


def bury(session: Session, now: datetime) -> tuple[list[int], tuple[NodeView, ...]]:
    """Declare dead nodes dead. Returns their numbers and views."""
    dialect, lease = session.dialect, session.lease
    dialect.run(_CUT_LEASES, length=lease // _MICRO, longest=(lease + CORRECTION) // _MICRO)
    dead = sorted(session.find_dead(now))
    if not dead:
        return [], ()
    sql = f"{dialect.node_views} WHERE n.node_no IN :these ORDER BY i.id"
    views = tuple(_views_of(dialect.among(sql, dead).fetchall()))
    dialect.among(_BURY, dead)
    return dead, views


def dead_holders(session: Session) -> list[int]:
    """Dead or unknown nodes that hold attempts."""
    return [number for (number,) in session.dialect.run(HOLDERS).fetchall()]


def forget_dead(session: Session, but_for: Collection[int]) -> None:
    """Delete rows of dead nodes that hold nothing, except for some.

    Removing a lock file cannot be rolled back. So a call keeps the nodes that it declares dead or recovers
    attempts of: if its process dies before the commit, the proof of their death must still be there.
    """
    rows = session.dialect.run(_FORGOTTEN).fetchall()
    found = [(number, id_) for number, id_ in rows if number not in but_for]
    session.dialect.delete("nodes", "node_no", [(number,) for number, _ in found])
    session.forget_nodes([id_ for _, id_ in found])
