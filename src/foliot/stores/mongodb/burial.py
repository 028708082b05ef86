"""Whether nodes live: the check before a write, and burials.

A lease is stamped by the clock of the primary, and carries the *term*: the election that the primary comes
from. After another election another server's clock counts. So a lease of another term ends one lease later.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pymongo import ReturnDocument

from foliot.model.state import CORRECTION, Node
from foliot.model.view import NodeView
from foliot.stores.matching import Key
from foliot.stores.mongodb.asking import Asking
from foliot.stores.mongodb.connection import Document
from foliot.stores.optimistic.names import key_of
from foliot.stores.optimistic.rows import read_node
from foliot.stores.optimistic.session import Losses
from foliot.stores.sql.codes import UNREADABLE, an_instant, whole

MICROSECOND = timedelta(microseconds=1)
ALIVE: Document = {"dead": {"$exists": False}}
_DEAD_ARE_REMEMBERED = timedelta(days=30) // MICROSECOND
_CLAIMS = 16  # claim ids that are remembered of a node
_PART = 500


class NodeCheck(NamedTuple):
    """A living node: whether its lease is valid, and which caller has the claim id."""

    is_in_time: bool
    asker: str | None
    facts: str


class Burials(Asking):
    """Checks and buries nodes."""

    def check_node(self, node: str, claim_id: str | None = None, asker: str = "") -> NodeCheck | None:
        """Check a node; None if it is buried. If the claim id is new, `asker` gets it."""
        if claim_id is None or not asker:
            steps: list[Document] = [{"$match": {"_id": node, **ALIVE}}, {"$set": {"now": self.time}}]
            found = next(iter(self["nodes"].aggregate(steps)), None)
        else:
            with self.step("ask"):
                found = self["nodes"].find_one_and_update(
                    {"_id": node, **ALIVE}, [{"$set": self._asked(claim_id, asker)}],
                    return_document=ReturnDocument.AFTER,
                )  # fmt: skip
        if found is None:
            return None
        askers = {one["k"]: one["a"] for one in found.get("c") or ()}
        return NodeCheck(found["now"] < found["until"], askers.get(claim_id), found.get("facts", ""))

    def _asked(self, claim_id: str, asker: str) -> Document:
        known: Any = {"$ifNull": ["$c", []]}
        one = {"k": {"$literal": claim_id}, "a": {"$literal": asker}}
        longer = {"$slice": [{"$concatArrays": [known, [one]]}, -_CLAIMS]}
        is_known = {"$in": [{"$literal": claim_id}, {"$ifNull": ["$c.k", []]}]}
        is_late = {"$gte": [self.time, "$until"]}  # then the claim starts nothing, and is not remembered
        return {"now": self.time, "c": {"$cond": [{"$or": [is_known, is_late]}, known, longer]}}

    def bury_nodes(self, limit: int, now: datetime) -> Losses:
        """Bury nodes whose lease is over by the store's time and by `now`. Returns their attempts."""
        term = self.shared.term()
        lease, correction = self.shared.lease // MICROSECOND, CORRECTION // MICROSECOND
        steps: list[Document] = [{"$match": ALIVE}, {"$set": {"now": self.time}}]
        buried: list[NodeView] = []
        for found in list(self["nodes"].aggregate(steps)):
            until, time = int(found["until"]), int(found["now"])
            if until > time + lease + correction:
                cut = {"$set": {"until": time + lease}}
                self["nodes"].update_one({"_id": found["_id"], "until": until}, cut)
                continue
            grace = 0 if found.get("term", "") == term else lease
            if until + grace < min(time, whole(now)) and self._bury(found, until):
                buried.append(node_view(found, self.count_held(found["_id"])))
        if buried:
            old = self.server_time() - _DEAD_ARE_REMEMBERED
            self["nodes"].delete_many({"dead": {"$lt": old}})
        return self._lost(tuple(buried), limit)

    def _bury(self, found: Document, until: int) -> bool:
        wanted = {"_id": found["_id"], "until": until, **ALIVE}
        with self.step("bury"):
            return self["nodes"].update_one(wanted, {"$set": {"dead": self.server_time()}}).matched_count > 0

    def _lost(self, buried: tuple[NodeView, ...], limit: int) -> Losses:
        """Read the holders first, and the living nodes second: a node that joins in between loses nothing."""
        holders = set(self["jobs"].distinct("c.n", {"c": {"$exists": True}})) - {"", None}
        living = {one["_id"] for one in self["nodes"].find(ALIVE, {"_id": 1})}
        lost: dict[str, list[tuple[str, Key]]] = {}
        count = 0
        for node in sorted(holders - living):
            wanted = {"c.n": node, "x": {"$exists": False}}
            for found in self["jobs"].find(wanted, {"c": 1}).limit(limit + 1):
                for one in found["c"]:
                    if one["n"] != node or count > limit:
                        continue
                    count += 1
                    if count <= limit:
                        job: str = found["_id"]
                        lost.setdefault(job, []).append((node, key_of(job, one["i"])))
        return Losses(buried, lost, count > limit)

    def count_held(self, node: str) -> int:
        """How many attempts a node holds."""
        return sum(self.held_by(node).values())

    def held_by(self, node: str) -> dict[bool, int]:
        """How many attempts a node holds, with a cancel request (True) and without (False)."""
        steps: list[Document] = [
            {"$match": {"c.n": node}}, {"$unwind": "$c"}, {"$match": {"c.n": node}},
            {"$group": {"_id": "$c.x", "count": {"$sum": 1}}},
        ]  # fmt: skip
        return {bool(one["_id"]): int(one["count"]) for one in self.committed("jobs").aggregate(steps)}


def node_view(found: Document, held: int) -> NodeView:
    """The view of a node. If its facts cannot be read, the view has only the id."""
    try:
        node = read_node(found["facts"])
    except UNREADABLE:
        node = Node(found["_id"])
    return NodeView(node, an_instant(int(found["until"])), held)
