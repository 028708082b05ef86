"""`foliot run list | show | logs | cancel | rerun`: what became of occurrences and requests."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import click

from foliot.cli.complete import complete_job, complete_run
from foliot.cli.exit_code import ExitCode
from foliot.cli.group import epilog, make_group
from foliot.cli.instants import read_duration
from foliot.cli.output import say, write, write_json
from foliot.cli.request import check_request, dry_run_option, see_through, takes_request, tell
from foliot.cli.run_logs import Screen, chosen, follow, shown_line
from foliot.cli.run_report import (
    ATTEMPT_COLUMNS,
    COLUMNS,
    SHORT_COLUMNS,
    attempt_facts,
    attempt_row,
    attempts_rows,
    error_of,
    told,
)
from foliot.cli.session import Session, takes_store
from foliot.cli.short import names_of
from foliot.cli.table import write_facts, write_rows
from foliot.model.attempt import Attempt, AttemptState, Outcome
from foliot.operations import EVERYTHING

run = make_group(
    "run",
    "See runs and what they wrote; cancel and repeat them.",
    """See runs and what they wrote; cancel and repeat them.

    RUN is a run's key, such as billing/refresh@2026-11-15T07:00:00Z or billing/refresh!deploy-118; the source
    may be left out if no other job has that name, and the end of a request if no other begins so. A job's
    name alone means its latest run.""",
    """foliot run list --job refresh
foliot run logs billing/refresh@2026-11-15T07:00:00Z
foliot run cancel billing/refresh!deploy-118""",
)
_run_argument = click.argument("run", metavar="RUN", shell_complete=complete_run)


@run.command(
    name="list",
    short_help="List runs, newest first.",
    epilog=epilog("foliot run list --job refresh --since 1d\nfoliot run list --outcome failed -o json", 4),
)
@click.option("--job", metavar="JOB", shell_complete=complete_job, help="Only runs of this job.")
@click.option("--outcome", type=click.Choice([o.value for o in Outcome]), help="Only runs with this outcome.")
@click.option("--open", "is_open", is_flag=True, help="Only runs that have not ended.")
@click.option(
    "--since", callback=read_duration, metavar="DURATION", help="Only runs that were due in this last time."
)
@click.option(
    "-n", "--limit", type=click.IntRange(1, EVERYTHING), default=20, show_default=True, metavar="N",
    help="How many attempts to show.",
)  # fmt: skip
@takes_store
async def list_runs(  # noqa: PLR0913 - one argument for each option
    session: Session,
    *,
    job: str | None,
    outcome: str | None,
    is_open: bool,
    since: timedelta | None,
    limit: int,
    as_json: bool,
) -> None:
    """List the attempts at runs, newest first.

    A run that was tried again has a line for each attempt. On a terminal, a run's key is shown as its JOB and
    what it is FOR: a time, or the beginning of a request. Commands take it so: JOB@TIME, or JOB!REQUEST.
    """
    attempts = await session.ops.attempts(
        None if job is None else (await session.ops.find(job, with_removed=True)).key,
        outcome=None if outcome is None else Outcome(outcome),
        is_open=True if is_open else None,
        since=None if since is None else session.now - since,
        limit=limit,
    )
    if as_json:
        write_json({"attempts": [attempt_facts(attempt) for attempt in attempts]})
    elif not attempts:
        write("No runs.", sys.stdout)
    else:
        names = await names_of(session.store)
        columns = SHORT_COLUMNS if names.is_short else COLUMNS
        write_rows(columns, [attempt_row(attempt, session.now, names) for attempt in attempts])


@run.command(
    name="show",
    short_help="Show a run and its attempts.",
    epilog=epilog("foliot run show billing/refresh@2026-11-15T07:00:00Z", 4),
)
@_run_argument
@takes_store
async def show(session: Session, *, run: str, as_json: bool) -> None:
    """Show RUN: why it is, how it stands, and each of its attempts. A JOB means its latest run."""
    attempts = await session.ops.run(run)
    if as_json:
        facts = {"run": attempts[-1].run_key, "job": attempts[-1].job, "outcome": attempts[-1].outcome}
        write_json({**facts, "attempts": [attempt_facts(attempt) for attempt in attempts]})
        return
    write_facts(told(attempts, session.now))
    write("", sys.stdout)
    write_rows(ATTEMPT_COLUMNS, attempts_rows(attempts, session.now))
    _, *trace = (error_of(attempts) or "").splitlines() or [""]
    if trace:
        write("\n".join(["", *map(shown_line, trace)]), sys.stdout)


@run.command(
    name="logs",
    short_help="Print what a run wrote.",
    epilog=epilog(
        "foliot run logs billing/refresh@2026-11-15T07:00:00Z\n"
        "foliot run logs refresh@2026-11-15T07:00:00Z --attempt 1\n"
        "foliot run logs 'refresh!deploy-118' --follow",
        4,
        8,
    ),
)
@_run_argument
@click.option(
    "--attempt",
    "number",
    type=click.IntRange(1),
    metavar="N",
    help="Of this attempt.  [default: the last that has started; with --follow the last]",
)
@click.option(
    "-f",
    "--follow",
    "is_followed",
    is_flag=True,
    help="Go on until the attempt ends; exit with 8 if it fails.",
)
@click.option("--raw", is_flag=True, help="Print the output as it is, with escape sequences.")
@takes_store
async def logs(  # noqa: PLR0913 - one argument for each option
    session: Session, *, run: str, number: int | None, is_followed: bool, raw: bool, as_json: bool
) -> ExitCode:
    """Print what RUN wrote. A JOB means its latest run.

    Control characters are shown as escapes, unless --raw is given, also into a file or a pipe. Long output is
    cut in the middle; the number of dropped characters is shown.
    """
    if is_followed and as_json:
        raise click.UsageError("--follow prints text, and no JSON", click.get_current_context())
    attempts = await session.ops.run(run)
    if is_followed:
        number = chosen(attempts, run, number).number
        last = await follow(session, attempts[-1].run_key, number, Screen(is_raw=raw))
        return ExitCode.OK if last is None or last.outcome is Outcome.SUCCEEDED else ExitCode.RUN_FAILED
    attempt = chosen(_started(attempts) if number is None else attempts, run, number)
    output = await session.store.output(*attempt.key)
    if as_json:
        facts = {"text": output.text if output else "", "dropped": output.dropped if output else 0}
        write_json({"run": attempt.run_key, "attempt": attempt.number, **facts})
    elif output is None or not output.text:
        so_far = " so far" if attempt.is_open else ""
        say("note", f"attempt {attempt.number} wrote nothing{so_far}", sys.stderr)
    else:
        write(Screen(is_raw=raw).fit(output.text.removesuffix("\n")), sys.stdout)
    return ExitCode.OK


def _started(attempts: list[Attempt]) -> list[Attempt]:
    """Those that have written, or may have; all if none has started."""
    return [attempt for attempt in attempts if attempt.state is not AttemptState.PENDING] or attempts


@run.command(
    name="cancel",
    short_help="Ask a run to end.",
    epilog=epilog("foliot run cancel billing/refresh@2026-11-15T07:00:00Z", 4),
)
@_run_argument
@dry_run_option
@takes_store
async def cancel(session: Session, *, run: str, dry_run: bool, as_json: bool) -> None:
    """Ask RUN to end. One that waits never starts; one that runs is asked to stop.

    It is not tried again. A JOB means its latest run.
    """
    effect = await session.ops.cancel(run, dry_run=dry_run)
    attempt = effect.attempt
    facts = {} if attempt is None else {"attempt": attempt.number, "state": attempt.state}
    tell(effect, {"run": effect.run, **facts}, as_json=as_json)


@run.command(
    name="rerun",
    short_help="Repeat a run.",
    epilog=epilog(
        "foliot run rerun billing/refresh@2026-11-15T07:00:00Z\nfoliot run rerun refresh --follow", 4, 8
    ),
)
@_run_argument
@takes_request
@takes_store
async def rerun(
    session: Session, *, run: str, request: str | None, dry_run: bool, as_json: bool, **end: Any
) -> int:
    """Repeat RUN, which has ended: its job runs once more, now, as foliot job trigger has it.

    The new run has a key of its own, and its reason names the run that it repeats. To try an occurrence
    again under its own key, see foliot job backfill --which failed.
    """
    check_request(**end, as_json=as_json)
    effect = await session.ops.rerun(run, request=request, dry_run=dry_run)
    return await see_through(session, effect, **end, as_json=as_json)
