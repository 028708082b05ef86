"""`foliot source list`: where a store's jobs come from."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from foliot.cli.exit_code import ExitCode
from foliot.cli.group import epilog, make_group
from foliot.cli.moment import relative
from foliot.cli.output import write, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.table import Cell, Column, Row, write_rows
from foliot.model.view import SourceView

source = make_group(
    "source",
    "See where jobs come from.",
    """See where a store's jobs come from.

    A source is a namespace of jobs: an application, a repository, a list that was declared.""",
    "foliot source list --store sqlite:///jobs.db\nfoliot source list -o json",
)
COLUMNS = (
    Column("SOURCE", least=20),
    Column("JOBS"),
    Column("REVISION", 2, 12),
    Column("SINCE", 1),
    Column("STATUS", 3, 20),
)


@source.command(
    name="list", short_help="List sources.", epilog=epilog("foliot source list\nfoliot source list -o json")
)
@takes_store
async def list_sources(session: Session, *, as_json: bool) -> ExitCode:
    """List the sources that a store knows: how many jobs each declares, and at which revision since when.

    Of a source that a program reads again and again, the status tells how the last reading went.
    """
    views = await session.store.sources()
    if as_json:
        write_json({"sources": [source_facts(view) for view in views]})
    elif not views:
        write("No sources.", sys.stdout)
    else:
        write_rows(COLUMNS, [_row(view, session.now) for view in views])
    return ExitCode.OK


def _row(view: SourceView, now: datetime) -> Row:
    return (
        view.source,
        str(view.jobs),
        view.revision or "",
        relative(view.reconciled_at, now),
        _status_cell(view),
    )


def _status_cell(view: SourceView) -> Cell:
    """A document as `error: no such host, pulled_at: …`, what went wrong first and in red.

    What says nothing, such as no failures, or what another column says is left out.
    """
    document = _read(view.status)
    if not isinstance(document, Mapping):
        return Cell("" if document is None else str(document))
    told = {"error": document.get("error"), "revision": document.get("revision")}
    if not (view.revision or "").startswith(str(told["revision"])):
        told.pop("revision")
    words = [f"{name}: {value}" for name, value in document.items() if value and name not in told]
    if error := document.get("error"):
        return Cell(", ".join([f"error: {error}", *words]), "red")
    return Cell(", ".join(words))


def _read(status: str | None) -> Any:
    """What a status says; one that is no JSON says what it is."""
    try:
        return None if status is None else json.loads(status)
    except ValueError:
        return status


def source_facts(view: SourceView) -> dict[str, Any]:
    """One source, for JSON."""
    return {**view._asdict(), "status": _read(view.status)}
