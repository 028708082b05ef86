"""`foliot node list`: who works on a store."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Any

from foliot.app.declaration import is_marker
from foliot.cli.group import epilog, make_group
from foliot.cli.output import labelled, write, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.short import Names, names_of
from foliot.cli.table import Cell, Column, Row, write_rows
from foliot.cli.unserved import unserved_words
from foliot.model.state import Node
from foliot.model.view import NodeView
from foliot.operations import find_unserved, node_state
from foliot.shown import relative, span

node = make_group(
    "node",
    "See which processes work on a store.",
    """See which processes work on a store.

    A node is one start of an engine: a process that claims and runs jobs.""",
    "foliot node list --store sqlite:///jobs.db\nfoliot node list -o json",
)
COLUMNS = (
    Column("NODE"),
    Column("NAME", 2),
    Column("HOST", 1, 12),
    Column("PROCESS", 1),
    Column("STATE"),
    Column("LEASE"),
    Column("RUNS"),
    Column("CLOCK", 1),
    Column("QUEUES", 2, 10),
    Column("VERSION", 4),
    Column("ACTIONS", 3, 20),
)
_COLOURS = {"alive": "green", "draining": "yellow", "silent": "red"}


@node.command(
    name="list", short_help="List nodes.", epilog=epilog("foliot node list\nfoliot node list -o json")
)
@takes_store
async def list_nodes(session: Session, *, as_json: bool) -> None:
    """List the nodes of a store: where they run, whether they live, what they hold, what they serve.

    A node whose lease has expired is silent: another node marks it dead within seconds, if one is running,
    and recovers its runs. One that drains starts nothing more, and leaves when its runs have ended. CLOCK is
    how far a host's clock is off the server's, from two seconds on. Jobs that are due, and that
    no node can start, are listed below.
    """
    views = await session.store.nodes()
    waiting = await find_unserved(session.store, views, session.now)
    if as_json:
        facts = [node_facts(view, session.now) for view in views]
        write_json({"nodes": facts, "unserved": [unserved._asdict() for unserved in waiting]})
        return
    if views:
        names = await names_of(session.store)
        write_rows(COLUMNS, [_row(view, session.now, names) for view in views])
    else:
        write("No nodes.", sys.stdout)
    for unserved in waiting:
        write(labelled("warning", unserved_words(unserved, session.now), sys.stdout), sys.stdout)


def _row(view: NodeView, now: datetime, names: Names) -> Row:
    node, state = view.node, node_state(view, now)
    return (
        names.id(node.id),
        node.name,
        node.host,
        "" if node.process is None else str(node.process),
        Cell(state, _COLOURS[state]),
        relative(view.until, now),
        str(view.open_count),
        Cell(_clock(node.skew), "red") if node.skew else "",
        ", ".join(node.queues),
        node.version,
        "all" if node.kinds is None else ", ".join(_actions(node)),
    )


def _actions(node: Node) -> tuple[str, ...]:
    return tuple(kind for kind in node.kinds or () if not is_marker(kind))


def _clock(skew: timedelta) -> str:
    """`1 h fast`, `3 s slow`."""
    return f"{span(abs(skew))} {'fast' if skew > timedelta(0) else 'slow'}"


def node_facts(view: NodeView, now: datetime) -> dict[str, Any]:
    """One node, for JSON."""
    node = view.node
    return {
        "node": node.id,
        "name": node.name,
        "host": node.host or None,
        "process": node.process,
        "alive": view.until >= now,
        "state": node_state(view, now),
        "lease_until": view.until,
        "open_attempts": view.open_count,
        "queues": node.queues,
        "groups": dict(node.limits),
        "actions": None if node.kinds is None else _actions(node),
        "revision": next((kind.rpartition("/")[2] for kind in node.kinds or () if is_marker(kind)), None),
        "version": node.version,
        "clock_skew": round(node.skew.total_seconds(), 3),
    }
