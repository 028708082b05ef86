"""`foliot job why`: why a job runs, ran, or did not."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from foliot.cli.complete import job_argument
from foliot.cli.group import epilog
from foliot.cli.instants import When, local_time, read_when, zone_of
from foliot.cli.job_report import pause_words, revision_words
from foliot.cli.output import say, visible, wrapped, write, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.unserved import runner_words
from foliot.engine.plan_command import occurrences_between
from foliot.model.splay import offset_of
from foliot.model.state import Record
from foliot.model.view import SourceView
from foliot.operations import next_at, state_of
from foliot.protocols import JobView
from foliot.schedules.duration import format_duration
from foliot.why import Verdict, Why

_MOST_OF_A_DAY = 12


@click.command(
    name="why",
    short_help="Tell why a job runs, ran, or did not.",
    epilog=epilog(
        "foliot job why billing/refresh\n"
        "foliot job why refresh --last\n"
        "foliot job why refresh --at 07:00\n"
        "foliot job why refresh --at yesterday\n"
        "foliot job why refresh --at 2026-11-15T07:00 -o json",
        4,
    ),
)
@job_argument
@click.option(
    "--at", callback=read_when, metavar="TIME",
    help="What of this time? 07:00, yesterday, 'yesterday 07:00' or ISO 8601; without an offset in the job's "
    "zone.  [default: what is next]",
)  # fmt: skip
@click.option("--last", is_flag=True, help="Only what happened last.")
@takes_store
async def why(session: Session, *, job: str, at: When | None, last: bool, as_json: bool) -> None:
    """Tell why JOB will run, or ran, or was skipped, or will not run.

    Any time can be asked about, past or future. A day means all its occurrences, up to twelve.
    """
    if last and at is not None:
        raise click.UsageError("--last and --at exclude each other", click.get_current_context())
    view = await session.ops.find(job, with_removed=True)
    if last:
        await _tell_last(session, view, as_json=as_json)
        return
    instants = _instants(view, at, session.now)
    if as_json:
        answers = [await _facts(session, view, instant) for instant in instants]
        write_json(answers[0] if len(answers) == 1 else {"job": view.key, "answers": answers})
        return
    for instant in instants:
        await _tell(session, view, instant)


async def _tell_last(session: Session, view: JobView, *, as_json: bool) -> None:
    said = await session.ops.last_words(view)
    if as_json:
        write_json({"job": view.key, "last_outcome": view.last_outcome, "last": said})
        return
    write(wrapped(visible(f"{view.key}: {said or 'nothing has happened yet'}"), sys.stdout, 2), sys.stdout)
    run = view.record.state.last_run if view.record else None
    if run is not None:
        say("note", f"foliot run logs '{run}' prints what it wrote")


def _instants(view: JobView, at: When | None, now: datetime) -> list[datetime | None]:
    """The instants that are asked about; None: what is next."""
    if at is None:
        return [None]
    zone = zone_of(view.record.job.schedule) if view.record else UTC
    first = at.instant(now, zone)
    if at.time is not None or view.record is None:
        return [first]
    found = occurrences_between(
        view.record.job, first, at.next_day(now, zone) - timedelta(microseconds=1), _MOST_OF_A_DAY + 1
    )
    if len(found) > _MOST_OF_A_DAY:
        hint = f"name a time: --at '{at.text} 07:00'; or see foliot job occurrences"
        raise click.UsageError(f"{at.text} has more than {_MOST_OF_A_DAY} occurrences; {hint}")
    return [*found] or [first]


async def _notes(session: Session, view: JobView, instant: datetime | None) -> list[str]:
    is_open = instant is None or instant > session.now
    return await obstacles(session, view.record) if view.record and is_open and next_at(view) else []


async def _tell(session: Session, view: JobView, instant: datetime | None) -> None:
    answer, source = await session.ops.why(view, instant), await session.ops.source_of(view)
    if instant is None and (last := await session.ops.last_words(view)):
        write(wrapped(visible(f"{view.key}: {last}"), sys.stdout, 2), sys.stdout)
    write(wrapped(visible(f"{view.key}: {answer}"), sys.stdout, 2), sys.stdout)
    if answer.at is not None and view.record and (local := local_time(answer.at, view.record.job.schedule)):
        say("note", local)
    if answer.rule is not None:
        say("rule", _rule_words(answer, source, session.now))
    for note in await _notes(session, view, instant):
        say("note", note)


async def _facts(session: Session, view: JobView, instant: datetime | None) -> dict[str, Any]:
    answer, source = await session.ops.why(view, instant), await session.ops.source_of(view)
    facts = {**answer._asdict(), "text": str(answer), "revision_since": source.reconciled_at}
    facts |= {"last_outcome": view.last_outcome, "last": await session.ops.last_words(view)}
    notes = await _notes(session, view, instant)
    return {"job": view.key, "asked": instant, **facts, "state": state_of(view), "notes": notes}


def splay_notes(record: Record) -> list[str]:
    """How long after its occurrences a job starts."""
    offset, splay = offset_of(record.job), record.job.policy.splay
    if splay is None:
        return []
    return [f"each starts {format_duration(offset)} later, by its splay of {format_duration(splay)}"]


async def obstacles(session: Session, record: Record) -> list[str]:
    """What keeps a job from running, as things stand."""
    found = []
    if record.state.paused_at is not None:
        found.append(f"it is paused since {pause_words(record.state, session.now)}")
    if not record.job.enabled:
        found.append("its definition switches it off")
    if not await session.ops.servants(record.job):
        found.append(runner_words(record.job.queue, record.job.action.kind))
    return found


def _rule_words(answer: Why, source: SourceView, now: datetime) -> str:
    """The rule that decided, with the revision that it is of, and since when that is known."""
    words = [f"{answer.rule}"]
    if answer.revision:
        words.append(f"of revision {revision_words(answer.revision, source, now)}")
    if answer.is_replaced:
        words.append(f"(version {answer.version}; the job has another definition now)")
        return " ".join(words)
    is_told = answer.verdict in (Verdict.RAN, Verdict.SKIPPED)
    if is_told and answer.at and source.reconciled_at and answer.at < source.reconciled_at:
        words.append("(an earlier revision may have decided)")
    return " ".join(words)
