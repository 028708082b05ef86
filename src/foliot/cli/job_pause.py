"""`foliot job pause | resume`: occurrences pass without a run, of one job or of all."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import click

from foliot.app.delivery import SOURCE as CHANNELS
from foliot.cli.complete import complete_job, source_option
from foliot.cli.group import epilog
from foliot.cli.instants import When, read_when, zone_of
from foliot.cli.output import say, visible, write, write_json
from foliot.cli.request import dry_run_option, tell
from foliot.cli.session import Session, takes_store
from foliot.errors import InvalidDurationError
from foliot.operations import Effect
from foliot.protocols import JobView
from foliot.schedules.duration import parse_duration

_job_argument = click.argument("job", metavar="[JOB]", required=False, shell_complete=complete_job)
_all_option = click.option("--all", "is_all", is_flag=True, help="All jobs, or all of --source.")
Change = Callable[[JobView], Awaitable[Effect]]


def _read_end(context: click.Context, param: click.Parameter, text: str | None) -> timedelta | When | None:
    """When a pause ends: after a duration, or at a time."""
    if text is None:
        return None
    try:
        return parse_duration(text)
    except InvalidDurationError:
        return read_when(context, param, text)


@click.command(
    name="pause",
    short_help="Let a job's occurrences pass without a run.",
    epilog=epilog(
        "foliot job pause billing/refresh\n"
        "foliot job pause refresh --reason 'the disk is full' --until 18:00\n"
        "foliot job pause --all --until 2h --dry-run",
        4,
    ),
)
@_job_argument
@_all_option
@source_option
@click.option("--reason", default="", metavar="TEXT", help="Why. It is kept until the job is resumed.")
@click.option(
    "--until", callback=_read_end, metavar="TIME",
    help="When the pause ends by itself: after 2h, at 18:00, 'tomorrow 07:00', or ISO 8601; without offset "
    "in the job's zone.  [default: when it is resumed]",
)  # fmt: skip
@dry_run_option
@takes_store
async def pause(  # noqa: PLR0913 - one argument for each option
    session: Session,
    *,
    job: str | None,
    is_all: bool,
    source: str | None,
    reason: str,
    until: timedelta | When | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Let the occurrences of JOB, or of all jobs, pass without a run, until then or until it is resumed.

    What runs goes on, and a run can still be triggered. A job that is paused stays so when its source
    changes or its program starts anew. An occurrence at the very end of a pause runs.
    """

    async def change(view: JobView) -> Effect:
        end = _end_of(view, until, session.now)
        return await session.ops.pause(view, reason=reason, until=end, dry_run=dry_run)

    await _change(session, change, job, source, is_all=is_all, as_json=as_json)


def _end_of(view: JobView, until: timedelta | When | None, now: datetime) -> datetime | None:
    """When the pause of a job ends. A time of day that has passed is tomorrow's."""
    if until is None or isinstance(until, timedelta):
        return None if until is None else now + until
    zone = zone_of(view.record.job.schedule) if view.record else UTC
    end = until.instant(now, zone)
    is_of_today = until.exact is None and until.time is not None and until.text[:1].isdigit()
    return until._replace(days_ago=-1).instant(now, zone) if end <= now and is_of_today else end


@click.command(
    name="resume",
    short_help="Let a paused job run again.",
    epilog=epilog("foliot job resume billing/refresh\nfoliot job resume --all --dry-run", 4),
)
@_job_argument
@_all_option
@source_option
@dry_run_option
@takes_store
async def resume(  # noqa: PLR0913 - one argument for each option
    session: Session, *, job: str | None, is_all: bool, source: str | None, dry_run: bool, as_json: bool
) -> None:
    """Let JOB, or all jobs that are paused, run again, from now on.

    What passed while it was paused is not caught up: see foliot job backfill.
    """

    async def change(view: JobView) -> Effect:
        return await session.ops.resume(view, dry_run=dry_run)

    await _change(session, change, job, source, is_all=is_all, as_json=as_json)


async def _change(  # noqa: PLR0913 - what both commands were given
    session: Session, change: Change, job: str | None, source: str | None, *, is_all: bool, as_json: bool
) -> None:
    if (job is None) is not is_all or (source is not None and not is_all):
        raise click.UsageError("name a JOB, or give --all (and --source)", click.get_current_context())
    if job is not None:
        _tell_one(await change(await session.ops.find(job)), as_json=as_json)
        return
    if source is not None:
        await session.ops.check_source(source)
    views = [view async for view in session.ops.every_job(*([source] if source else []))]
    usable = [view for view in views if view.record is not None and not view.key.startswith(f"{CHANNELS}/")]
    effects = [await change(view) for view in usable]
    if as_json:
        write_json({"jobs": [_facts(effect) for effect in effects]})
        return
    _tell_all(effects, is_of_source=source)


def _tell_all(effects: list[Effect], is_of_source: str | None) -> None:
    """What was done to each, or would be, and to how many."""
    changed = [effect for effect in effects if effect.has_changed]
    for effect in changed:
        write(visible(effect.text), sys.stdout)
    where = f" of the source {is_of_source}" if is_of_source else ""
    word = "would change" if effects and effects[0].is_dry_run else "changed"
    others = len(effects) - len(changed)
    rest = f"; {others:,} stay as they are" if others else ""
    say("ok", f"{len(changed):,} of {len(effects):,} jobs{where} {word}{rest}")


def _facts(effect: Effect) -> dict[str, object]:
    facts: dict[str, object] = {"job": effect.job, "changed": effect.has_changed}
    facts |= {"paused_at": effect.paused_at, "next_at": effect.next_at}
    if effect.paused_until is not None:
        facts["paused_until"] = effect.paused_until
    return facts | ({"reason": effect.reason} if effect.reason else {})


def _tell_one(effect: Effect, *, as_json: bool) -> None:
    tell(effect, _facts(effect), as_json=as_json)
