"""`foliot alert list | test | mute | unmute`: alerts of jobs, and channels."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import click

from foliot.app.channel_commands import Muted, find_channel, make_test, mute_channel, muted, send_test
from foliot.app.delivery import SOURCE
from foliot.cli.complete import complete_channel, complete_job, complete_job_or_channel
from foliot.cli.exit_code import ExitCode
from foliot.cli.group import epilog, make_group
from foliot.cli.instants import read_duration
from foliot.cli.output import write, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.table import Cell, Column, write_rows
from foliot.clock import SystemClock
from foliot.engine.plan_command import Mute, Unmute, plan_command
from foliot.errors import CommandRefusedError, JobNotFoundError
from foliot.model.alert import AlertKind
from foliot.model.attempt import format_instant
from foliot.model.policy import TOLD_KINDS
from foliot.protocols import AlertQuery, AlertState, ChannelAlert
from foliot.shown import relative

alert = make_group(
    "alert",
    "See and mute alerts, and test channels.",
    """See the alerts of jobs, test channels, and mute jobs or channels.

    An alert waits in the store until its channel has taken it.""",
    "foliot alert list --store sqlite:///jobs.db\nfoliot alert test ops\nfoliot alert mute backup --for 2h",
)
COLUMNS = (
    Column("WHEN"), Column("KIND"), Column("JOB", 1, 12), Column("CHANNEL"), Column("STATE"),
    Column("WHY", 2, 20),
)  # fmt: skip
_LONGEST = timedelta(days=36_525)
_PAGE, _MOST_PAGES = 1000, 20
_job_or_channel = click.argument("name", metavar="NAME", shell_complete=complete_job_or_channel)
_COLOURS = {AlertState.WAITING: "yellow", AlertState.REFUSED: "red", AlertState.EXPIRED: "red"}


@alert.command(
    name="list",
    short_help="List alerts, the newest first.",
    epilog=epilog(
        "foliot alert list\nfoliot alert list --state waiting\nfoliot alert list --channel ops -o json"
    ),
)
@click.option(
    "--channel", metavar="NAME", shell_complete=complete_channel, help="Only those for this channel."
)
@click.option(
    "--state", type=click.Choice([state.value for state in AlertState]), help="Only alerts in this state."
)
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@takes_store
async def list_alerts(
    session: Session, *, channel: str | None, state: str | None, limit: int, as_json: bool
) -> None:
    """List alerts, the newest first. The store keeps them for 90 days.

    One that waits has not been taken by its channel yet. One that is refused will never be; one that has
    waited for a day is expired. The pings of jobs are listed with their --channel only. Below stand the
    channels, and the jobs of the list, that are muted.
    """
    wanted = None if state is None else AlertState(state)
    found = await _alerts(session, AlertQuery(channel=channel, state=wanted, limit=_PAGE), limit)
    quiet = await muted(session.store, {one.alert.job for one in found}, session.now)
    if as_json:
        write_json({"alerts": [_facts(one) for one in found], "muted": [_mute_facts(one) for one in quiet]})
    elif found:
        rows = [
            (
                relative(one.alert.at, session.now), one.alert.kind.value, one.alert.job, one.channel,
                Cell(one.state.value, _COLOURS.get(one.state)), one.answer or one.alert.why or "",
            )
            for one in found
        ]  # fmt: skip
        write_rows(COLUMNS, rows)
    else:
        write("No alerts.", sys.stdout)
    for one in () if as_json else quiet:
        reason = f": {one.reason}" if one.reason else ""
        write(f"{one.name} is muted until {format_instant(one.until)}{reason}", sys.stdout)


async def _alerts(session: Session, query: AlertQuery, limit: int) -> list[ChannelAlert]:
    """So many of them. Pings come with every run and would hide all else: they need their channel's name."""
    found: list[ChannelAlert] = []
    for _ in range(_MOST_PAGES):
        page = await session.store.alerts(query)
        found += [one for one in page if query.channel is not None or one.alert.kind in TOLD_KINDS]
        if page.next is None or len(found) >= limit:
            break
        query = query._replace(after=page.next)
    return found[:limit]


def _facts(one: ChannelAlert) -> dict[str, Any]:
    settled = {"state": one.state, "settled_at": one.settled_at, "answer": one.answer}
    return {"channel": one.channel, **settled, **one.alert.as_data()}


def _mute_facts(one: Muted) -> dict[str, Any]:
    return {"channel" if one.is_channel else "job": one.name, "until": one.until, "reason": one.reason}


@alert.command(
    name="test",
    short_help="Send a test to a channel, or to those of a job.",
    epilog=epilog("foliot alert test ops\nfoliot alert test --job billing/refresh --kind failure", 4, 8),
)
@click.argument("channel", metavar="[CHANNEL]", required=False, shell_complete=complete_channel)
@click.option(
    "--job", metavar="JOB", shell_complete=complete_job, help="Test the channels that this job uses."
)
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in TOLD_KINDS]),
    metavar="KIND",
    default="failure",
    show_default=True,
    help="What to tell.",
)
@click.option(
    "--wait", "patience", callback=read_duration, default="30s", show_default=True, metavar="DURATION",
    help="How long to wait for the answer.",
)  # fmt: skip
@takes_store
async def test(  # noqa: PLR0913 - one for each option
    session: Session, *, channel: str | None, job: str | None, kind: str, patience: timedelta, as_json: bool
) -> ExitCode:
    """Have a node send a test to CHANNEL, or to the channels of a job, and show the answer.

    The message is marked TEST. A node that has the channel sends it, as it sends every alert. Exit code 8: a
    channel did not take it; 4: there is no such channel, or no living node has it.
    """
    if (channel is None) is (job is None):
        raise click.UsageError("give a CHANNEL, or --job")
    if job is None:
        channels, about, run = [await find_channel(session.store, channel or "")], "foliot/test", None
    else:
        view = await session.ops.find(job)
        record = view.record
        notify = record.job.policy.notify if record is not None else None
        channels, about = list(notify.to if notify is not None else ()), view.key
        run = record.state.last_run if record is not None else None
        if not channels:
            raise CommandRefusedError(about, "the job has no channel for alerts", hint="give it a notify")
    made = make_test(AlertKind(kind), about, session.now, run)
    tested = await send_test(session.store, channels, made, SystemClock(), patience)
    if as_json:
        write_json({"tests": [{"channel": t.channel, "state": t.state, "answer": t.answer} for t in tested]})
    else:
        for one in tested:
            said = f": {one.answer}" if one.answer else ""
            write(f"{one.channel} {_BECAME[one.state]}{said}", sys.stdout)
    return max((_EXIT[one.state] for one in tested), key=_GRAVITY.index)


_BECAME = {
    AlertState.SENT: "was sent", AlertState.REFUSED: "was refused", AlertState.EXPIRED: "was not sent",
    None: "was not sent",
}  # fmt: skip
_EXIT = {
    AlertState.SENT: ExitCode.OK, AlertState.REFUSED: ExitCode.RUN_FAILED,
    AlertState.EXPIRED: ExitCode.RUN_FAILED, None: ExitCode.NOT_FOUND,
}  # fmt: skip
_GRAVITY = (ExitCode.OK, ExitCode.NOT_FOUND, ExitCode.RUN_FAILED)


@alert.command(
    name="mute",
    short_help="Mute a job or a channel for a while.",
    epilog=epilog(
        "foliot alert mute billing/refresh --for 2h\nfoliot alert mute ops --for 1d --reason 'we know'", 4
    ),
)
@_job_or_channel
@click.option(
    "--for", "span", required=True, callback=read_duration, metavar="DURATION", help="For how long."
)
@click.option("--reason", default="", metavar="TEXT", help="Why. It is kept until then.")
@takes_store
async def mute(session: Session, *, name: str, span: timedelta, reason: str, as_json: bool) -> None:
    """Send no alerts about a job for a while. Trouble that still goes on afterwards is sent then.

    NAME may also be a channel: then its alerts wait, and are sent afterwards. An alert that has waited for a
    day is not sent any more.
    """
    await _change(session, name, session.now + min(span, _LONGEST), reason, as_json=as_json)


@alert.command(
    name="unmute",
    short_help="Send alerts of a job or a channel again.",
    epilog=epilog("foliot alert unmute billing/refresh\nfoliot alert unmute ops", 4),
)
@_job_or_channel
@takes_store
async def unmute(session: Session, *, name: str, as_json: bool) -> None:
    """Send alerts about a job again, at once if trouble goes on; or send a channel's waiting alerts."""
    await _change(session, name, None, "", as_json=as_json)


async def _change(session: Session, name: str, until: datetime | None, reason: str, *, as_json: bool) -> None:
    key, is_channel = await _find(session, name)
    of, verb = "channel" if is_channel else "job", "unmute" if until is None else "mute"
    words = "is no longer muted" if until is None else f"is muted until {format_instant(until)}"
    async with session.auditor.change(verb, f"{of}:{key}") as change:
        if is_channel:
            await mute_channel(session.store, key, until, reason)
        else:
            command = Unmute() if until is None else Mute(until, reason)
            await session.store.update(key, lambda record: plan_command(record, command, session.now))
        change.detail = f"{key} {words}"
    if as_json:
        write_json({of: key, "muted_until": until, "reason": reason or None})
    else:
        write(f"{key} {words}", sys.stdout)


async def _find(session: Session, name: str) -> tuple[str, bool]:
    """The key of a job, or the name of a channel and that it is one."""
    try:
        key = (await session.ops.find(name)).key
    except JobNotFoundError as error:
        with suppress(JobNotFoundError):
            return await find_channel(session.store, name), True
        raise error from None
    channel = key.removeprefix(f"{SOURCE}/")
    return channel, channel != key
