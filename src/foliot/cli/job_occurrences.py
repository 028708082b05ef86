"""`foliot job occurrences`: the ledger of a job."""

from __future__ import annotations

import sys
from datetime import datetime

import click

from foliot.cli.complete import job_argument
from foliot.cli.cron_report import occurrence_rows
from foliot.cli.group import epilog
from foliot.cli.instants import in_zone, read_time, zone_of
from foliot.cli.output import say, write, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.table import Cell, Column, Row, write_rows
from foliot.operations import Fate, Ledger, readable

_MOST = 1000
_USUAL = 10
_COLUMNS = (Column("OCCURRENCE"), Column("UTC", 2), Column("STATE"), Column("WHY", 1, 30))
_COLOURS = {Fate.RAN: "green", Fate.RUNS: "cyan", Fate.SKIPPED: "yellow", Fate.MISSED: "red"}


@click.command(
    name="occurrences",
    short_help="Tell what became of each occurrence.",
    epilog=epilog(
        "foliot job occurrences billing/refresh\n"
        "foliot job occurrences refresh --last 50 -o json\n"
        "foliot job occurrences refresh --from 2026-11-01 --to 2026-11-02",
        4,
    ),
)
@job_argument
@click.option("--from", "first", callback=read_time, metavar="TIME", help="From this instant on (ISO 8601).")
@click.option(
    "--to", "last", callback=read_time, metavar="TIME",
    help="Up to this instant, included.  [default: the next occurrence]",
)  # fmt: skip
@click.option(
    "--last", "limit", type=click.IntRange(1, _MOST), metavar="N",
    help=f"Only the last N of them.  [default: {_USUAL}, without --from]",
)  # fmt: skip
@takes_store
async def occurrences(  # noqa: PLR0913 - one argument for each option
    session: Session,
    *,
    job: str,
    first: datetime | None,
    last: datetime | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Tell what became of each occurrence of JOB, and what is planned.

    An occurrence ran; it was covered by a run that caught up several; it was skipped; it was missed: it has
    come, and no node has taken it; it runs, waits, or is planned. A time without an offset is in the job's
    zone.
    """
    if first is not None and limit is not None:
        raise click.UsageError(
            "--last counts back from --to, so it excludes --from", click.get_current_context()
        )
    view = await session.ops.find(job, with_removed=True)
    zone = zone_of(readable(view).job.schedule)
    begin, end = (None if instant is None else in_zone(instant, zone) for instant in (first, last))
    ledger = await session.ops.occurrences(
        view, begin, end, limit=limit or (_USUAL if begin is None else _MOST)
    )
    if as_json:
        facts = [occurrence._asdict() for occurrence in ledger.occurrences]
        write_json({"job": ledger.job, "occurrences": facts, "next": ledger.next})
    elif not ledger.occurrences:
        write("No occurrences.", sys.stdout)
    else:
        write_rows(_COLUMNS, _rows(ledger, session.now))
        if ledger.next:
            say("note", f"there are more: --from {ledger.next.isoformat()}", sys.stderr)


def _rows(ledger: Ledger, now: datetime) -> list[Row]:
    times = occurrence_rows([(occurrence.wall, occurrence.at) for occurrence in ledger.occurrences], now)
    return [
        (wall, utc, Cell(occurrence.fate.value, _COLOURS.get(occurrence.fate)), occurrence.reason)
        for (wall, utc, *_), occurrence in zip(times, ledger.occurrences, strict=True)
    ]
