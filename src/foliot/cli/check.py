"""`foliot check`: all errors of a rollcron.yaml, or what its jobs will do."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path

import click

from foliot.cli.check_report import look_at, look_beside, problem_lines, report_facts, told, without_secrets
from foliot.cli.cron_options import output_option, takes_start
from foliot.cli.exit_code import ExitCode, exit_code_of
from foliot.cli.output import labelled, write, write_error, write_json
from foliot.cli.table import write_facts
from foliot.clock import SystemClock
from foliot.doors.rollcron import FILE
from foliot.doors.rollcron.config import read_file
from foliot.doors.rollcron.report import split_lines
from foliot.doors.rollcron.yaml_tree import LARGEST_FILE
from foliot.errors import ConfigInvalidError, ConfigNotFoundError, FoliotError
from foliot.schedules.phrase import counted
from foliot.sources.git.beside import Noted, files_below

_MOST_OCCURRENCES = 100
_SOURCE = "rollcron"
_NO_JOBS = "the file declares no job: nodes that follow this repository will run nothing"


@click.command(
    name="check",
    short_help="Check a rollcron.yaml before it is committed.",
    epilog="""
\b
Examples:
  foliot check
  foliot check ~/jobs -n 5
  foliot check jobs/rollcron.yaml --strict -o json

\b
Exit codes:
  0  all is well      3  the file has errors
  1  an error         4  there is no such file
  2  wrong usage      9  a warning, with --strict
""",
)
@click.argument("path", default=".", metavar="[PATH]", type=click.Path(path_type=Path))
@click.option(
    "-n",
    "--count",
    type=click.IntRange(1, _MOST_OCCURRENCES),
    default=3,
    show_default=True,
    metavar="N",
    help="How many occurrences of each job to show.",
)
@click.option("--strict", is_flag=True, help="Exit with 9 if there is a warning.")
@takes_start("Start after this time (ISO 8601); without an offset it is in each job's zone.  [default: now]")
@output_option
def check(path: Path, *, count: int, strict: bool, start: datetime | None, output: str) -> ExitCode:
    """Check a rollcron.yaml, and show what its jobs will do.

    PATH is the file, or the directory that it lies in; the file is read as it is, committed or not. All
    errors are shown, each with its place and what would be right. Of a good file each job is shown with
    its next runs, and with warnings of what may surprise.
    """
    file = path / FILE if path.is_dir() else path
    data = read_bytes(file)
    noted = Noted(files_below(file.parent))
    try:
        jobs, untimed, *_ = read_file(data, source=_SOURCE, file=str(file), files=noted)
    except ConfigInvalidError as error:
        # Handled before it reaches `main`: only here is the text of the file known.
        texts = {name: text for found in noted.asked.values() for name, text in found.items()}
        write_problems(error, {**texts, str(file): data}, as_json=output == "json")
        return exit_code_of(error)
    more = look_beside(jobs, file.parent, untimed)
    reports = [
        report._replace(findings=[*report.findings, *more.get(report.job.name, ())])
        for report in look_at(jobs, start or SystemClock().now(), count)
    ]
    has_warning = not jobs or any(report.has_warning for report in reports)
    if output == "json":
        write_json({"ok": True, "file": str(file), "jobs": [report_facts(report) for report in reports]})
    else:
        write(labelled("ok", f"{file} has {counted(len(jobs), 'job')}", sys.stdout), sys.stdout)
        for report in reports:
            write("", sys.stdout)
            write_facts(told(report))
            for finding in report.findings:
                write(labelled(finding.severity, finding.message, sys.stdout), sys.stdout)
        if not jobs:
            write(labelled("warning", _NO_JOBS, sys.stdout), sys.stdout)
    return ExitCode.FINDINGS if strict and has_warning else ExitCode.OK


def read_bytes(file: Path, most: int = LARGEST_FILE) -> bytes:
    """As much of a file as it may have, and a byte more."""
    try:
        with file.open("rb") as stream:
            return stream.read(most + 1)
    except FileNotFoundError:
        hint = f"give the directory that has a {FILE}, or the file"
        raise ConfigNotFoundError(str(file), hint=hint) from None
    except OSError as error:
        raise FoliotError(f"{file} cannot be read: {error.strerror}") from error


def write_problems(error: ConfigInvalidError, texts: Mapping[str, bytes], *, as_json: bool) -> None:
    """All errors: for people on stderr, for programs on stdout."""
    if as_json:
        write_error(error, None, as_json=True)
        return
    shown = []
    for name, problems in groupby(error.problems, lambda problem: problem.file):
        some = list(problems)
        text = texts.get(name, b"").decode(errors="replace").removeprefix("\ufeff")
        lines = without_secrets(split_lines(text), some)
        shown += [problem_lines(problem, lines) for problem in some]
    write("\n\n".join("\n".join(each) for each in shown), sys.stderr)
    names = " and ".join(dict.fromkeys(problem.file for problem in error.problems))
    has = "has" if names == error.problems[0].file else "have"
    write(f"\n{names} {has} {counted(len(shown), 'error')}", sys.stderr)
