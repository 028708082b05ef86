"""The session of a connection: the cache of the store, and the locks on nodes.

Locks on the row of a node:

    claim, finish             FOR KEY SHARE    shared: any number at once
    heartbeat                 an update that is possible beside them
    declare dead ("bury")     FOR UPDATE       exclusive: then no claim or finish of the node is under way

If a node hangs in a transaction, the server ends it when it has idled for too long, or the node that wants to
declare it dead ends it. Until then the row is skipped, and the node is declared dead at the next try.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta

from foliot.errors import NodeBuriedError
from foliot.model.state import Node
from foliot.protocols import Clock
from foliot.stores.postgres import arrays, statement
from foliot.stores.postgres.batch import PostgresBatch
from foliot.stores.postgres.connection import Connection
from foliot.stores.postgres.definition_cache import DefinitionCache
from foliot.stores.postgres.dialect import PostgresDialect
from foliot.stores.postgres.migration import lock_number
from foliot.stores.sql.claim import Asked
from foliot.stores.sql.codes import whole
from foliot.stores.sql.definition import Reader, Writer
from foliot.stores.sql.interned import lanes_of
from foliot.stores.sql.session import Answer, ClaimStart, Facts, Session

# ruff: noqa: S608 - made of constants only

# A known id belongs to a node that has joined: its row is updated, or, if it has ended, refused.
_BEGIN_LIFE = """
    WITH new AS (INSERT INTO node_names (id) VALUES (:id) ON CONFLICT DO NOTHING RETURNING node_no)
    INSERT INTO nodes (node_no, name, queues, kinds, version, skew, lease_until, is_buried)
    SELECT node_no, '', '[]', NULL, '', 0, 0, false FROM new
"""
_CHANGE_LIFE = """
    UPDATE nodes
    SET name = :name, queues = :queues, kinds = :kinds, version = :version, skew = :skew, host = :host,
    process = :process, is_draining = :draining, limits = :limits, slots = :slots
    WHERE node_no = (SELECT node_no FROM node_names WHERE id = :id) AND NOT is_buried
"""
_LOCK_GROUP = "SELECT pg_try_advisory_xact_lock(%s)"
_OVER = "NOT is_buried AND lease_until < least(:present, :now)"
EXPIRED = f"SELECT node_no FROM nodes WHERE {_OVER} ORDER BY node_no FOR UPDATE SKIP LOCKED"
OVERDUE = f"SELECT count(*) FROM nodes WHERE {_OVER}"
# In a pipeline no time limit of the server applies between two statements (see SyncingCursor). So a node that
# is silent there is ended by the node that wants to declare it dead. Only COPY may take longer.
END_SILENT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
        AND application_name = current_setting('application_name')  -- of this schema
        AND state = 'active' AND wait_event = 'ClientRead' AND query NOT LIKE 'COPY%'
        AND query_start < clock_timestamp()
            - 2 * current_setting('idle_in_transaction_session_timeout')::interval
"""


class PostgresSession(Session):
    """`cache` is shared by all connections of a store."""

    def __init__(  # noqa: PLR0913 - all that calls share
        self,
        connection: Connection,
        schema: str,
        cache: DefinitionCache,
        clock: Clock,
        *,
        lease: timedelta,
        silence: timedelta,
        test_now: Callable[[], int | None] = lambda: None,
    ) -> None:
        dialect = PostgresDialect(connection, schema, test_now)
        self.connection = connection
        self.cache = cache
        super().__init__(dialect, (Reader(), Writer()), clock, lease, is_careful=False)
        self._silence = silence
        self._schema = schema
        self._test_now = test_now

    def forget(self) -> None:
        super().forget()
        self.cache.forget()

    def asking(self, ask: Callable[Facts, Answer]) -> Callable[Facts, Answer]:
        """Before a long decision, send something to the server if it has heard nothing for a while.

        Otherwise the server would end the transaction.
        """
        clock, spoken_at = self.clock, self.clock.monotonic()

        def asked(*facts: Facts.args, **more: Facts.kwargs) -> Answer:
            nonlocal spoken_at
            if clock.monotonic() - spoken_at > self._silence.total_seconds():
                self.connection.execute("SELECT 1")
                spoken_at = clock.monotonic()
            return ask(*facts, **more)

        return asked

    def batch(self, *, locks: bool = True) -> PostgresBatch:
        return PostgresBatch(self, locks=locks)

    def lock_jobs(self, keys: Collection[str]) -> None:
        self.connection.execute(statement.LOCK_BY_KEY, (arrays.texts(keys),))

    def lock_group(self, group: str) -> bool:
        """A claim never waits for a group: two claims that want two groups each could wait for each other."""
        number = lock_number("claims of", self._schema, group)
        (is_ours,) = self.connection.execute(_LOCK_GROUP, (number,)).fetchone() or (False,)
        return bool(is_ours)

    # -- claims ------------------------------------------------------------------------------------

    def begin_claim(self, asked: Asked) -> ClaimStart:
        values = {
            "present": self._test_now(),
            "claim": asked.claim_id,
            "queues": arrays.texts(asked.room),
            "node": asked.node,
        }
        row = self.connection.execute(statement.BEGIN_CLAIM, values, binary=True).fetchone()
        if row is None:
            raise NodeBuriedError(asked.node)
        node_no, until, kinds, now, claim_no, before, lanes = row
        self.interned.know_node(node_no, asked.node)
        can_do = None if kinds is None else frozenset(json.loads(kinds))
        return ClaimStart(node_no, until, now, claim_no, before, lanes_of(lanes or (), can_do))

    # -- nodes -------------------------------------------------------------------------------------

    def write_node(self, node: Node) -> None:
        self.dialect.run(_BEGIN_LIFE, id=node.id)
        self.dialect.run(
            _CHANGE_LIFE,
            id=node.id,
            name=node.name,
            queues=json.dumps(node.queues),
            kinds=None if node.kinds is None else json.dumps(node.kinds),
            version=node.version,
            skew=node.skew // timedelta(microseconds=1),
            host=node.host,
            process=node.process,
            draining=node.is_draining,
            limits=json.dumps(dict(node.limits)),
            slots=json.dumps(dict(node.slots)),
        )

    def find_dead(self, now: datetime) -> Collection[int]:
        """Judged by the server's time and by `now`. A node whose row is locked is left for the next time."""
        found = self.dialect.run(EXPIRED, now=whole(now))
        overdue = self.dialect.run(OVERDUE, now=whole(now)).fetchone() or (0,)
        expired = [number for (number,) in found.fetchall()]
        if overdue[0] > len(expired):
            self.connection.execute(END_SILENT)
        return expired

    def forget_nodes(self, ids: Iterable[str]) -> None:
        """Nothing is cached for nodes."""
