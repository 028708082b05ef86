"""`foliot job pause | resume | trigger | backfill`: what a person asks of a job."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from uuid import uuid4

import click

from foliot.cli.exit_code import ExitCode
from foliot.cli.group import epilog
from foliot.cli.moment import in_zone, read_duration, read_time, zone_of
from foliot.cli.output import labelled, visible, write, write_json
from foliot.cli.run_report import attempt_facts, ending_of
from foliot.cli.session import EVERYTHING, Session, job_argument, takes_store
from foliot.engine.plan_command import Backfill, Pause, Resume, RunNow, plan_command
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Attempt, Outcome, run_key
from foliot.model.decision import Decision
from foliot.model.job import LONGEST_NAME, is_name
from foliot.model.state import Record
from foliot.protocols import RunQuery

_LOOK_EVERY = timedelta(milliseconds=200)
_SIGNALS = 128  # a shell adds it to the number of a signal
_MOST = 255


@click.command(
    name="pause",
    short_help="Let a job's occurrences pass without a run.",
    epilog=epilog("foliot job pause billing/refresh"),
)
@job_argument
@takes_store
async def pause(session: Session, *, job: str, as_json: bool) -> ExitCode:
    """Let the occurrences of JOB pass without a run, until it is resumed.

    What runs goes on, and a run can still be triggered. A job that is paused stays so when its source
    changes or its program starts anew.
    """
    record = await session.record(job)
    decision = await session.command(record.job.key, Pause())
    _tell_change(record, decision, ("is paused", "was paused already"), as_json=as_json)
    return ExitCode.OK


@click.command(
    name="resume",
    short_help="Let a paused job run again.",
    epilog=epilog("foliot job resume billing/refresh"),
)
@job_argument
@takes_store
async def resume(session: Session, *, job: str, as_json: bool) -> ExitCode:
    """Let JOB run again, from now on.

    What passed while it was paused is not caught up: see foliot job backfill.
    """
    record = await session.record(job)
    decision = await session.command(record.job.key, Resume())
    _tell_change(record, decision, ("runs again", "was not paused"), as_json=as_json)
    return ExitCode.OK


def _tell_change(record: Record, decision: Decision, words: tuple[str, str], *, as_json: bool) -> None:
    has_changed = bool(decision.events)
    if as_json:
        state = decision.state
        facts = {"paused_at": state.paused_at, "next_at": state.next_at}
        write_json({"job": record.job.key, "changed": has_changed, **facts})
    else:
        write(labelled("ok", f"{record.job.key} {words[0 if has_changed else 1]}", sys.stdout), sys.stdout)


@click.command(
    name="trigger",
    short_help="Run a job now.",
    epilog=epilog(
        "foliot job trigger billing/refresh\n"
        "foliot job trigger refresh --wait --timeout 10m\n"
        "foliot job trigger refresh --request deploy-118"
    ),
)
@job_argument
@click.option(
    "--request", metavar="ID", help="Names the request: the same one counts once.  [default: a new id]"
)
@click.option("--wait", is_flag=True, help="Wait for the run to end, and exit as it did.")
@click.option(
    "--timeout", "limit", callback=read_duration, metavar="DURATION", help="With --wait: no longer than this."
)
@takes_store
async def trigger(  # noqa: PLR0913 - one argument for each option
    session: Session,
    *,
    job: str,
    request: str | None,
    wait: bool,
    limit: timedelta | None,
    as_json: bool,
) -> int:
    """Run JOB now, once, whatever its schedule says, even if it is paused.

    If a run of it is open, the new one waits for its end.

    With --wait the exit code is 0 if the run succeeds. If it fails and its command had an exit code of its
    own, it is that one, from 1 to 255, or 128 plus the number of the signal that ended it. Otherwise it is 8:
    the run failed without one, timed out, was cancelled or got lost. What a run that is tried again ends
    with is what its last attempt ended with. After --timeout it is 1, and the run goes on.
    """
    if limit is not None and not wait:
        raise click.UsageError("--timeout needs --wait", click.get_current_context())
    if request is not None and not is_name(request):
        message = f"must be a printable text of 1 to {LONGEST_NAME} characters"
        raise click.BadParameter(message, click.get_current_context(), param_hint="'--request'")
    record = await session.record(job)
    request = uuid4().hex if request is None else request
    key = run_key(record.job.key, session.now, request)
    is_new = await _request(session, record.job.key, request)
    if is_new and not await session.servants(record):
        queue, kind = record.job.queue, record.job.action.kind
        note = f"it waits for a node: none that lives serves the queue {queue} and runs {kind}"
        write(labelled("note", note, sys.stderr), sys.stderr)
    if wait:
        return await _await_end(session, key, limit, as_json=as_json)
    if as_json:
        write_json({"job": record.job.key, "run": key, "new": is_new})
    else:
        words = "is asked for" if is_new else "was asked for before, and counts once"
        write(labelled("ok", f"{key} {words}", sys.stdout), sys.stdout)
    return ExitCode.OK


async def _request(session: Session, job: str, request: str) -> bool:
    """Ask for a run; whether that is new. A request that has been served is no error: it counts once."""
    try:
        decision = await session.command(job, RunNow(request))
    except CommandRefusedError:
        if any(a.request == request for a in await session.store.runs(RunQuery(job=job, limit=EVERYTHING))):
            return False
        raise
    return bool(decision.attempts)


async def _await_end(session: Session, key: str, limit: timedelta | None, *, as_json: bool) -> int:
    begin = session.clock.monotonic()
    while (attempts := await session.attempts(key)) and any(attempt.is_open for attempt in attempts):
        waited = timedelta(seconds=session.clock.monotonic() - begin)
        if limit is not None and waited >= limit:
            _tell_end(key, attempts, as_json=as_json)
            return ExitCode.ERROR
        await session.clock.wait(_LOOK_EVERY)
    _tell_end(key, attempts, as_json=as_json)
    return passed_on(attempts[-1])


def passed_on(last: Attempt) -> int:
    """What to exit with after a run: what its command did, as a shell tells it; 8 if it has no such code."""
    code = last.exit_code
    if last.outcome is Outcome.SUCCEEDED:
        return ExitCode.OK
    if last.outcome is not Outcome.FAILED or code is None:
        return ExitCode.RUN_FAILED
    shown = _SIGNALS - code if code < 0 else code
    return shown if 0 < shown <= _MOST else ExitCode.RUN_FAILED


def _tell_end(key: str, attempts: list[Attempt], *, as_json: bool) -> None:
    last = attempts[-1]
    if as_json:
        facts = {"outcome": last.outcome, "error": last.error, "exit_code": last.exit_code}
        write_json({"job": last.job, "run": key, **facts, "attempts": [attempt_facts(a) for a in attempts]})
        return
    word = "ok" if last.outcome is Outcome.SUCCEEDED else "error"
    stream = sys.stdout if word == "ok" else sys.stderr
    write(labelled(word, f"{key} {ending_of(last)}", stream), stream)


@click.command(
    name="backfill",
    short_help="Run occurrences of the past.",
    epilog=epilog(
        "foliot job backfill billing/report --from 2026-11-01 --to 2026-11-07\n"
        "foliot job backfill report --from 2026-11-01 --to 2026-11-02 --rerun"
    ),
)
@job_argument
@click.option(
    "--from", "first", callback=read_time, required=True, metavar="TIME", help="The first instant (ISO 8601)."
)
@click.option(
    "--to", "last", callback=read_time, required=True, metavar="TIME", help="The last instant, included."
)
@click.option("--rerun", is_flag=True, help="Run again what has run already.")
@click.option("--dry-run", is_flag=True, help="Only tell what would run.")
@takes_store
async def backfill(  # noqa: PLR0913 - one argument for each option
    session: Session, *, job: str, first: datetime, last: datetime, rerun: bool, dry_run: bool, as_json: bool
) -> ExitCode:
    """Run the occurrences of JOB that lie in a time of the past.

    Each gets its run, under its own key; the job's overlap policy says how many at once. One that has
    run is refused, unless --rerun is given. A time without an offset is in the job's zone.
    """
    record = await session.record(job)
    zone = zone_of(record.job.schedule)
    begin, end = in_zone(first, zone), in_zone(last, zone)
    if end < begin:
        raise click.UsageError("--to lies before --from", click.get_current_context())
    command = Backfill(begin, end, await _ran(session, record.job.key, begin), rerun)
    if dry_run:
        decision = plan_command(record, command, session.now)
    else:
        decision = await session.command(record.job.key, command)
    known = {attempt.key for attempt in record.attempts}
    runs = [a.run_key for a in decision.attempts if a.key not in known]
    if as_json:
        write_json({"job": record.job.key, "runs": runs, "dry_run": dry_run})
        return ExitCode.OK
    for key in runs:
        write(visible(key), sys.stdout)
    if not runs:
        text = "no occurrence lies in that time"
    else:
        text = f"{len(runs)} would run" if dry_run else f"asked for: {len(runs)}"
    write(labelled("ok", text, sys.stdout), sys.stdout)
    return ExitCode.OK


async def _ran(session: Session, job: str, since: datetime) -> dict[datetime, int]:
    """The occurrences that have run, each with the number of its last attempt."""
    ran: dict[datetime, int] = {}
    for attempt in await session.store.runs(RunQuery(job=job, since=since, limit=EVERYTHING)):
        if attempt.request is None and not attempt.is_open:
            ran[attempt.scheduled_for] = max(attempt.number, ran.get(attempt.scheduled_for, 0))
    return ran
