"""`foliot cron`: when an expression fires, what it means, and what is wrong with it."""

from __future__ import annotations

import sys
from datetime import datetime

import click

from foliot.cli.cron_options import start_instant, takes_rule, takes_start
from foliot.cli.cron_report import (
    HEADINGS,
    LEGEND,
    STYLES,
    Shown,
    finding_facts,
    occurrence_facts,
    occurrence_rows,
    occurrences_after,
    rule_facts,
)
from foliot.cli.exit_code import ExitCode
from foliot.cli.output import labelled, visible, write, write_json, write_table
from foliot.schedules.cron import Cron
from foliot.schedules.explain import explain
from foliot.schedules.lint import lint

_MOST_OCCURRENCES = 10_000
_EXIT_CODES = """
\b
Exit codes:
  0  all is well    2  wrong usage    3  invalid expression or time zone
"""


@click.group(
    short_help="Ask about a cron expression.",
    invoke_without_command=True,
    epilog="""
\b
Put EXPR in quotes, or the shell will expand its asterisks:
  foliot cron next "*/5 9-17 * * MON-FRI" --tz Europe/Berlin
  foliot cron explain "0 0 29 2 *"
  foliot cron check "30 2 * * *" --tz local
"""
    + _EXIT_CODES,
)
@click.pass_context
def cron(context: click.Context) -> None:
    """Ask about a cron expression: when it fires, what it means, what is wrong."""
    if context.invoked_subcommand is None:
        write(context.get_help(), sys.stdout)


@cron.command(
    name="next",
    epilog="""
\b
Examples:
  foliot cron next "*/5 9-17 * * MON-FRI" --tz Europe/Berlin
  foliot cron next "*/15 * * * * *" --dialect seconds -n 3
  foliot cron next "30 2 * * *" --tz Europe/Berlin --from 2026-10-24 -o json
"""
    + _EXIT_CODES,
)
@click.option(
    "-n",
    "--count",
    type=click.IntRange(1, _MOST_OCCURRENCES),
    default=5,
    show_default=True,
    metavar="N",
    help="How many occurrences to show.",
)
@takes_start("Start after this time (ISO 8601); without an offset it is in ZONE.  [default: now]")
@takes_rule
def show_next(rule: Cron, *, count: int, start: datetime | None, as_json: bool) -> ExitCode:
    """Show the next occurrences of EXPR.

    Each is shown as the wall time of its zone, in UTC, and as the wait from the start. EXPR is a
    cron expression, in quotes: minute, hour, day, month, weekday; or a macro such as @daily or
    "@every 90s".
    """
    begin = start_instant(start, rule)
    occurrences = occurrences_after(rule, begin, count)
    if as_json:
        facts = [occurrence_facts(occurrence, begin) for occurrence in occurrences]
        write_json({**rule_facts(rule), "from": begin, "occurrences": facts})
        return ExitCode.OK
    if occurrences:
        _write_table(occurrences, begin)
    if len(occurrences) < count:
        write("No occurrence follows before the end of the calendar, in the year 9999.", sys.stdout)
    return ExitCode.OK


def _write_table(occurrences: list[Shown], begin: datetime) -> None:
    has_notes = any(at.fold for at, _ in occurrences)
    columns = len(HEADINGS) if has_notes else len(HEADINGS) - 1
    rows = [row[:columns] for row in occurrence_rows(occurrences, begin)]
    write_table(HEADINGS[:columns], rows, STYLES[:columns])
    if has_notes:
        write(LEGEND, sys.stdout)


@cron.command(
    name="explain",
    epilog="""
\b
Examples:
  foliot cron explain "*/5 9-17 * * MON-FRI" --tz Europe/Berlin
  foliot cron explain "@every 90s" -o json
"""
    + _EXIT_CODES,
)
@takes_rule
def show_explanation(rule: Cron, *, as_json: bool) -> ExitCode:
    """Say in words what EXPR means.

    EXPR is a cron expression, in quotes.
    """
    if as_json:
        write_json({**rule_facts(rule), "explanation": explain(rule), "canonical": rule.canonical})
    else:
        write(visible(explain(rule)), sys.stdout)
    return ExitCode.OK


@cron.command(
    name="check",
    epilog="""
\b
Examples:
  foliot cron check "0 9 * * 1-5"
  foliot cron check "30 2 * * *" --tz Europe/Berlin --strict
  foliot cron check "0 9 * * 1-5" --dialect posix -o json
"""
    + _EXIT_CODES
    + "  9  a warning, with --strict",
)
@click.option("--strict", is_flag=True, help="Exit with 9 if there is a warning.")
@takes_start("Look for trouble after this time (ISO 8601).  [default: now]")
@takes_rule
def check(rule: Cron, *, strict: bool, start: datetime | None, as_json: bool) -> ExitCode:
    """Check EXPR, and warn of what may surprise.

    A wrong expression is shown with the place of the fault and what would be right. A valid one is
    explained, with warnings and notes: hours that the clocks leave out or repeat, uneven steps,
    days that few months have. EXPR is a cron expression, in quotes.
    """
    begin = start_instant(start, rule)
    findings = lint(rule, begin)
    if as_json:
        facts = {"ok": True, **rule_facts(rule), "explanation": explain(rule), "canonical": rule.canonical}
        write_json({**facts, "findings": [finding_facts(finding) for finding in findings]})
    else:
        lines = [labelled("ok", explain(rule), sys.stdout)]
        lines += (labelled(finding.severity, finding.message, sys.stdout) for finding in findings)
        write("\n".join(lines), sys.stdout)
    has_warning = any(finding.severity == "warning" for finding in findings)
    return ExitCode.FINDINGS if strict and has_warning else ExitCode.OK
