"""`foliot job trigger | backfill`: runs that a person asks for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from foliot.cli.complete import job_argument
from foliot.cli.group import epilog
from foliot.cli.instants import in_zone, read_time, zone_of
from foliot.cli.request import check_request, see_through, takes_request, tell
from foliot.cli.session import Session, takes_store
from foliot.errors import InvalidJobError
from foliot.model.payload import read_payload
from foliot.operations import Which


def _read_payload(_: click.Context, __: click.Parameter, text: str | None) -> dict[str, Any] | None:
    try:
        return read_payload(text)
    except InvalidJobError as error:
        raise click.BadParameter(f"{error}") from None


@click.command(
    name="trigger",
    short_help="Run a job now.",
    epilog=epilog(
        "foliot job trigger billing/refresh\n"
        "foliot job trigger refresh --follow\n"
        "foliot job trigger refresh --wait --timeout 10m\n"
        "foliot job trigger refresh --request deploy-118\n"
        'foliot job trigger report --payload \'{"month": "2026-10"}\'',
        4,
        8,
    ),
)
@job_argument
@click.option(
    "--payload", callback=_read_payload, metavar="JSON",
    help="A JSON object for this run: `run.payload` in Python, FOLIOT_PAYLOAD in a shell.",
)  # fmt: skip
@takes_request
@takes_store
async def trigger(  # noqa: PLR0913 - one argument for each option
    session: Session,
    *,
    job: str,
    payload: dict[str, Any] | None,
    request: str | None,
    dry_run: bool,
    as_json: bool,
    **end: Any,
) -> int:
    """Run JOB now, once, whatever its schedule says, even if it is paused.

    If a run of it is open, the new one waits for its end.

    With --wait the exit code is 0 if the run succeeds. If it fails and its command had an exit code of its
    own, it is that one, from 1 to 255, or 128 plus the number of the signal that ended it. Otherwise it is 8:
    the run failed without one, timed out, was cancelled or got lost. What a run that is tried again ends
    with is what its last attempt ended with. After --timeout it is 1, and the run goes on. --follow exits
    likewise.
    """
    check_request(**end, as_json=as_json)
    effect = await session.ops.trigger(job, request=request, payload=payload, dry_run=dry_run)
    return await see_through(session, effect, **end, as_json=as_json)


@click.command(
    name="backfill",
    short_help="Run occurrences of the past.",
    epilog=epilog(
        "foliot job backfill billing/report --from 2026-11-01 --to 2026-11-07\n"
        "foliot job backfill report --from 2026-11-01 --to 2026-11-02 --which missed",
        4,
    ),
)
@job_argument
@click.option(
    "--from", "first", callback=read_time, required=True, metavar="TIME", help="The first instant (ISO 8601)."
)
@click.option(
    "--to", "last", callback=read_time, required=True, metavar="TIME", help="The last instant, included."
)
@click.option(
    "--which", type=click.Choice([which.value for which in Which]),
    help="Only occurrences that did not run, only failed ones, or all.",
)  # fmt: skip
@click.option("--rerun", is_flag=True, help="Run occurrences again that have run: the same as --which all.")
@click.option("--dry-run", is_flag=True, help="Only show what would run.")
@takes_store
async def backfill(  # noqa: PLR0913 - one argument for each option
    session: Session,
    *,
    job: str,
    first: datetime,
    last: datetime,
    which: str | None,
    rerun: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run the occurrences of JOB in a period of the past.

    Each gets its run, under its own key; the job's overlap policy says how many at once. One that has
    run is refused, unless --which is given: missed are those without a run of their own, failed those whose
    last attempt did not succeed, other than by a cancel. A time without an offset is in the job's zone.
    """
    if rerun and which not in (None, Which.ALL):
        raise click.UsageError(f"--rerun means all, and not --which {which}", click.get_current_context())
    record = await session.ops.usable(job)
    begin, end = (in_zone(instant, zone_of(record.job.schedule)) for instant in (first, last))
    if end < begin:
        raise click.UsageError("--to lies before --from", click.get_current_context())
    chosen = Which.ALL if rerun else None if which is None else Which(which)
    effect = await session.ops.backfill(record.job.key, begin, end, which=chosen, dry_run=dry_run)
    tell(effect, {"job": effect.job, "runs": effect.runs, "dry_run": dry_run}, as_json=as_json)
