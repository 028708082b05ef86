"""Nodes: their leases, the attempts that they hold, and their views."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt
from foliot.model.state import Lease, Node
from foliot.model.view import KEPT_OUTAGES, NodeView, Outage
from foliot.stores.mongodb.burial import ALIVE, MICROSECOND, node_view
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.opening import check_birth
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.names import key_of
from foliot.stores.optimistic.rows import write_node
from foliot.stores.sql.codes import an_instant


def join(session: MongoSession, node: Node) -> Lease:
    """A node joins, or changes what it serves."""
    check_birth(session)
    return _health(session, node.id, {"facts": write_node(node)}, is_birth=True)


def renew(session: MongoSession, node: str) -> Lease:
    """A heartbeat."""
    check_birth(session)
    return _health(session, node, {})


def _health(session: MongoSession, node: str, facts: Document, *, is_birth: bool = False) -> Lease:
    _note_life(session, node, is_birth=is_birth)
    lease = session.shared.lease // MICROSECOND
    told: Document = {name: {"$literal": value} for name, value in facts.items()}
    # The term is read before the write: see `Shared.term`.
    told |= {"at": session.time, "term": session.shared.term()}
    told["until"] = {"$add": [session.time, lease]}
    wanted, after = {"_id": node, **ALIVE}, ReturnDocument.AFTER
    try:
        with session.commit():
            found = session["nodes"].find_one_and_update(
                wanted, [{"$set": told}], upsert=is_birth, return_document=after
            )
    except DuplicateKeyError:  # the id was used before
        found = None
    if found is None:
        raise NodeBuriedError(node)
    counts = session.held_by(node)
    cancels = _cancels(session, node) if counts.get(True) else ()
    return Lease(an_instant(int(found["at"])), an_instant(int(found["until"])), sum(counts.values()), cancels)


def _cancels(session: MongoSession, node: str) -> tuple[tuple[str, int], ...]:
    wanted = {"c": {"$elemMatch": {"n": node, "x": True}}}
    found = session.committed("jobs").find({"c.n": node, **wanted}, {"c": 1})
    names = sorted(
        (one["_id"], attempt["i"])
        for one in found
        for attempt in one["c"]
        if attempt["n"] == node and attempt.get("x")
    )
    return tuple(key_of(*name) for name in names)


def _note_life(session: MongoSession, node: str, *, is_birth: bool) -> None:
    """Record an outage, if this is the first sign of life after a period without a node.

    The sign of life is written before the lease. So if two nodes come at once, only one of them finds the old
    sign. A node that joined after the old sign was not alive before it.
    """
    is_dead = session["nodes"].find_one({"_id": node, "dead": {"$exists": True}}, {"_id": 1}) is not None
    if is_dead or not (is_birth or session["nodes"].find_one({"_id": node}, {"_id": 1})):
        return
    found = session["meta"].find_one_and_update(
        {"_id": "seen"}, [{"$set": {"before": {"$ifNull": ["$at", None]}, "at": session.time}}],
        upsert=True, return_document=ReturnDocument.AFTER,
    )  # fmt: skip
    before, now = (found or {}).get("before"), int((found or {}).get("at", 0))
    if before is None or before >= now:
        return
    living = {**ALIVE, "until": {"$gt": now}, "at": {"$lt": now}}
    if session["nodes"].find_one(living, {"_id": 1}) is None:
        session["outages"].update_one({"_id": int(before)}, {"$set": {"last": now}}, upsert=True)
        old = list(session["outages"].find({}, {"_id": 1}).sort("_id", -1).skip(KEPT_OUTAGES))
        if old:
            session["outages"].delete_many({"_id": {"$lte": old[0]["_id"]}})


def leave(session: MongoSession, node: str) -> None:
    """A node leaves."""
    change = {"$set": {"dead": session.server_time()}}
    with session.commit():
        is_done = session["nodes"].update_one({"_id": node, **ALIVE}, change).matched_count > 0
    if not is_done:
        raise NodeBuriedError(node)
    session["meta"].update_one({"_id": "seen"}, [{"$set": {"at": session.time}}], upsert=True)


def held(session: MongoSession, node: str) -> tuple[Attempt, ...]:
    """The open attempts of a node, as a majority of the servers has them."""
    if session["nodes"].find_one({"_id": node, **ALIVE}, {"_id": 1}) is None:
        raise NodeBuriedError(node)
    entries = session.read(list(session.committed("jobs").find({"c.n": node}).sort("_id", 1)))
    return tuple(one for entry in entries for one in _attempts(entry) if one.node == node and one.is_running)


def _attempts(entry: Entry) -> tuple[Attempt, ...]:
    """The open attempts of a job, also if its definition cannot be read."""
    if entry.record is not None:
        return entry.record.attempts
    return entry.remains[1] if entry.remains else ()


def nodes(session: MongoSession) -> tuple[NodeView, ...]:
    """The nodes that are not buried, in the order of their ids."""
    found = list(session["nodes"].find(ALIVE).sort("_id", 1))
    return tuple(node_view(one, session.count_held(one["_id"])) for one in found)


def running(session: MongoSession, group: str) -> int:
    """How many attempts that were started in a group still run."""
    return session.running(group)


def outages(session: MongoSession) -> tuple[Outage, ...]:
    """The periods without a living node, the newest first."""
    found: Any = session["outages"].find().sort("_id", -1).limit(KEPT_OUTAGES)
    return tuple(Outage(an_instant(int(one["_id"])), an_instant(int(one["last"]))) for one in found)


def now(session: MongoSession) -> datetime:
    """The store's time."""
    return an_instant(session.now_number())
