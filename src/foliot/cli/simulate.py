"""`foliot simulate`: a month in seconds, with the real engine: who is late, who waits, who overlaps."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from foliot.cli.check import read_bytes, write_problems
from foliot.cli.exit_code import exit_code_of
from foliot.cli.instants import in_zone, read_time
from foliot.cli.output import say, write, write_json
from foliot.cli.plan_input import Place
from foliot.cli.session import opened
from foliot.cli.table import Column, write_rows
from foliot.clock import SystemClock
from foliot.doors.rollcron.planned import read_planned
from foliot.engine.change.words import counted, moment, zone_of
from foliot.engine.project import Durations
from foliot.errors import ConfigInvalidError, FoliotError, InvalidDurationError, JobNotFoundError
from foliot.model.job import Job
from foliot.operations.plan import durations_of
from foliot.schedules.duration import parse_duration
from foliot.schedules.zone import resolve_timezone
from foliot.shown import span
from foliot.simulate import JobReport, Report, measure
from foliot.simulate import simulate as play
from foliot.simulate.chart import sparkline, svg_of
from foliot.sources.git.beside import Noted, files_below

_SOURCE = "simulated"
_EVERY_GROUP = 1_000_000
_MOST_NAMED = 5
_COLUMNS = 80
_MOST_TIMES = 10_000
COLUMNS = (
    Column("JOB", least=16), Column("RUNS"), Column("LATE"), Column("P95", 1), Column("LATEST"),
    Column("OVERLAPS"), Column("SKIPPED"), Column("TIMED OUT", 1),
)  # fmt: skip


@click.command(
    name="simulate",
    short_help="Play a month of a rollcron.yaml in seconds.",
    epilog="""
\b
Examples:
  foliot simulate rollcron.yaml --days 30 --slots 4
  foliot simulate . --store sqlite:///jobs.db        the durations of its history
  foliot simulate . --durations took.json --chart month.svg
  foliot simulate . --job import -o json

\b
Exit codes:
  0  simulated        3  the file has errors, or the store URL
  1  an error         4  no such file or job
  2  wrong usage      6  store unreachable
""",
)
@click.argument("path", default=".", metavar="[FILE]", type=click.Path(path_type=Path))
@click.option(
    "--days", type=click.IntRange(1, 400), default=30, show_default=True, metavar="N", help="For how long."
)
@click.option(
    "--slots", type=click.IntRange(1, 1_000_000), default=1000, show_default=True, metavar="N",
    help="How many runs of each queue at once.",
)  # fmt: skip
@click.option(
    "--group", "groups", multiple=True, metavar="NAME=N", help="How many runs of a group; repeatable."
)
@click.option("--store", metavar="URL", help="Take the durations of its history, by the names of jobs.")
@click.option(
    "--durations", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help='Durations as JSON: {"backup": "5m", "import": ["1m", "90s"]}.',
)  # fmt: skip
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Which of the durations each run takes.",
)
@click.option(
    "--from", "start", metavar="TIME", callback=read_time, help="When it begins (ISO 8601).  [default: now]"
)
@click.option("--local", metavar="ZONE", help="The zone of jobs without one.  [default: this host's]")
@click.option("--job", "names", multiple=True, metavar="NAME", help="Only this job; repeatable.")
@click.option(
    "--chart", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Draw it as SVG."
)
@click.option(
    "-o", "--output", type=click.Choice(("table", "json")), default="table", show_default=True,
    metavar="FORMAT", help="table, for people, or json, for programs.",
)  # fmt: skip
def simulate(path: Path, **given: Any) -> int | None:
    """Play what a rollcron.yaml will do, with the real engine and a clock that jumps.

    Nothing is carried out. A run takes as long as one of the last runs of its job took, and succeeds; if
    nothing is known of a job, its runs take no time, and a warning says so.
    """
    file = Place(path).file
    data = read_bytes(file)
    noted, local = Noted(files_below(file.parent)), _zone(given["local"])
    try:
        jobs = read_planned(data, source=_SOURCE, file=str(file), files=noted, local=local).jobs
    except ConfigInvalidError as error:
        texts = {name: text for found in noted.asked.values() for name, text in found.items()}
        write_problems(error, {**texts, str(file): data}, as_json=given["output"] == "json")
        return exit_code_of(error)
    jobs = _chosen(jobs, given["names"])
    known = {**_of_store(given["store"], jobs), **_of_file(given["durations"], jobs)}
    took = Durations({f"{_SOURCE}/{name}": times for name, times in known.items()}, seed=given["seed"])
    begin = in_zone(given["start"] or SystemClock().now(), UTC)
    slots = dict.fromkeys(sorted({job.queue for job in jobs} | {"default"}), given["slots"])
    duration = timedelta(days=given["days"])
    found = play(jobs, begin, duration, took, slots=slots, groups=_groups(given["groups"], jobs))
    report = measure(jobs, found)
    unknown = [job.name for job in jobs if job.name not in known]
    title = f"{file.name}: {counted(given['days'], 'day')}, {counted(given['slots'], 'slot')}"
    zone = zone_of(jobs[0].schedule) if jobs else "UTC"
    if given["output"] == "json":
        write_json(_facts(report, begin, given, unknown))
    else:
        _tell(report, f"{title} from {moment(begin.replace(second=0), zone)} {zone}", unknown, zone)
    if given["chart"] is not None:
        given["chart"].write_text(svg_of(report, title, zone), encoding="utf-8")
    return None


def _zone(name: str | None) -> str | None:
    return None if name is None else resolve_timezone(name)


def _chosen(jobs: Sequence[Job], names: Sequence[str]) -> tuple[Job, ...]:
    known = {job.name for job in jobs}
    for name in names:
        if name not in known:
            raise JobNotFoundError(name, hint=f"the file has: {', '.join(sorted(known)[:_MOST_NAMED])}")
    return tuple(job for job in jobs if not names or job.name in names)


def _groups(texts: Sequence[str], jobs: Sequence[Job]) -> dict[str, int]:
    found = {job.group: _EVERY_GROUP for job in jobs if job.group is not None}
    for text in texts:
        name, _, number = text.partition("=")
        if not number.isascii() or not number.isdigit() or not int(number):
            raise click.BadParameter(f"{text!r} is no group and number, such as db=1", param_hint="'--group'")
        found[name] = int(number)
    return found


# -- durations -------------------------------------------------------------------------------------


def _of_store(url: str | None, jobs: Sequence[Job]) -> dict[str, tuple[timedelta, ...]]:
    """How long the last successful runs of jobs of these names took, whichever source declares them."""
    if url is None:
        return {}
    names = {job.name for job in jobs}

    async def ask() -> dict[str, tuple[timedelta, ...]]:
        found: dict[str, tuple[timedelta, ...]] = {}
        async with opened(url) as session:
            async for view in session.ops.every_job():
                name = view.key.partition("/")[2]
                if name in names and (times := await durations_of(session.ops, view.key)):
                    found[name] = (*found.get(name, ()), *times)
        return found

    return asyncio.run(ask())


def _of_file(file: Path | None, jobs: Sequence[Job]) -> dict[str, tuple[timedelta, ...]]:
    if file is None:
        return {}
    hint = 'write {"backup": "5m", "import": ["1m", "90s"]}; "*" stands for all others'
    try:
        known = {name: _times(value) for name, value in json.loads(read_bytes(file)).items()}
    except (ValueError, AttributeError, InvalidDurationError, RecursionError) as error:
        raise FoliotError(f"{file} cannot be read: {error}", hint=hint) from None
    others = known.get("*")
    found = {job.name: known.get(job.name, others) for job in jobs}
    return {name: times for name, times in found.items() if times is not None}


def _times(value: Any) -> tuple[timedelta, ...]:
    every = value if isinstance(value, list) else [value]
    if not every or len(every) > _MOST_TIMES:
        raise ValueError(f"a job has 1 to {_MOST_TIMES:,} durations")
    return tuple(parse_duration(one) for one in every)


# -- what is told ----------------------------------------------------------------------------------


def _tell(report: Report, title: str, unknown: Sequence[str], zone: str) -> None:
    total = report.total
    write(f"Simulated {title}", sys.stdout)
    if unknown:
        more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
        shown = ", ".join(unknown[:_MOST_NAMED]) + more
        say("warning", f"no duration is known of {shown}: their runs take no time here")
    write("", sys.stdout)
    write_rows(COLUMNS, [_row(one) for one in report.jobs])
    write("", sys.stdout)
    for name, values in (
        ("starts", [one.starts for one in report.buckets]),
        ("backlog", [one.backlog for one in report.buckets]),
    ):
        write(f"{name:8} {sparkline(values)}", sys.stdout)
    write(f"{'':8} each mark is {span(report.bucket)}", sys.stdout)
    write("", sys.stdout)
    peak = f" ({moment(report.backlog.at, zone)})" if report.backlog.at else ""
    late = f"{total.late:,} late (p95 {span(total.p95)}, most {span(total.latest)})"
    waits = f"backlog {report.backlog.most:,} at most{peak}"
    at_once = f"{report.running.most:,} at once at most"
    write(f"{counted(total.runs, 'run')}, {late}\n{waits}; {at_once}", sys.stdout)
    busiest = ", ".join(f"{moment(at, zone)} ({count:,})" for at, count in report.busiest)
    for line in wrap(f"Busiest minutes: {busiest or 'none'}", _COLUMNS, subsequent_indent="  "):
        write(line, sys.stdout)


def _row(one: JobReport) -> tuple[str, ...]:
    return (
        one.job, f"{one.runs:,}", f"{one.late:,}", span(one.p95), span(one.latest), f"{one.overlaps:,}",
        f"{one.skipped:,}", f"{one.timed_out:,}",
    )  # fmt: skip


def _facts(
    report: Report, begin: datetime, given: Mapping[str, Any], unknown: Sequence[str]
) -> dict[str, Any]:
    return {
        "simulation_version": 1,
        "from": begin,
        "days": given["days"],
        "slots": given["slots"],
        "seed": given["seed"],
        "durations_unknown": list(unknown),
        "jobs": [_job_facts(one) for one in report.jobs],
        "total": _job_facts(report.total),
        "backlog": report.backlog._asdict(),
        "running": report.running._asdict(),
        "busiest": [{"at": at, "starts": count} for at, count in report.busiest],
        "buckets": [one._asdict() for one in report.buckets],
        "bucket_seconds": report.bucket.total_seconds(),
    }


def _job_facts(one: JobReport) -> dict[str, Any]:
    facts = one._asdict()
    return {**facts, "p95": one.p95.total_seconds(), "latest": one.latest.total_seconds()}
