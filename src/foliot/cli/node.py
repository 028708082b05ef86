"""`foliot node list`: who works on a store."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Any

from foliot.app.declaration import is_marker
from foliot.cli.exit_code import ExitCode
from foliot.cli.group import epilog, make_group
from foliot.cli.moment import relative, span
from foliot.cli.output import write, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.table import Cell, Column, Row, write_rows
from foliot.model.state import Node
from foliot.model.view import NodeView

node = make_group(
    "node",
    "See who works on a store.",
    """See who works on a store.

    A node is one start of an engine: a process that claims and runs jobs.""",
    "foliot node list --store sqlite:///jobs.db\nfoliot node list -o json",
)
COLUMNS = (
    Column("NODE"),
    Column("NAME", 1),
    Column("STATE"),
    Column("LEASE"),
    Column("RUNS"),
    Column("CLOCK", 1),
    Column("QUEUES", 2, 10),
    Column("VERSION", 4),
    Column("ACTIONS", 3, 20),
)


@node.command(
    name="list", short_help="List nodes.", epilog=epilog("foliot node list\nfoliot node list -o json")
)
@takes_store
async def list_nodes(session: Session, *, as_json: bool) -> ExitCode:
    """List the nodes of a store: whether they live, what they hold, what they serve.

    A node whose lease has run out is silent: it is buried when another node notices, and what it holds is
    then recovered. CLOCK says how far a host's clock is off the server's, if it is by two seconds or more.
    """
    views = await session.store.nodes()
    if as_json:
        write_json({"nodes": [node_facts(view, session.now) for view in views]})
    elif not views:
        write("No nodes.", sys.stdout)
    else:
        write_rows(COLUMNS, [_row(view, session.now) for view in views])
    return ExitCode.OK


def _row(view: NodeView, now: datetime) -> Row:
    node = view.node
    is_alive = view.until >= now
    return (
        node.id,
        node.name,
        Cell("alive", "green") if is_alive else Cell("silent", "red"),
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
        "alive": view.until >= now,
        "lease_until": view.until,
        "open_attempts": view.open_count,
        "queues": node.queues,
        "actions": None if node.kinds is None else _actions(node),
        "revision": next((kind.rpartition("/")[2] for kind in node.kinds or () if is_marker(kind)), None),
        "version": node.version,
        "clock_skew": round(node.skew.total_seconds(), 3),
    }
