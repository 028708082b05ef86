"""Nodes: their leases, their burials, and the claims that they may ask for again.

Whoever claims or finishes for a node holds its row with others (FOR KEY SHARE); a heartbeat changes the row
beside them; whoever buries the node must have it alone (FOR UPDATE). So at a burial nothing of the node
is under way. A node that hangs in the middle is ended by the server, when its transaction has idled for
too long, or by whoever would bury it; until then its row is skipped, and it is buried the next time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt
from foliot.model.state import CORRECTION, Lease, Node
from foliot.model.view import NodeView
from foliot.stores.postgres import arrays, statement
from foliot.stores.postgres.book import Desk
from foliot.stores.postgres.statement import MARK, NOW
from foliot.stores.sql.claim import Asked
from foliot.stores.sql.codes import UNREADABLE, an_instant, whole
from foliot.stores.sql.rows import Row, read_those_that_can_be

# ruff: noqa: S608 - made of constants only

# All that a claim begins with, in one journey.
LIVING = f"""
    SELECT n.node_no, n.lease_until, n.kinds, {NOW}, nextval('claim_numbers'), {MARK},
        (SELECT c.claim_no FROM claims AS c WHERE c.claim_id = %s AND c.node_no = n.node_no),
        (SELECT json_agg(json_build_array(l.queue, l.kind, l.lane_no)) FROM lanes AS l
            WHERE l.queue = ANY(%s::text[]))
    FROM node_names AS i JOIN nodes AS n ON n.node_no = i.node_no
    WHERE i.id = %s AND NOT n.is_buried FOR KEY SHARE OF n
"""
_IS_LIVING = """
    SELECT n.node_no FROM node_names AS i JOIN nodes AS n ON n.node_no = i.node_no
    WHERE i.id = %s AND NOT n.is_buried FOR KEY SHARE OF n
"""
# An id that is known belongs to a life that has begun: it changes, or it has ended, and begins no more.
_BEGIN = """
    WITH new AS (INSERT INTO node_names (id) VALUES (%s) ON CONFLICT DO NOTHING RETURNING node_no)
    INSERT INTO nodes (node_no, name, queues, kinds, version, skew, lease_until, is_buried)
    SELECT node_no, '', '[]', NULL, '', 0, 0, false FROM new
"""
_SERVE = """
    UPDATE nodes
    SET name = %s, queues = %s, kinds = %s, version = %s, skew = %s, host = %s, process = %s, is_draining = %s
    WHERE node_no = (SELECT node_no FROM node_names WHERE id = %s) AND NOT is_buried
"""
_RENEW = f"""
    UPDATE nodes AS n SET lease_until = t.now + %s FROM (SELECT {NOW} AS now) AS t
    WHERE n.node_no = (SELECT node_no FROM node_names WHERE id = %s) AND NOT n.is_buried
    RETURNING n.node_no, t.now, n.lease_until
"""
COUNT_HELD = "SELECT count(*) FROM attempts AS a WHERE a.node_no = %s AND a.state IN (1, 2)"
CANCELS = f"{statement.HELD} AND a.state = 2"
# A lease that ends hours too far ahead began before the clock was set back: whoever lives renews it in time.
_CUT_LEASES = f"""
    UPDATE nodes SET lease_until = {NOW} + %s WHERE node_no IN (
        SELECT node_no FROM nodes WHERE NOT is_buried AND lease_until > {NOW} + %s
        ORDER BY node_no FOR NO KEY UPDATE SKIP LOCKED
    )
"""
_OVER = f"NOT is_buried AND lease_until < least({NOW}, %s)"
_EXPIRED = f"SELECT node_no FROM nodes WHERE {_OVER} ORDER BY node_no FOR UPDATE SKIP LOCKED"
_OVERDUE = f"SELECT count(*) FROM nodes WHERE {_OVER}"
# In a pipeline no time limit of the server runs between two statements (see LineCursor): whoever fell silent
# there is ended by those who would bury it. Only COPY may take its time.
_END_SILENT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
        AND application_name = current_setting('application_name')  -- of this schema
        AND state = 'active' AND wait_event = 'ClientRead' AND query NOT LIKE 'COPY%'
        AND query_start < clock_timestamp()
            - 2 * current_setting('idle_in_transaction_session_timeout')::interval
"""
_FORGET_DEAD = """
    DELETE FROM nodes AS n WHERE n.is_buried AND NOT EXISTS (
        SELECT 1 FROM attempts AS a WHERE a.node_no = n.node_no AND a.state IN (1, 2)
    )
"""
_VIEWS = """
    SELECT i.id, n.name, n.queues, n.kinds, n.version, n.skew, n.host, n.process, n.is_draining,
    n.lease_until, (
        SELECT count(*) FROM attempts AS a WHERE a.node_no = n.node_no AND a.state IN (1, 2)
    )
    FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no
"""
_NODES = f"{_VIEWS} WHERE NOT n.is_buried ORDER BY i.id"
_THESE = f"{_VIEWS} WHERE n.node_no = ANY(%s) ORDER BY i.id"


class Life(NamedTuple):
    """A node that lives, the time by the server, and what its claim begins with.

    `claim_no` is for what it may claim now, `before` of the claim if it was made before, `lanes` are those of
    each queue that lead to what the node can do, and `mark` is what the transaction leaves on its rows.
    """

    node_no: int
    lease_until: int
    now: int
    claim_no: int
    mark: str
    before: int | None
    lanes: dict[str, list[int]]


def living(desk: Desk, asked: Asked, told: int | None) -> Life:
    """The node of a claim, held until the end of the transaction; NodeBuriedError if it does not live."""
    values = told, asked.claim_id, arrays.texts(asked.room), asked.node
    row = desk.connection.execute(LIVING, values, binary=True).fetchone()
    if row is None:
        raise NodeBuriedError(asked.node)
    node_no, until, kinds, now, claim_no, mark, before, found = row
    desk.shelf.know_node(node_no, asked.node)
    wanted = None if kinds is None else frozenset(json.loads(kinds))
    lanes: dict[str, list[int]] = {}
    for queue, kind, number in found or ():
        if wanted is None or kind in wanted:
            lanes.setdefault(queue, []).append(number)
    return Life(node_no, until, now, claim_no, mark, before, lanes)


def hold(desk: Desk, node: str) -> Callable[[], None]:
    """Hold a node that lives, until the end of the transaction; the answer raises NodeBuriedError."""
    asked = desk.connection.execute(_IS_LIVING, (node,), binary=True)

    def check() -> None:
        if asked.fetchone() is None:
            raise NodeBuriedError(node)

    return check


def join(desk: Desk, node: Node, lease: timedelta, told: int | None) -> Lease:
    """A node begins its life, or changes what it serves; who was buried, and forgotten, stays buried."""
    kinds = None if node.kinds is None else json.dumps(node.kinds)
    skew = node.skew // timedelta(microseconds=1)
    desk.connection.execute(_BEGIN, (node.id,))
    serves = node.name, json.dumps(node.queues), kinds, node.version, skew
    place = node.host, node.process, node.is_draining
    desk.connection.execute(_SERVE, (*serves, *place, node.id))
    return renew(desk, node.id, lease, told)


def renew(desk: Desk, node: str, lease: timedelta, told: int | None) -> Lease:
    """A heartbeat; with it, answers that nobody will ask for again are forgotten."""
    length = lease // timedelta(microseconds=1)
    row = desk.connection.execute(_RENEW, (length, told, node), binary=True).fetchone()
    if row is None:
        raise NodeBuriedError(node)
    number, now, until = row
    desk.connection.execute("DELETE FROM claims WHERE kept_until < %s", (now,))
    counted = desk.connection.execute(COUNT_HELD, (number,), binary=True)
    asked = desk.connection.execute(CANCELS, (number,), binary=True).fetchall()
    cancels = tuple(attempt.key for _, attempt in read_those_that_can_be(asked, desk.shelf))
    ((count,),) = counted.fetchall()
    return Lease(an_instant(now), an_instant(until), count, cancels)


def leave(desk: Desk, node: str) -> None:
    """A node ends its life in order."""
    desk.connection.execute(
        "UPDATE nodes SET is_buried = true WHERE node_no = (SELECT node_no FROM node_names WHERE id = %s)",
        (node,),
    )


def held(desk: Desk, node: str) -> tuple[Attempt, ...]:
    """The open attempts of a node."""
    row = desk.connection.execute(
        _IS_LIVING.replace("FOR KEY SHARE OF n", ""), (node,), binary=True
    ).fetchone()
    if row is None:
        raise NodeBuriedError(node)
    return tuple(attempt for attempt, _ in held_by(desk, row[0]))


def held_by(desk: Desk, node_no: int) -> list[tuple[Attempt, int]]:
    """The attempts that a node holds, each with its claim's number and its place in the answer."""
    rows = desk.connection.execute(statement.HELD, (node_no,), binary=True).fetchall()
    return [(attempt, row[-2] or 0) for row, attempt in read_those_that_can_be(rows, desk.shelf)]


def time(desk: Desk, told: int | None) -> datetime:
    """What time it is."""
    (now,) = desk.connection.execute(f"SELECT {NOW}", (told,), binary=True).fetchone() or (0,)
    return an_instant(now)


def nodes(desk: Desk) -> tuple[NodeView, ...]:
    """The nodes that are not buried."""
    return tuple(_views_of(desk.connection.execute(_NODES, binary=True)))


def _view(row: Row) -> NodeView:
    id_, name, queues, kinds, version, skew, host, process, is_draining, until, count = row
    can_do = None if kinds is None else tuple(json.loads(kinds))
    off = timedelta(microseconds=skew)
    node = Node(id_, name, tuple(json.loads(queues)), can_do, version, off, host, process, is_draining)
    return NodeView(node, an_instant(until), count)


def _views_of(rows: Iterable[Row]) -> Iterator[NodeView]:
    """Nodes as they are shown; to bury one, nobody need be able to read what it served."""
    for row in rows:
        with suppress(*UNREADABLE):
            yield _view(row)


def bury(desk: Desk, now: datetime, lease: timedelta, told: int | None) -> tuple[NodeView, ...]:
    """Bury the nodes whose lease has run out, by the server's time and by `now`; one that is held, next time.

    Those that are buried now, as they were.
    """
    micro = timedelta(microseconds=1)
    desk.connection.execute(_CUT_LEASES, (told, lease // micro, told, (lease + CORRECTION) // micro))
    found = desk.connection.execute(_EXPIRED, (told, whole(now)), binary=True)
    overdue = desk.connection.execute(_OVERDUE, (told, whole(now))).fetchone() or (0,)
    expired = [number for (number,) in found]
    buried: tuple[NodeView, ...] = ()
    if expired:
        buried = tuple(_views_of(desk.connection.execute(_THESE, (expired,), binary=True)))
        desk.connection.execute("UPDATE nodes SET is_buried = true WHERE node_no = ANY(%s)", (expired,))
    if overdue[0] > len(expired):
        desk.connection.execute(_END_SILENT)
    return buried


def dead_holders(desk: Desk) -> list[int]:
    """Nodes that hold attempts and do not live: who holds and does not live is dead, known or not."""
    return [number for (number,) in desk.connection.execute(statement.HOLDERS, binary=True)]


def forget_dead(desk: Desk) -> None:
    """Forget the buried of whom nothing is left: an unknown node counts as buried."""
    desk.connection.execute(_FORGET_DEAD)
