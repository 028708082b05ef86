"""`foliot job list | show | next | why`: what is known of jobs."""

from __future__ import annotations

import sys

import click

from foliot.cli.complete import job_argument, source_option
from foliot.cli.cron_report import HEADINGS, LEGEND, occurrence_facts, occurrence_rows, occurrences_after
from foliot.cli.group import epilog, make_group
from foliot.cli.job_command import backfill, trigger
from foliot.cli.job_occurrences import occurrences
from foliot.cli.job_pause import pause, resume
from foliot.cli.job_report import (
    COLUMNS,
    idle_words,
    job_facts,
    job_row,
    told,
    whole_facts,
)
from foliot.cli.job_versions import versions
from foliot.cli.job_why import obstacles, splay_notes, why
from foliot.cli.output import say, write, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.short import names_of
from foliot.cli.source import source_facts
from foliot.cli.table import Column, write_facts, write_rows
from foliot.model.query import JobState, SkipQuery
from foliot.operations import EVERYTHING

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
for command in (why, occurrences, versions, pause, resume, trigger, backfill):
    job.add_command(command)


@job.command(
    name="list",
    short_help="List jobs.",
    epilog=epilog("foliot job list\nfoliot job list --source billing -o json", 4),
)
@source_option
@click.option(
    "--failing", "state", flag_value=JobState.FAILING.value, help="Only jobs whose last run failed."
)
@click.option("--paused", "state", flag_value=JobState.PAUSED.value, help="Only jobs that are paused.")
@click.option("--removed", is_flag=True, help="Removed jobs, too, as far as they are remembered.")
@click.option("--after", default="", metavar="KEY", help="Only jobs whose key comes after this one.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, EVERYTHING), default=100, show_default=True, metavar="N",
    help="How many jobs to show.",
)  # fmt: skip
@takes_store
async def list_jobs(  # noqa: PLR0913 - one argument for each option
    session: Session,
    *,
    source: str | None,
    state: str | None,
    removed: bool,
    after: str,
    limit: int,
    as_json: bool,
) -> None:
    """List jobs in the order of their keys: how they are, when they run next, when they ran last.

    On a terminal, jobs stand without their source if the store has one source. Foliot's own jobs, which send
    alerts, are shown with --source foliot.alerts only.
    """
    if source is not None:
        await session.ops.check_source(source)
    wanted = None if state is None else JobState(state)
    shown = await session.ops.jobs(source, with_removed=removed, after=after, limit=limit, state=wanted)
    if as_json:
        write_json({"jobs": [job_facts(view) for view in shown], "next": shown.next})
        return
    if not shown:
        write(f"No {state} jobs." if state else "No jobs.", sys.stdout)
    else:
        names = await names_of(session.store)
        write_rows(COLUMNS, [(names.job(view.key), *job_row(view, session.now)[1:]) for view in shown])
        if shown.next:
            say("note", f"there are more: --after {shown.next}", sys.stderr)
    await _tell_counts(session)


async def _tell_counts(session: Session) -> None:
    """How many jobs need attention in all, and whether anything can start."""
    seen = await session.ops.overview()
    counts = [(seen.damaged, "damaged"), (seen.failing, "failing"), (seen.paused, "paused")]
    words = [f"{count:,} {word}" for count, word in counts if count]
    if words and sys.stderr.isatty():
        say("note", f"of {seen.jobs:,} jobs, {', '.join(words)}", sys.stderr)
    if seen.jobs and not any(view.until > session.now for view in await session.store.nodes()):
        text = "no Foliot process is running, so nothing will start (try foliot serve)"
        say("note", text, sys.stderr)


@job.command(
    name="show",
    short_help="Show all that is known of a job.",
    epilog=epilog("foliot job show billing/refresh\nfoliot job show refresh -o json", 4),
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
    epilog=epilog("foliot job next billing/refresh\nfoliot job next refresh -n 20 -o json", 4),
)
@job_argument
@click.option(
    "-n", "--count", type=click.IntRange(1, _MOST_OCCURRENCES), default=5, show_default=True, metavar="N",
    help="How many occurrences to show.",
)  # fmt: skip
@takes_store
async def show_next(session: Session, *, job: str, count: int, as_json: bool) -> None:
    """Show the next occurrences of JOB: the wall time of its zone, UTC, and the wait.

    Of a job without times it is told what starts it.

    What keeps them from running, if anything does, is told with them.
    """
    record = await session.ops.usable(job)
    until = record.job.repeat_until
    occurrences = [
        (at, utc)
        for at, utc in occurrences_after(record.job.schedule, session.now, count)
        if until is None or utc <= until
    ]
    notes = [*splay_notes(record), *await obstacles(session, record)]
    idle = idle_words(record.job)
    if as_json:
        facts = [occurrence_facts(occurrence, session.now) for occurrence in occurrences]
        schedule = str(record.job.schedule)
        write_json(
            {"job": record.job.key, "schedule": schedule, "occurrences": facts, "notes": notes}
            | ({} if occurrences else {"idle": idle})
        )
        return
    if occurrences:
        rows = occurrence_rows(occurrences, session.now)
        write_rows([Column(h, int(h == "NOTE")) for h in HEADINGS], rows)
        if any(at.fold for at, _ in occurrences):
            write(LEGEND, sys.stdout)
    else:
        write(idle, sys.stdout)
    for note in notes:
        say("note", note)
