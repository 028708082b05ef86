"""`foliot health`: whether the engine of this host works. For containers and monitors."""

from __future__ import annotations

import socket
import sys

import click

from foliot.cli.exit_code import ExitCode
from foliot.cli.group import epilog
from foliot.cli.node import node_facts
from foliot.cli.output import labelled, write, write_json
from foliot.cli.session import Session, takes_store
from foliot.model.view import NodeView
from foliot.shown import relative


@click.command(
    name="health",
    short_help="Tell whether the engine of this host works.",
    epilog=epilog("foliot health\nfoliot health --host worker-2 --store postgresql://db/foliot"),
)
@click.option(
    "--host", metavar="NAME", default=socket.gethostname, show_default="this host", help="The node's host."
)
@takes_store
async def health(session: Session, *, as_json: bool, host: str) -> int:
    """Exit with 0 if an engine of this host works on the store, with 1 if none does.

    An engine that works renews its lease every few seconds. One that hangs, or was killed, does not: it
    counts as working until its lease is over, 30 seconds at most if `--lease` says nothing else.
    """
    views = [view for view in await session.store.nodes() if view.node.host == host]
    alive = [view for view in views if view.until >= session.now]
    if as_json:
        facts = [node_facts(view, session.now) for view in views]
        write_json({"healthy": bool(alive), "host": host, "nodes": facts})
    elif alive:
        write(labelled("ok", _words(session, alive), sys.stdout), sys.stdout)
    else:
        write(labelled("error", f"no engine of the host {host} works on this store", sys.stderr), sys.stderr)
    return ExitCode.OK if alive else ExitCode.ERROR


def _words(session: Session, alive: list[NodeView]) -> str:
    latest = max(view.until for view in alive)
    runs = sum(view.open_count for view in alive)
    engines = "1 engine works" if len(alive) == 1 else f"{len(alive)} engines work"
    return f"{engines} here, with {runs} open runs; the lease ends {relative(latest, session.now)}"
