"""Nodes: their leases, the attempts that they hold, and their views."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt
from foliot.model.state import Lease, Node
from foliot.model.view import KEPT_OUTAGES, NodeView, Outage
from foliot.stores.optimistic import rows
from foliot.stores.optimistic.entry import Entry
from foliot.stores.redis import layout
from foliot.stores.redis.asking import pairs, text_of
from foliot.stores.redis.session import RedisSession, node_view
from foliot.stores.redis.stage import now_number
from foliot.stores.sql.codes import an_instant

_MICROSECOND = timedelta(microseconds=1)


def join(session: RedisSession, node: Node) -> Lease:
    """A node joins, or changes what it serves."""
    facts = rows.write_node(node)
    lease = _health(session, "join", node.id, facts=facts)
    session.shared.nodes[node.id] = facts
    return lease


def renew(session: RedisSession, node: str) -> Lease:
    """A heartbeat."""
    return _health(session, "renew", node)


def _health(session: RedisSession, verb: str, node: str, **facts: Any) -> Lease:
    lease = session.shared.lease // _MICROSECOND
    status, found = session.run_one(
        "heartbeat", verb=verb, node=node, lease=lease, outages=KEPT_OUTAGES, **facts
    )
    if status == "BURIED":
        session.shared.nodes.pop(node, None)
        raise NodeBuriedError(node)
    now, until, held, *cancels = found
    names = sorted(layout.split_name(text_of(name)) for name in cancels)
    asked = tuple(layout.key_of(*name) for name in names)
    return Lease(an_instant(int(now)), an_instant(int(until)), held, asked)


def leave(session: RedisSession, node: str) -> None:
    """A node leaves."""
    session.shared.nodes.pop(node, None)
    status, _ = session.run_one("heartbeat", verb="leave", node=node)
    if status == "BURIED":
        raise NodeBuriedError(node)


def held(session: RedisSession, node: str) -> tuple[Attempt, ...]:
    """The open attempts of a node. An index entry without an attempt in a record is deleted."""
    names, lives = session.ask_all([("HKEYS", f"o:{node}"), ("HEXISTS", "until", node)])
    if not lives:
        raise NodeBuriedError(node)
    jobs: dict[str, set[tuple[str, int]]] = {}
    for name in names:
        job, identity = layout.split_name(text_of(name))
        jobs.setdefault(job, set()).add(layout.key_of(job, identity))
    found: list[Attempt] = []
    gone: list[tuple[str, str, tuple[str, int]]] = []
    entries = session.entries(jobs)
    for job, keys in jobs.items():
        entry = entries.get(job)
        if entry is not None and entry.record is None and entry.remains is None:
            continue  # a damaged job: its attempts are unknown
        attempts = _attempts(entry)
        ours = [one for one in attempts if one.node == node and one.is_running and one.key in keys]
        found += ours
        gone += ((node, job, key) for key in keys - {one.key for one in ours})
    if gone:
        session.drop_holds(gone)
    return tuple(found)


def _attempts(entry: Entry | None) -> tuple[Attempt, ...]:
    """The open attempts of a job, also if its definition cannot be read."""
    if entry is None:
        return ()
    if entry.record is not None:
        return entry.record.attempts
    return entry.remains[1] if entry.remains else ()


def nodes(session: RedisSession) -> tuple[NodeView, ...]:
    """The nodes that are not buried, in the order of their ids."""
    ends = dict(pairs(session.ask("HGETALL", "until")))
    ids = sorted(ends)
    if not ids:
        return ()
    facts, *counts = session.ask_all(
        [("HMGET", "nodes", *ids), *(("HLEN", f"o:{text_of(id_)}") for id_ in ids)]
    )
    return tuple(
        node_view(id_, told or b"", ends[id_], count)
        for id_, told, count in zip(ids, facts, counts, strict=True)
    )


def running(session: RedisSession, group: str) -> int:
    """How many attempts run that were started in a group: those that their nodes still hold."""
    started = session.ask("HGETALL", f"g:{group}")
    return sum(session.ask_all([("HEXISTS", f"o:{text_of(node)}", name) for name, node in pairs(started)]))


def outages(session: RedisSession) -> tuple[Outage, ...]:
    """The periods without a living node, the newest first."""
    found = (text_of(one).split() for one in session.ask("LRANGE", "outages", 0, -1))
    return tuple(Outage(an_instant(int(first)), an_instant(int(last))) for first, last in found)


def now(session: RedisSession) -> datetime:
    """The store's time."""
    return an_instant(now_number(session))
