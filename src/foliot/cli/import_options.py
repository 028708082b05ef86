"""What the commands of `foliot import` share: options, the two files, and what is told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click

from foliot.cli.cron_options import output_option, takes_start
from foliot.cli.exit_code import ExitCode
from foliot.cli.import_files import write_files
from foliot.cli.output import labelled, visible, write, write_json
from foliot.clock import SystemClock, host_timezone
from foliot.importers.against_log import read_log
from foliot.importers.draft import LineKind, Source
from foliot.importers.proof import LEAST
from foliot.importers.registry import Registry
from foliot.importers.report import Outcome, account, facts, proof_words
from foliot.importers.work import conclude, split_by_user, texts
from foliot.schedules.zone import resolve_timezone

_YEARS = range(1900, 9800)  # that a proof may begin in
_MOST_PROVED = 100_000
EXIT_CODES = """
\b
Exit codes:
  0  all is translated, all is proved equal     3  a source cannot be read
  1  an error, such as a file that is there     4  there is no such file
  2  wrong usage                                9  something needs a person
"""


_OPTIONS = (
    click.option("--zone", metavar="ZONE", help="IANA time zone of the old host.  [default: this host's]"),
    click.option(
        "--to",
        "folder",
        default=".",
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False),
        help="Where to write rollcron.yaml and IMPORT.md.  [default: here]",
    ),
    click.option("--force", is_flag=True, help="Write over files that are there."),
    click.option(
        "--prove",
        "least",
        type=click.IntRange(1, _MOST_PROVED),
        default=LEAST,
        show_default=True,
        metavar="N",
        help="Compare at least N runs of each job, and 400 days.",
    ),
    click.option(
        "--against-log",
        "log",
        type=click.File("rb"),
        metavar="FILE",
        help="Compare with a log of cron, too; - is standard input.",
    ),
    takes_start("Prove from this time on (ISO 8601).  [default: now]"),
    output_option,
)

_SPLIT = (
    click.option(
        "--split",
        is_flag=True,
        help="Make a job of each script that a line starts with run-parts; they run one at a time.",
    ),
    click.option(
        "--split-by-user",
        "by_user",
        is_flag=True,
        help="Write a directory for each user, DIR/USER/rollcron.yaml, in the place of the field user.",
    ),
)


def split_options(command: Callable[..., ExitCode]) -> Callable[..., ExitCode]:
    """Give a command what splits jobs of tables."""
    for option in reversed(_SPLIT):
        command = option(command)
    return command


def examples(text: str) -> str:
    """Examples and exit codes, as they stand under each help text."""
    lines = "\n".join(f"  {line}" for line in text.strip().splitlines())
    return f"\b\nExamples:\n{lines}\n{EXIT_CODES}"


def import_options(command: Callable[..., Sequence[Source]]) -> Callable[..., ExitCode]:
    """Give a command that reads sources what all imports share: zone, files, proof, report, exit code."""

    @wraps(command)
    def run(  # noqa: PLR0913 - the options that imports share
        *, zone: str | None, folder: Path, force: bool, least: int, log: Any, start: datetime | None,
        output: str, **options: Any,
    ) -> ExitCode:  # fmt: skip
        home = host_timezone() if zone is None else resolve_timezone(zone)
        now = SystemClock().now()
        begin = (start if start is None or start.tzinfo else start.replace(tzinfo=UTC)) or now
        if begin.year not in _YEARS:
            message = f"it must lie between {_YEARS[0]} and {_YEARS[-1]}: a century is compared"
            raise click.BadParameter(message, param_hint="'--from'")
        names = Registry()
        by_user = bool(options.pop("by_user", False))
        sources = command(zone=home, names=names, **options)
        if by_user:
            sources = split_by_user(sources)
        seen = None if log is None else read_log(log.read(), home, now)
        outcome = conclude(sources, begin, least, seen)
        written = write_files(folder, texts(outcome, names), force=force)
        if output == "json":
            write_json({**facts(outcome), "files": written})
        else:
            _tell(outcome, written)
        if outcome.has_failure:
            return ExitCode.INVALID
        return ExitCode.FINDINGS if outcome.needs_person else ExitCode.OK

    made: Callable[..., ExitCode] = run
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


def _tell(outcome: Outcome, written: list[str]) -> None:
    for source in outcome.sources:
        if source.failure:
            write(labelled("error", f"{source.name}: {source.failure}", sys.stdout), sys.stdout)
            continue
        write(f"{visible(source.name)}: {account(source.lines)}", sys.stdout)
        for draft in source.drafts:
            head, *more = proof_words(outcome.proofs.get(draft.id))
            write(visible(f"  {draft.id}  {draft.written}  {head}"), sys.stdout)
            for line in [*more, *(f"{note.code}: {note.text}" for note in draft.notes)]:
                write(visible(f"    {line}"), sys.stdout)
        for row in source.lines:
            if row.kind is LineKind.UNTRANSLATED:
                words = f"line {row.number} is not translated ({row.code}): {row.reason}; to do: {row.to_do}"
                write(labelled("warning", words, sys.stdout), sys.stdout)
        for note in source.notes:
            write(labelled("warning" if note.needs_person else "note", note.text, sys.stdout), sys.stdout)
    for line in outcome.seen:
        write(labelled("log", line, sys.stdout), sys.stdout)
    for name in written:
        write(labelled("ok", f"wrote {name}", sys.stdout), sys.stdout)
