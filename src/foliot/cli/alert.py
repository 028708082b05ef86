"""`foliot alert list | mute | unmute`: what channels are told of jobs."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import click

from foliot.cli.group import epilog, make_group
from foliot.cli.moment import read_duration, relative
from foliot.cli.output import write, write_json
from foliot.cli.session import Session, job_argument, takes_store
from foliot.cli.table import Cell, Column, write_rows
from foliot.engine.plan_command import Mute, Unmute, plan_command
from foliot.model.attempt import format_instant
from foliot.protocols import AlertQuery, AlertState, ChannelAlert

alert = make_group(
    "alert",
    "See what channels are told of jobs.",
    """See what channels are told of jobs, and have them told less.

    An alert waits in the store until its channel has taken it.""",
    "foliot alert list --store sqlite:///jobs.db\nfoliot alert mute backup --for 2h",
)
COLUMNS = (
    Column("WHEN"), Column("KIND"), Column("JOB", 1, 12), Column("CHANNEL"), Column("STATE"),
    Column("WHY", 2, 20),
)  # fmt: skip
_LONGEST = timedelta(days=36_525)
_COLOURS = {AlertState.WAITING: "yellow", AlertState.REFUSED: "red", AlertState.EXPIRED: "red"}


@alert.command(
    name="list",
    short_help="List alerts, the newest first.",
    epilog=epilog(
        "foliot alert list\nfoliot alert list --state waiting\nfoliot alert list --channel ops -o json"
    ),
)
@click.option("--channel", metavar="NAME", help="Only those for this channel.")
@click.option(
    "--state", type=click.Choice([state.value for state in AlertState]), help="Only those that stand so."
)
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@takes_store
async def list_alerts(
    session: Session, *, channel: str | None, state: str | None, limit: int, as_json: bool
) -> None:
    """List alerts, the newest first. The store keeps them for 90 days.

    One that waits has not been taken by its channel yet. One that is refused will never be; one that has
    waited for a day is expired.
    """
    wanted = None if state is None else AlertState(state)
    found = await session.store.alerts(AlertQuery(channel=channel, state=wanted, limit=limit))
    if as_json:
        write_json({"alerts": [_facts(one) for one in found]})
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


def _facts(one: ChannelAlert) -> dict[str, Any]:
    settled = {"state": one.state, "settled_at": one.settled_at, "answer": one.answer}
    return {"channel": one.channel, **settled, **one.alert.as_data()}


@alert.command(
    name="mute",
    short_help="Tell no channel about a job for a while.",
    epilog=epilog(
        "foliot alert mute billing/refresh --for 2h\nfoliot alert mute backup --for 1d --reason 'we know'"
    ),
)
@job_argument
@click.option(
    "--for", "span", required=True, callback=read_duration, metavar="DURATION", help="For how long."
)
@click.option("--reason", default="", metavar="TEXT", help="Why. It is kept until then.")
@takes_store
async def mute(session: Session, *, job: str, span: timedelta, reason: str, as_json: bool) -> None:
    """Tell no channel about JOB for a while. What still goes on then is told."""
    until = session.now + min(span, _LONGEST)
    await _change(
        session, job, Mute(until, reason), f"is muted until {format_instant(until)}", as_json=as_json
    )


@alert.command(
    name="unmute",
    short_help="Tell channels about a job again.",
    epilog=epilog("foliot alert unmute billing/refresh"),
)
@job_argument
@takes_store
async def unmute(session: Session, *, job: str, as_json: bool) -> None:
    """Tell channels about JOB again, at once what goes on."""
    await _change(session, job, Unmute(), "is no longer muted", as_json=as_json)


async def _change(session: Session, job: str, command: Mute | Unmute, words: str, *, as_json: bool) -> None:
    key = (await session.ops.find(job)).key
    async with session.auditor.change(type(command).__name__.lower(), f"job:{key}") as change:
        decision = await session.store.update(key, lambda record: plan_command(record, command, session.now))
        change.detail = f"{key} {words}"
    watch = decision.state.watch
    if as_json:
        write_json(
            {"job": key, "muted_until": watch and watch.muted_until, "reason": watch and watch.muted_reason}
        )
    else:
        write(f"{key} {words}", sys.stdout)
