"""Nodes and queues: who works on the store, until when, and what no node can run."""

from __future__ import annotations

from starlette.responses import Response

from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.fleet import list_nodes, list_queues
from foliot.dashboard.route import Pages, Short
from foliot.dashboard.view import render
from foliot.model.access import Scope

pages = Pages("nodes")
_ORDERS = ("name", "state", "open", "skew")
_LEASE = 30.0  # seconds that are drawn as a whole bar
_SKEW = 2.0  # seconds from which on a clock is told to be wrong


class NodesQuery(Query, frozen=True):
    """A part of a name or a host; a state; the order."""

    search: Short = ""
    state: Short = ""
    order: Short = "name"


@pages.get("/nodes", Scope.READ, is_of_all=True)
async def nodes_page(call: Call, query: NodesQuery) -> Response:
    """All nodes and queues."""
    found = await list_nodes(call)
    keys = {
        "name": lambda one: one.name or one.node,
        "state": lambda one: one.state,
        "open": lambda one: -one.open_attempts,
        "skew": lambda one: -abs(one.clock_skew),
    }
    words = query.search.lower()
    nodes = [
        one
        for one in sorted(found.nodes, key=keys.get(query.order, keys["name"]))
        if words in f"{one.name} {one.node} {one.host}".lower() and query.state in ("", one.state)
    ]
    return await render(
        call,
        "nodes.html",
        heading="Nodes & queues",
        command=("node", "list"),
        topics=("nodes", "overview"),
        query=query,
        found=found,
        nodes=nodes,
        queues=(await list_queues(call)).queues,
        orders=_ORDERS,
        lease=_LEASE,
        skew=_SKEW,
    )
