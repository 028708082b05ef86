"""Requests for a run: how they are told, waited for and followed. `job trigger` and `run rerun` share it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import click

from foliot.cli.exit_code import ExitCode
from foliot.cli.instants import read_duration
from foliot.cli.output import say, visible, write, write_json
from foliot.cli.run_logs import Screen, follow
from foliot.cli.run_report import attempt_facts, ending_of
from foliot.cli.session import Session
from foliot.errors import WaitTimeoutError
from foliot.model.attempt import Attempt, Outcome
from foliot.model.job import LONGEST_NAME, is_name
from foliot.operations import Effect

_SIGNALS = 128  # a shell adds it to the number of a signal
_MOST = 255


def _read_request(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is not None and not is_name(text):
        raise click.BadParameter(f"must be a printable text of 1 to {LONGEST_NAME} characters")
    return text


dry_run_option = click.option("--dry-run", is_flag=True, help="Only show what would be done.")
_OPTIONS = (
    click.option(
        "--request", callback=_read_request, metavar="ID",
        help="Names the request: the same one counts once.  [default: a new id]",
    ),
    click.option("--wait", is_flag=True, help="Wait for the run to end, and exit as it did."),
    click.option("-f", "--follow", "is_followed", is_flag=True, help="The same, and print what it writes."),
    click.option(
        "--timeout", "limit", callback=read_duration, metavar="DURATION",
        help="With --wait or --follow: no longer than this.",
    ),
    dry_run_option,
)  # fmt: skip


def takes_request(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a request."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def tell(effect: Effect, facts: dict[str, Any], *, as_json: bool) -> None:
    """What a command did; of a dry run, all that would follow. Of a backfill, which runs."""
    if as_json:
        would = {name: getattr(effect, name) for name in ("drops", "cancels", "next_at")}
        would |= {name: [one._asdict() for one in getattr(effect, name)] for name in ("starts", "skips")}
        write_json(facts | ({"dry_run": True, "would": would} if effect.is_dry_run else {}))
        return
    is_backfill = effect.command == "backfill"
    for run in effect.runs if is_backfill else ():
        write(visible(run), sys.stdout)
    say("ok", effect.text)
    for words in effect.consequences if effect.is_dry_run and not is_backfill else ():
        write(f"  {visible(words)}", sys.stdout)


async def see_through(  # noqa: PLR0913 - one argument for each option
    session: Session,
    effect: Effect,
    *,
    wait: bool,
    is_followed: bool,
    limit: timedelta | None,
    as_json: bool,
) -> int:
    """Tell what came of a request, at once or at the end of its run."""
    if effect.has_changed and (record := (await session.ops.find(effect.job, with_removed=True)).record):
        queue, kind = record.job.queue, record.job.action.kind
        if not await session.ops.servants(record.job):
            note = f"it waits for a node: none that lives serves the queue {queue} and runs {kind}"
            say("note", note, sys.stderr)
    if effect.is_dry_run or not (wait or is_followed):
        tell(effect, {"job": effect.job, "run": effect.run, "new": effect.has_changed}, as_json=as_json)
        return ExitCode.OK
    if is_followed:
        last = await follow(session, effect.run, None, Screen(is_raw=False), limit)
        return ExitCode.OK if last is None else passed_on(last)
    with suppress(WaitTimeoutError):  # then it is told how the run stands
        await session.ops.finished(effect.run, timeout=limit)
    attempts = await session.ops.run(effect.run)
    _tell_end(attempts, as_json=as_json)
    return ExitCode.ERROR if attempts[-1].is_open else passed_on(attempts[-1])


def check_request(*, wait: bool, is_followed: bool, limit: timedelta | None, as_json: bool) -> None:
    """Refuse options that do not fit together, before anything is done."""
    if limit is not None and not (wait or is_followed):
        raise click.UsageError("--timeout needs --wait or --follow", click.get_current_context())
    if is_followed and as_json:
        raise click.UsageError("--follow prints text, and no JSON", click.get_current_context())


def passed_on(last: Attempt) -> int:
    """What to exit with after a run: what its command did, as a shell tells it; 8 if it has no such code."""
    code = last.exit_code
    if last.outcome is Outcome.SUCCEEDED:
        return ExitCode.OK
    if last.outcome is not Outcome.FAILED or code is None:
        return ExitCode.RUN_FAILED
    shown = _SIGNALS - code if code < 0 else code
    return shown if 0 < shown <= _MOST else ExitCode.RUN_FAILED


def _tell_end(attempts: list[Attempt], *, as_json: bool) -> None:
    last = attempts[-1]
    if as_json:
        facts = {"outcome": last.outcome, "error": last.error, "exit_code": last.exit_code}
        tried = [attempt_facts(attempt) for attempt in attempts]
        write_json({"job": last.job, "run": last.run_key, **facts, "attempts": tried})
    else:
        is_well = last.outcome is Outcome.SUCCEEDED
        text = f"{last.run_key} {ending_of(last)}"
        say("ok" if is_well else "error", text, sys.stdout if is_well else sys.stderr)
