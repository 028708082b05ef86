"""`foliot source list | show | remove | export`: where a store's jobs come from."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click

from foliot.cli.complete import complete_source
from foliot.cli.group import epilog, make_group
from foliot.cli.instants import both
from foliot.cli.output import labelled, write, write_json
from foliot.cli.session import Session, opened, store_option, takes_store
from foliot.cli.table import Cell, Column, Row, write_facts, write_rows
from foliot.model.version import KEPT_REVISIONS, Revision
from foliot.model.view import SourceView
from foliot.operations.export import export_source
from foliot.operations.removal import remove_source as remove
from foliot.operations.removal import where
from foliot.shown import relative

source = make_group(
    "source",
    "See where jobs come from.",
    """See where a store's jobs come from, and take out what no longer declares any.

    A source is a namespace of jobs: an application, a repository, a list that was declared.""",
    "foliot source list --store sqlite:///jobs.db\nfoliot source remove ops",
)
_TOLD = ("revision", "repository")  # by columns of their own
COLUMNS = (
    Column("SOURCE", least=20),
    Column("JOBS"),
    Column("REVISION", 2, 12),
    Column("SINCE", 1),
    Column("STATUS", 3, 20),
    Column("REPOSITORY", 4, 20),
)
REVISION_COLUMNS = (
    Column("REVISION", least=12),
    Column("REACHED"),
    Column("ADDED"),
    Column("CHANGED"),
    Column("REMOVED"),
)


@source.command(
    name="list", short_help="List sources.", epilog=epilog("foliot source list\nfoliot source list -o json")
)
@takes_store
async def list_sources(session: Session, *, as_json: bool) -> None:
    """List the sources that a store knows: how many jobs each declares, and at which revision since when.

    For a source that a node reads regularly, the status shows the result of the last reading. A
    repository is shown with its address, without a password: under two addresses it is two sources.
    """
    views = await session.store.sources()
    if as_json:
        write_json({"sources": [source_facts(view) for view in views]})
    elif not views:
        write("No sources.", sys.stdout)
    else:
        write_rows(COLUMNS, [_row(view, session.now) for view in views])
        for view in views:
            _tell_trouble(view, session.now)


@source.command(
    name="show",
    short_help="Show a source and its revisions.",
    epilog=epilog("foliot source show ops\nfoliot source show ops -n 5 -o json", 4),
)
@click.argument("name", metavar="SOURCE", shell_complete=complete_source)
@click.option(
    "-n", "--limit", type=click.IntRange(1, KEPT_REVISIONS), default=20, show_default=True, metavar="N",
    help="How many revisions to show.",
)  # fmt: skip
@takes_store
async def show_source(session: Session, *, as_json: bool, name: str, limit: int) -> None:
    """Show a source: where it stands, and the revisions that changed its jobs, the newest first.

    Jobs that a program adds while it runs (a source NAME.added) have no list of revisions.
    """
    view = await session.ops.check_source(name)
    revisions = await session.store.revisions(name, limit)
    if as_json:
        shown = [revision._asdict() for revision in revisions]
        write_json({**source_facts(view), "revisions": shown})
        return
    since = both(view.reconciled_at, session.now)
    status, repository = _status_cell(view, session.now), _repository(view)
    write_facts(
        [
            ("source", Cell(view.source, "heading")),
            ("jobs", str(view.jobs)),
            ("revision", view.revision),
            ("since", since),
            ("status", status if status.text else None),
            ("repository", repository or None),
        ]
    )
    _tell_trouble(view, session.now)
    if revisions:
        write_rows(REVISION_COLUMNS, [_revision_row(revision, session.now) for revision in revisions])


def _revision_row(revision: Revision, now: datetime) -> Row:
    counts = (revision.added, revision.changed, revision.removed)
    return revision.revision, relative(revision.at, now), *map(str, counts)


@source.command(
    name="remove",
    short_help="Remove a source and its jobs.",
    epilog=epilog("foliot source remove ops\nfoliot source remove ops --force", 4),
)
@click.argument("name", metavar="SOURCE", shell_complete=complete_source)
@click.option("--force", is_flag=True, help="Also if a running node serves it.")
@takes_store
async def remove_source(session: Session, *, as_json: bool, name: str, force: bool) -> None:
    """Remove a source that no node serves any more: an application, or a repository that was followed.

    Its jobs are removed as if it had declared none: what waits will not start, what runs may end, and their
    history stays for as long as each job's policy says. Whoever serves the source again declares them anew.
    """
    async with session.auditor.change("remove_source", f"source:{name}") as change:
        removal = await remove(session.ops, name, force=force)
        change.detail = f"{name} is removed, with {removal.jobs} job(s)"
    if as_json:
        nodes = [view.node.id for view in removal.nodes]
        write_json({**removal._asdict(), "nodes": nodes})
        return
    goes_on = f"; {removal.running} of their runs may end" if removal.running else ""
    write(labelled("ok", f"{name} is removed, with {removal.jobs} job(s){goes_on}", sys.stdout), sys.stdout)
    if removal.nodes:
        again = f"these nodes will declare it again: {where(removal.nodes)}"
        write(labelled("warning", again, sys.stdout), sys.stdout)


@source.command(
    name="export",
    short_help="Write a source as a file, for plans.",
    epilog=epilog("foliot source export ops > state.json\nfoliot plan --state state.json"),
)
@click.argument("name", metavar="SOURCE")
@store_option
def export(name: str, store: str) -> None:
    """Write the definitions and states of a source as JSON, for foliot plan --state.

    So a plan can be made where the database must not be reached. No output of a run is in it. Values of
    variables, and of all else that a plan does not show, are digests.
    """

    async def play() -> None:
        async with opened(store) as session:
            write_json(await export_source(session.ops, name))

    asyncio.run(play())


def _row(view: SourceView, now: datetime) -> Row:
    return (
        view.source,
        str(view.jobs),
        (view.revision or "").partition("+")[0],
        relative(view.reconciled_at, now),
        _status_cell(view, now),
        _repository(view),
    )


def _repository(view: SourceView) -> str:
    """The address by which a repository is followed: one that has two is two sources."""
    document = _read(view.status)
    return str(document.get("repository") or "") if isinstance(document, Mapping) else ""


def _status_cell(view: SourceView, now: datetime) -> Cell:
    """`pulled 5 s ago`, or `failing 3x`; what is wrong is told below the table, where there is room."""
    document = _read(view.status)
    if not isinstance(document, Mapping):
        return Cell("" if document is None else str(document))
    if document.get("error"):
        return Cell(f"failing {document.get('failures', 1)}x", "red")
    if pulled := document.get("pulled_at"):
        return Cell(f"pulled {relative(datetime.fromisoformat(pulled), now)}")
    words = [f"{name}: {value}" for name, value in document.items() if value and name not in _TOLD]
    return Cell(", ".join(words))


def _tell_trouble(view: SourceView, now: datetime) -> None:
    """What is wrong with a source, since when, and what would help."""
    document = _read(view.status)
    if not isinstance(document, Mapping) or not document.get("error"):
        return
    since = document.get("failing_since")
    begun = f", first {relative(datetime.fromisoformat(since), now)}" if since else ""
    write(labelled("error", f"{view.source}{begun}: {document['error']}", sys.stdout), sys.stdout)
    if hint := document.get("hint"):
        write(labelled("hint", str(hint), sys.stdout), sys.stdout)


def _read(status: str | None) -> Any:
    """What a status says; one that is no JSON says what it is."""
    try:
        return None if status is None else json.loads(status)
    except ValueError:
        return status


def source_facts(view: SourceView) -> dict[str, Any]:
    """One source, for JSON."""
    return {**view._asdict(), "status": _read(view.status)}
