"""The nodes of the memory store: their leases, and the attempts that each of them holds."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt, AttemptState
from foliot.model.state import Lease, Node
from foliot.model.view import KEPT_OUTAGES, NodeView, Outage
from foliot.stores.matching import Key, lease_end


class NodeLease(NamedTuple):
    """A node and the end of its lease. Dead nodes are remembered: none may join again."""

    node: Node
    until: datetime
    is_buried: bool = False


class Nodes:
    """All nodes, and the attempts that each holds."""

    def __init__(self, lease: timedelta) -> None:
        self._lease = lease
        self.lives: dict[str, NodeLease] = {}
        self.outages: tuple[Outage, ...] = ()
        self._held: dict[str, dict[Key, Attempt]] = {}

    def join(self, node: Node, now: datetime) -> Lease:
        """A node joins, or changes what it serves."""
        self._note_outage(now)
        known = self.lives.get(node.id)
        if known is None or not known.is_buried:
            self.lives[node.id] = NodeLease(node, now + self._lease)
        return self.renew(node.id, now)

    def renew(self, node: str, now: datetime) -> Lease:
        """A heartbeat."""
        self._note_outage(now)
        self.lives[node] = self.living(node)._replace(until=now + self._lease)
        held = self.held(node)
        cancels = tuple(a.key for a in held if a.state is AttemptState.CANCELLING)
        return Lease(now, now + self._lease, len(held), cancels)

    def living(self, node: str) -> NodeLease:
        """A node that is alive; NodeBuriedError if it is not."""
        life = self.lives.get(node)
        if life is None or life.is_buried:
            raise NodeBuriedError(node)
        return life

    def bury(self, node: str) -> None:
        """Declare a node dead."""
        if life := self.lives.get(node):
            self.lives[node] = life._replace(is_buried=True)

    def leave(self, node: str, now: datetime) -> None:
        """A node leaves; the end of its lease says when it was last seen."""
        if (life := self.lives.get(node)) and not life.is_buried:
            self.lives[node] = life._replace(is_buried=True, until=now + self._lease)

    def _note_outage(self, now: datetime) -> None:
        """Record the time since the last sign of life, if no node is alive."""
        lives = self.lives.values()
        if not lives or any(life.until >= now and not life.is_buried for life in lives):
            return
        last_sign = max(life.until for life in lives) - self._lease
        if last_sign < now:
            self.outages = (Outage(last_sign, now), *self.outages)[:KEPT_OUTAGES]

    def expired(self, store_now: datetime, now: datetime) -> tuple[NodeView, ...]:
        """The nodes whose lease has expired by the store's time and by the caller's."""
        for id_, life in self.lives.items():
            self.lives[id_] = life._replace(until=lease_end(life.until, store_now, self._lease))
        over = min(store_now, now)
        return tuple(self._view(x) for x in self.lives.values() if x.until < over and not x.is_buried)

    def alive(self) -> tuple[NodeView, ...]:
        """The nodes that were not declared dead, ordered by id."""
        return tuple(self._view(life) for _, life in sorted(self.lives.items()) if not life.is_buried)

    def _view(self, life: NodeLease) -> NodeView:
        return NodeView(life.node, life.until, len(self._held.get(life.node.id, ())))

    # -- what they hold ----------------------------------------------------------------------------

    def held(self, node: str) -> tuple[Attempt, ...]:
        """What a node holds."""
        return tuple(self._held.get(node, {}).values())

    def holds(self, node: str, key: Key) -> bool:
        """Whether a node holds an attempt."""
        return key in self._held.get(node, ())

    def lost(self) -> list[Attempt]:
        """The attempts of nodes that are dead or unknown."""
        living = {id_ for id_, life in self.lives.items() if not life.is_buried}
        return [a for node, held in self._held.items() if node not in living for a in held.values()]

    def note(self, before: Attempt | None, after: Attempt | None) -> None:
        """Note which node holds an attempt now."""
        if before is not None and before.is_running:
            held = self._held[str(before.node)]
            del held[before.key]
            if not held:
                del self._held[str(before.node)]
        if after is not None and after.is_running:
            self._held.setdefault(str(after.node), {})[after.key] = after
