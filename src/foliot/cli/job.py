"""`foliot job list | show | next | why`: what is known of jobs."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click

from foliot.cli.cron_report import HEADINGS, LEGEND, occurrence_facts, occurrence_rows, occurrences_after
from foliot.cli.group import epilog, make_group
from foliot.cli.job_command import backfill, pause, resume, trigger
from foliot.cli.job_occurrences import occurrences
from foliot.cli.job_report import (
    COLUMNS,
    job_facts,
    job_row,
    pause_words,
    revision_words,
    told,
    whole_facts,
)
from foliot.cli.job_versions import versions
from foliot.cli.moment import in_zone, read_time, zone_of
from foliot.cli.output import say, visible, wrapped, write, write_json
from foliot.cli.session import Session, job_argument, takes_store
from foliot.cli.source import source_facts
from foliot.cli.table import Column, write_facts, write_rows
from foliot.model.query import SkipQuery
from foliot.model.splay import offset_of
from foliot.model.state import Record
from foliot.model.view import SourceView
from foliot.operations import EVERYTHING, next_at, state_of
from foliot.schedules.duration import format_duration
from foliot.why import Verdict, Why

_MOST_OCCURRENCES = 10_000
_MOST_SKIPS = 100

job = make_group(
    "job",
    "See jobs, and tell them what to do.",
    """See jobs, and tell them what to do.

    JOB is the key source/name, or the name alone if no other job has it.""",
    """foliot job list --store sqlite:///jobs.db
foliot job why billing/refresh --at 2026-11-15T07:00
foliot job trigger refresh --wait""",
)
for command in (occurrences, versions, pause, resume, trigger, backfill):
    job.add_command(command)


@job.command(
    name="list",
    short_help="List jobs.",
    epilog=epilog("foliot job list\nfoliot job list --source billing -o json"),
)
@click.option("--source", metavar="NAME", help="Only jobs of this source.")
@click.option("--removed", is_flag=True, help="Removed jobs, too, as far as they are remembered.")
@click.option("--after", default="", metavar="KEY", help="Only jobs whose key comes after this one.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, EVERYTHING), default=100, show_default=True, metavar="N",
    help="How many jobs to show.",
)  # fmt: skip
@takes_store
async def list_jobs(  # noqa: PLR0913 - one argument for each option
    session: Session, *, source: str | None, removed: bool, after: str, limit: int, as_json: bool
) -> None:
    """List jobs in the order of their keys: how they are, when they run next, when they ran last."""
    shown = await session.ops.jobs(source, with_removed=removed, after=after, limit=limit)
    if as_json:
        write_json({"jobs": [job_facts(view) for view in shown], "next": shown.next})
    elif not shown:
        write("No jobs.", sys.stdout)
    else:
        write_rows(COLUMNS, [job_row(view, session.now) for view in shown])
        if shown.next:
            say("note", f"there are more: --after {shown.next}", sys.stderr)
        if not any(view.until > session.now for view in await session.store.nodes()):
            say("note", "no node is running: they wait until one starts", sys.stderr)


@job.command(
    name="show",
    short_help="Show all that is known of a job.",
    epilog=epilog("foliot job show billing/refresh\nfoliot job show refresh -o json"),
)
@job_argument
@takes_store
async def show(session: Session, *, job: str, as_json: bool) -> None:
    """Show all that is known of JOB: its definition, its state, its open runs.

    Of its policies those are shown that differ from the defaults of jobs in code.
    """
    view = await session.ops.find(job, with_removed=True)
    newest_skips = await session.store.skips(SkipQuery(view.key, limit=_MOST_SKIPS))
    skips, source = tuple(reversed(newest_skips)), await session.ops.source_of(view)
    if as_json:
        write_json(whole_facts(view, skips) | {"source": source_facts(source)})
    else:
        write_facts(told(view, source, skips, session.now))


@job.command(
    name="next",
    short_help="Show when a job runs next.",
    epilog=epilog("foliot job next billing/refresh\nfoliot job next refresh -n 20 -o json"),
)
@job_argument
@click.option(
    "-n", "--count", type=click.IntRange(1, _MOST_OCCURRENCES), default=5, show_default=True, metavar="N",
    help="How many occurrences to show.",
)  # fmt: skip
@takes_store
async def show_next(session: Session, *, job: str, count: int, as_json: bool) -> None:
    """Show the next occurrences of JOB: the wall time of its zone, UTC, and the wait.

    What keeps them from running, if anything does, is told with them.
    """
    record = await session.ops.usable(job)
    until = record.job.repeat_until
    occurrences = [
        (at, utc)
        for at, utc in occurrences_after(record.job.schedule, session.now, count)
        if until is None or utc <= until
    ]
    notes = [*splay_notes(record), *await _obstacles(session, record)]
    if as_json:
        facts = [occurrence_facts(occurrence, session.now) for occurrence in occurrences]
        schedule = str(record.job.schedule)
        write_json({"job": record.job.key, "schedule": schedule, "occurrences": facts, "notes": notes})
        return
    if occurrences:
        rows = occurrence_rows(occurrences, session.now)
        write_rows([Column(h.upper(), int(h == "note")) for h in HEADINGS], rows)
        if any(at.fold for at, _ in occurrences):
            write(LEGEND, sys.stdout)
    else:
        write("No occurrence is left.", sys.stdout)
    for note in notes:
        say("note", note)


def splay_notes(record: Record) -> list[str]:
    """How long after its occurrences a job starts."""
    offset, splay = offset_of(record.job), record.job.policy.splay
    if splay is None:
        return []
    return [f"each starts {format_duration(offset)} later, by its splay of {format_duration(splay)}"]


async def _obstacles(session: Session, record: Record) -> list[str]:
    """What keeps a job from running, as things stand."""
    found = []
    if record.state.paused_at is not None:
        found.append(f"it is paused since {pause_words(record.state, session.now)}")
    if not record.job.enabled:
        found.append("its definition switches it off")
    if not await session.ops.servants(record.job):
        queue, kind = record.job.queue, record.job.action.kind
        found.append(f"no node that lives serves the queue {queue} and runs {kind}")
    return found


@job.command(
    name="why",
    short_help="Tell why a job runs, ran, or did not.",
    epilog=epilog("foliot job why billing/refresh\nfoliot job why refresh --at 2026-11-15T07:00 -o json"),
)
@job_argument
@click.option(
    "--at", callback=read_time, metavar="TIME",
    help="What of this time (ISO 8601; without an offset in the job's zone)?  [default: what is next]",
)  # fmt: skip
@takes_store
async def why(session: Session, *, job: str, at: datetime | None, as_json: bool) -> None:
    """Tell why JOB will run, or ran, or was skipped, or will not run.

    Any time can be asked about, past or future.
    """
    view = await session.ops.find(job, with_removed=True)
    zone = zone_of(view.record.job.schedule) if view.record else UTC
    instant = None if at is None else in_zone(at, zone)
    answer, source = await session.ops.why(view, instant), await session.ops.source_of(view)
    is_open = instant is None or instant > session.now
    notes = await _obstacles(session, view.record) if view.record and is_open and next_at(view) else []
    if as_json:
        facts = {**answer._asdict(), "text": str(answer), "revision_since": source.reconciled_at}
        facts |= {"last_outcome": view.last_outcome, "last": await session.ops.last_words(view)}
        write_json({"job": view.key, "asked": instant, **facts, "state": state_of(view), "notes": notes})
        return
    if instant is None and (last := await session.ops.last_words(view)):
        write(wrapped(visible(f"{view.key}: {last}"), sys.stdout, 2), sys.stdout)
    write(wrapped(visible(f"{view.key}: {answer}"), sys.stdout, 2), sys.stdout)
    if answer.rule is not None:
        say("rule", _rule_words(answer, source, session.now))
    for note in notes:
        say("note", note)


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
