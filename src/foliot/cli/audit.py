"""`foliot audit list`: who asked for which change, and how it ended."""

from __future__ import annotations

import sys
from datetime import timedelta

import click

from foliot.cli.group import epilog, make_group
from foliot.cli.instants import read_duration
from foliot.cli.output import write, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.table import Cell, Column, write_rows
from foliot.model.audit import AuditOutcome
from foliot.protocols_access import AuditQuery
from foliot.shown import relative

audit = make_group(
    "audit",
    "See who asked for which change.",
    """See who asked for which change, over the API or at the command line, and how it ended.

    An entry is written before its change, and is kept for 400 days.""",
    "foliot audit list --store sqlite:///jobs.db\nfoliot audit list --object job:billing/refresh",
)
COLUMNS = (
    Column("WHEN"), Column("ACTOR", 1, 12), Column("VERB"), Column("OBJECT", 0, 12), Column("OUTCOME"),
    Column("DETAIL", 2, 20),
)  # fmt: skip
_COLOURS = {AuditOutcome.REFUSED: "red", AuditOutcome.UNKNOWN: "yellow", AuditOutcome.ASKED: "yellow"}


@audit.command(
    name="list",
    short_help="List changes, the newest first.",
    epilog=epilog(
        "foliot audit list --since 1d\nfoliot audit list --actor cli:ann@web-1\n"
        "foliot audit list --object job:billing/refresh -o json"
    ),
)
@click.option("--since", callback=read_duration, metavar="DURATION", help="Only changes of this last time.")
@click.option("--actor", metavar="TEXT", help="Only changes of this actor: cli:USER@HOST, token:ID NAME.")
@click.option(
    "--object",
    "thing",
    metavar="TEXT",
    help="Only changes of this object: job:KEY, run:KEY, token:ID, source:NAME.",
)
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@takes_store
async def list_entries(  # noqa: PLR0913 - one argument for each option
    session: Session,
    *,
    since: timedelta | None,
    actor: str | None,
    thing: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List changes that were asked for, the newest first.

    asked: it is under way. done: it took effect. refused: it did not. unknown: the process or the store
    failed meanwhile, and it may have taken effect.
    """
    begin = None if since is None else session.now - since
    found = await session.store.audit(AuditQuery(actor, thing, begin, limit=limit))
    entries = [entry._replace(outcome=entry.outcome_at(session.now)) for entry in found]
    if as_json:
        write_json({"audit": [entry._asdict() for entry in entries]})
    elif entries:
        rows = [
            (
                relative(entry.at, session.now), entry.actor, entry.verb, entry.object,
                Cell(entry.outcome.value, _COLOURS.get(entry.outcome)), entry.detail or "",
            )
            for entry in entries
        ]  # fmt: skip
        write_rows(COLUMNS, rows)
    else:
        write("No entries.", sys.stdout)
