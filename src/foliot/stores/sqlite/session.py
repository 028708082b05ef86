"""The session of a connection: cached entries, and proofs of death by lock files."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta

from foliot.errors import NodeBuriedError
from foliot.model.state import Node
from foliot.protocols import Clock
from foliot.stores.sql.claim import Asked
from foliot.stores.sql.codes import UNREADABLE, whole
from foliot.stores.sql.definition import Reader, Writer
from foliot.stores.sql.node_rows import hold
from foliot.stores.sql.session import Answer, ClaimStart, Facts, Session
from foliot.stores.sqlite.bad_text import has_bad_text
from foliot.stores.sqlite.batch import SqliteBatch
from foliot.stores.sqlite.connection import Connection
from foliot.stores.sqlite.dialect import SqliteDialect
from foliot.stores.sqlite.lease_clock import LeaseClock
from foliot.stores.sqlite.lock_file import Host, LockFiles
from foliot.stores.sqlite.worker import of_caller

CLAIMED_BEFORE = "SELECT claim_no FROM claims WHERE claim_id = ? AND node_no = ?"
# No other call writes meanwhile. The number of a claim stays used after its row is deleted.
_NEXT_CLAIM = "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'claims'"
_BEGIN_LIFE = "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)"
_CHANGE_LIFE = "UPDATE nodes SET name = ?, queues = ?, kinds = ?, version = ? WHERE node_no = ?"
_NOTE = """
    INSERT OR REPLACE INTO node_notes (node_no, host, process, skew, is_draining, limits, slots)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_LIVES = """
    SELECT i.id, n.node_no, n.machine, n.boot, n.lease_until
    FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no WHERE NOT is_buried
"""
_FORGET_NOTES = "DELETE FROM node_notes WHERE node_no NOT IN (SELECT node_no FROM nodes)"


class SqliteSession(Session):
    """Its cache is valid as long as no other connection writes to the file."""

    def __init__(
        self,
        connection: Connection,
        jobs: tuple[Reader, Writer],
        clock: Clock,
        leases: LeaseClock,
        locks: LockFiles,
    ) -> None:
        super().__init__(SqliteDialect(connection, clock), jobs, clock, leases.lease, is_careful=True)
        self.connection = connection
        self.has_bad_text = has_bad_text(connection)
        self._leases = leases
        self._locks = locks

    def asking(self, ask: Callable[Facts, Answer]) -> Callable[Facts, Answer]:
        return of_caller(ask)

    def batch(self, *, locks: bool = True) -> SqliteBatch:  # noqa: ARG002 - see the base
        return SqliteBatch(self)

    def lock_jobs(self, keys: Collection[str]) -> None:
        """One call writes at a time."""

    def lock_group(self, group: str) -> bool:  # noqa: ARG002 - see the base
        return True  # one call writes at a time

    # -- claims ------------------------------------------------------------------------------------

    def begin_claim(self, asked: Asked) -> ClaimStart:
        """A lease that cannot be read counts as expired: the next heartbeat writes it again."""
        node_no, until, kinds = hold(self, asked.node)()
        asked_before = self.connection.execute(CLAIMED_BEFORE, (asked.claim_id, node_no)).fetchone()
        try:
            can_do = None if kinds is None else frozenset(json.loads(kinds))
        except UNREADABLE as error:  # then the node must join again
            raise NodeBuriedError(asked.node) from error
        (number,) = self.connection.execute(_NEXT_CLAIM).fetchone()
        return ClaimStart(
            node_no,
            until if isinstance(until, int) else 0,
            whole(self._leases.now()),
            number,
            None if asked_before is None else asked_before[0],
            self.interned.lanes(asked.room.keys(), can_do),
        )

    # -- nodes -------------------------------------------------------------------------------------

    def write_node(self, node: Node) -> None:
        """The lock of a node is held before any other node can see it."""
        known = self.dialect.run("SELECT node_no FROM node_names WHERE id = :id", id=node.id).fetchone()
        kinds = None if node.kinds is None else json.dumps(node.kinds)
        serves = node.name, json.dumps(node.queues), kinds, node.version
        number = known[0] if known is not None else self.interned.node_number(node.id)
        if known is None:
            machine, boot = self._locks.host if self._locks.hold(node.id) else ("", "")
            self.connection.execute(_BEGIN_LIFE, (number, *serves, machine, boot))
        else:
            self.connection.execute(_CHANGE_LIFE, (*serves, number))
        skew = node.skew // timedelta(microseconds=1)
        counts = json.dumps(dict(node.limits)), json.dumps(dict(node.slots))
        self.connection.execute(_NOTE, (number, node.host, node.process, skew, node.is_draining, *counts))

    def find_dead(self, now: datetime) -> Collection[int]:
        """A lease that cannot be read counts as expired: a running node soon writes it again."""
        over_before, proven = whole(self._leases.over_before(now)), self.proven_dead()
        return [
            number
            for _, number, _, _, until in self.connection.execute(_LIVES).fetchall()
            if not isinstance(until, int) or until < over_before or number in proven
        ]

    def proven_dead(self) -> Collection[int]:
        """Nodes of this host whose lock no process holds."""
        locks = self._locks
        return {
            number
            for id_, number, machine, boot, _ in self.connection.execute(_LIVES).fetchall()
            if locks.host.is_same(Host(machine, boot)) and locks.is_dead(id_)
        }

    def forget_nodes(self, ids: Iterable[str]) -> None:
        self.connection.execute(_FORGET_NOTES)
        for id_ in ids:
            self._locks.remove(id_)
