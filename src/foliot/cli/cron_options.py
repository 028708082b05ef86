"""The arguments and options that the commands of `foliot cron` share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from zoneinfo import available_timezones

import click

from foliot.cli.exit_code import ExitCode, exit_code_of
from foliot.cli.instants import read_time
from foliot.cli.output import write_error
from foliot.clock import SystemClock
from foliot.errors import FoliotError
from foliot.schedules.around import DST, Dst
from foliot.schedules.cron import Cron
from foliot.schedules.cron_syntax import DIALECTS, Dialect
from foliot.schedules.zone import load_zone

Command = Callable[..., ExitCode]


def takes_rule(command: Command) -> Command:
    """Give a command the rule that its arguments name, and `as_json`."""

    @_EXPRESSION
    @_TIMEZONE
    @_DIALECT
    @_DST
    @output_option
    @wraps(command)
    def read_rule(
        *, expression: str, timezone: str, dialect: Dialect, dst: Dst, output: str, **options: object
    ) -> ExitCode:
        as_json = output == "json"
        try:
            rule = Cron(expression, timezone=timezone, dialect=dialect, dst=dst)
        except FoliotError as error:
            # The one error handled before it reaches `main`: only here is the whole expression known.
            write_error(error, expression, as_json=as_json)
            return exit_code_of(error)
        return command(rule, as_json=as_json, **options)

    return read_rule


def takes_start(help_text: str) -> Callable[[Command], Command]:
    """Give a command the option `--from` as `start`; see `start_instant`."""
    return click.option("--from", "start", metavar="TIME", callback=read_time, help=help_text)


def start_instant(start: datetime | None, rule: Cron) -> datetime:
    """The instant that `--from` means, in the rule's zone."""
    zone = load_zone(rule.timezone)
    given = start or SystemClock().now()
    try:
        # By way of UTC, so that a wall time that the clocks leave out becomes one that they show.
        return (given if given.tzinfo else given.replace(tzinfo=zone)).astimezone(UTC).astimezone(zone)
    except OverflowError:
        context = click.get_current_context()
        message = "it lies at the very edge of the calendar"
        raise click.BadParameter(message, context, param_hint="'--from'") from None


def _one_expression(context: click.Context, _: click.Parameter, words: tuple[str, ...]) -> str:
    if len(words) == 1:
        return words[0]
    raise click.UsageError(
        f"EXPR must be one argument, and this call has {len(words)}. Put the expression in quotes: "
        f'{context.command_path} "*/5 * * * *"',
        context,
    )


def _complete_zone(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return sorted(name for name in available_timezones() | {"local"} if name.startswith(incomplete))


_EXPRESSION = click.argument(
    "expression",
    nargs=-1,
    required=True,
    metavar="EXPR",
    type=click.UNPROCESSED,  # the grammar shows the place of a byte that is no text
    callback=_one_expression,
)
_TIMEZONE = click.option(
    "--tz",
    "timezone",
    default="UTC",
    show_default=True,
    metavar="ZONE",
    shell_complete=_complete_zone,
    help="IANA time zone of the expression, or 'local' for this host's. CRON_TZ= in EXPR wins over it.",
)
_DIALECT = click.option(
    "--dialect",
    type=click.Choice(DIALECTS),
    default="standard",
    show_default=True,
    metavar="DIALECT",
    help="The cron language: standard, seconds (which may lead with a seconds field), posix (strict),"
    " celery (as Celery's crontab) or vixie (as cron reads a crontab).",
)
_DST = click.option(
    "--dst",
    type=click.Choice(DST),
    default="exact",
    show_default=True,
    metavar="DST",
    help="When the clocks are moved: exact (a time left out never runs, one that comes twice runs twice),"
    " cron, systemd, or once (each time runs once).",
)
output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    metavar="FORMAT",
    help="table, for people, or json, for programs.",
)
