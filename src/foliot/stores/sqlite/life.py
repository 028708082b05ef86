"""Nodes: their leases, their burials, and the claims that they may ask for again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt
from foliot.model.state import CORRECTION, Lease, Node
from foliot.model.view import NodeView
from foliot.stores.sql.codes import UNREADABLE, an_instant, whole
from foliot.stores.sql.rows import Row, read_those_that_can_be
from foliot.stores.sqlite import statement
from foliot.stores.sqlite.book import Book, Desk
from foliot.stores.sqlite.lock_file import Host, LockFiles

_CANCELS = f"""
    SELECT h.*, j.key FROM ({statement.HELD}) AS h JOIN jobs AS j ON j.job_no = h.job_no WHERE h.state = 2
"""  # noqa: S608 - made of constants only
_LIVING = "SELECT node_no, lease_until, kinds FROM nodes WHERE node_no = ? AND NOT is_buried"
_LIVES = """
    SELECT i.id, n.node_no, n.machine, n.boot, n.lease_until
    FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no
"""
_NODES = """
    SELECT i.id, n.name, n.queues, n.kinds, n.version, o.skew, o.host, o.process, o.is_draining,
    n.lease_until, (
        SELECT count(*) FROM attempts AS a INDEXED BY attempts_held
        WHERE a.node_no = n.node_no AND a.state IN (1, 2)
    ), n.node_no
    FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no
    LEFT JOIN node_notes AS o ON o.node_no = n.node_no WHERE NOT n.is_buried ORDER BY i.id
"""
# A lease that ends hours too far ahead began before the clock was set back: whoever lives renews it in time.
_CUT_LEASES = """
    UPDATE nodes SET lease_until = ?
    WHERE NOT is_buried AND typeof(lease_until) = 'integer' AND lease_until > ?
"""
_NOTE = "INSERT OR REPLACE INTO node_notes (node_no, host, process, skew, is_draining) VALUES (?, ?, ?, ?, ?)"
_FORGET_NOTES = "DELETE FROM node_notes WHERE node_no NOT IN (SELECT node_no FROM nodes)"


class Life(NamedTuple):
    """A node that lives, as it is stored."""

    node_no: int
    lease_until: int
    kinds: frozenset[str] | None


def living(desk: Desk, node: str) -> Life:
    """A node that lives; NodeBuriedError if it does not, or its row is damaged: then it is to join anew.

    A lease that cannot be read has run out: the next heartbeat writes it anew.
    """
    row = desk.connection.execute(_LIVING, (desk.shelf.known_node(node),)).fetchone()
    if row is None:
        raise NodeBuriedError(node)
    node_no, until, kinds = row
    try:
        can_do = None if kinds is None else frozenset(json.loads(kinds))
    except UNREADABLE as error:
        raise NodeBuriedError(node) from error
    return Life(node_no, until if isinstance(until, int) else 0, can_do)


def join(desk: Desk, node: Node, locks: LockFiles, now: datetime, lease: timedelta) -> Lease:
    """A node begins its life; its lock is held before anybody can see it.

    An id that is known belongs to a life that has begun: it changes, or it has ended, and begins no more.
    """
    number = desk.shelf.known_node(node.id)
    kinds = None if node.kinds is None else json.dumps(node.kinds)
    serves = node.name, json.dumps(node.queues), kinds, node.version
    if number is None:
        number = desk.shelf.node_number(node.id)
        machine, boot = locks.host if locks.hold(node.id) else ("", "")
        desk.connection.execute(
            "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)", (number, *serves, machine, boot)
        )
    else:  # it has learned to do more, or less
        change = "UPDATE nodes SET name = ?, queues = ?, kinds = ?, version = ? WHERE node_no = ?"
        desk.connection.execute(change, (*serves, number))
    skew = node.skew // timedelta(microseconds=1)
    desk.connection.execute(_NOTE, (number, node.host, node.process, skew, node.is_draining))
    return renew(desk, node.id, now, lease)


def renew(desk: Desk, node: str, now: datetime, lease: timedelta) -> Lease:
    """A heartbeat; with it, answers that nobody will ask for again are forgotten."""
    number, until = living(desk, node).node_no, now + lease
    connection = desk.connection
    connection.execute("UPDATE nodes SET lease_until = ? WHERE node_no = ?", (whole(until), number))
    connection.execute("DELETE FROM claims WHERE kept_until < ?", (whole(now),))
    (count,) = connection.execute(
        "SELECT count(*) FROM attempts INDEXED BY attempts_held WHERE node_no = ? AND state IN (1, 2)",
        (number,),
    ).fetchone()
    rows = connection.execute(_CANCELS, (number,)).fetchall()
    cancels = tuple(attempt.key for _, attempt in read_those_that_can_be(rows, desk.shelf))
    return Lease(now, until, count, cancels)


def held(desk: Desk, node: str) -> tuple[Attempt, ...]:
    """The open attempts of a node."""
    return tuple(attempt for attempt, _ in held_by(desk, living(desk, node).node_no))


def held_by(desk: Desk, node_no: int) -> list[tuple[Attempt, int]]:
    """The attempts that a node holds, each with its claim's number and its place in the answer."""
    rows = desk.connection.execute(
        f"SELECT h.*, j.key FROM ({statement.HELD}) AS h JOIN jobs AS j ON j.job_no = h.job_no",  # noqa: S608 - constants
        (node_no,),
    ).fetchall()
    return [(attempt, row[-2] or 0) for row, attempt in read_those_that_can_be(rows, desk.shelf)]


def nodes(desk: Desk) -> tuple[NodeView, ...]:
    """The nodes that are not buried."""
    return tuple(_views_of(desk.connection.execute(_NODES)))


def _view(row: Row) -> NodeView:
    id_, name, queues, kinds, version, skew, host, process, is_draining, until, count, _ = row
    can_do = None if kinds is None else tuple(json.loads(kinds))
    off = timedelta(microseconds=skew or 0)  # a program of an earlier step says nothing of what follows
    place = host or "", process, bool(is_draining)
    node = Node(id_, name, tuple(json.loads(queues)), can_do, version, off, *place)
    return NodeView(node, an_instant(until), count)


def leave(desk: Desk, node: str) -> None:
    """A node ends its life in order."""
    desk.connection.execute(
        "UPDATE nodes SET is_buried = 1 WHERE node_no = ?", (desk.shelf.known_node(node),)
    )


def bury(book: Book, locks: LockFiles, over_before: datetime, reach: datetime) -> tuple[NodeView, ...]:
    """Bury the nodes whose lease has run out, and those whose process has ended, by proof.

    `reach`: the end of a lease that begins now. Those that are buried now, as they were.
    """
    connection = book.connection
    connection.execute(_CUT_LEASES, (whole(reach), whole(reach + CORRECTION)))
    lives = connection.execute(f"{_LIVES} WHERE NOT is_buried").fetchall()
    dead = {
        number
        for id_, number, machine, boot, until in lives
        if not _lasts(until, over_before) or (locks.host.is_same(Host(machine, boot)) and locks.is_dead(id_))
    }
    if not dead:
        return ()
    views = tuple(_views_of(row for row in connection.execute(_NODES) if row[-1] in dead))
    burials = [(number,) for number in sorted(dead)]
    connection.executemany("UPDATE nodes SET is_buried = 1 WHERE node_no = ?", burials)
    return views


def _lasts(until: object, now: datetime) -> bool:
    """Whether a lease lasts; one that cannot be read does not: who lives has soon written it anew."""
    return isinstance(until, int) and until >= whole(now)


def _views_of(rows: Iterable[Row]) -> Iterator[NodeView]:
    """Nodes as they are shown; to bury one, nobody need be able to read what it served."""
    for row in rows:
        with suppress(*UNREADABLE):
            yield _view(row)


def dead_holders(book: Book) -> list[int]:
    """Nodes that hold attempts and do not live: who holds and does not live is dead, known or not."""
    connection = book.connection
    alive = {number for (number,) in connection.execute("SELECT node_no FROM nodes WHERE NOT is_buried")}
    return [number for (number,) in connection.execute(statement.HOLDERS) if number not in alive]


def forget_dead(book: Book, locks: LockFiles, holders: list[int]) -> None:
    """Forget the buried of whom nothing is left: an unknown node counts as buried."""
    connection = book.connection
    buried = connection.execute(f"{_LIVES} WHERE is_buried").fetchall()
    for id_, number, *_ in buried:
        if number not in holders:
            connection.execute("DELETE FROM nodes WHERE node_no = ?", (number,))
            locks.remove(id_)
    connection.execute(_FORGET_NOTES)
