"""The command `foliot`: the group of all commands, and the way from an error to an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise

import click

from foliot.cli.exit_code import ExitCode, exit_code_of
from foliot.cli.group import with_checked_texts
from foliot.cli.output import labelled, prepare_streams, silence, write, write_error, write_error_json
from foliot.errors import FoliotError, shorten

_EPILOG = """
\b
Examples:
  foliot init
  foliot check
  foliot plan
  foliot serve
  foliot cron next "*/5 9-17 * * MON-FRI" --tz Europe/Berlin
  foliot cron explain "@every 90s"
  foliot cron check "30 2 * * *" --tz Europe/Berlin
  foliot job list --store sqlite:///jobs.db
  foliot run list --outcome failed --store sqlite:///jobs.db

\b
Exit codes:
  0  all is well               6  the store cannot be reached
  1  an error                  8  the run failed, with --wait
  2  wrong usage               9  findings
  3  invalid file or rule    130  interrupted
  4  no such job, run, file

\b
Shell completion (bash; also zsh_source, fish_source):
  eval "$(_FOLIOT_COMPLETE=bash_source foliot)"
"""


_MODULES = {"import": "import_jobs"}  # which Python does not take for a name


class Groups(click.Group):
    """The groups of commands; each is imported when it is asked for: `foliot cron` needs no store."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Their names, those first that one begins with."""
        return [
            "serve", "beat", "api", "init", "check", "plan", "simulate", "import", "schema", "cron", "top",
            "job", "run", "alert", "node", "source", "token", "audit", "store", "health",
        ]  # fmt: skip

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """A group, from the module of its name."""
        if name not in self.list_commands(context):
            return None
        module = _MODULES.get(name, name)
        group: click.Command = getattr(import_module(f"foliot.cli.{module}"), module)
        return with_checked_texts(group)


@click.group(
    name="foliot",
    cls=Groups,
    epilog=_EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="foliot", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A durable cron for Python people."""
    if context.invoked_subcommand is None:
        write(context.get_help(), sys.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is the answer."""
    return run_command(cli, sys.argv[1:] if arguments is None else arguments)


def run_command(command: click.Command, arguments: Sequence[str]) -> int:
    """Run what was called for, and tell what is wrong if it cannot be done."""
    given = list(arguments)
    prepare_streams()
    try:
        return command.main(given, prog_name=command.name, standalone_mode=False) or ExitCode.OK
    except click.UsageError as error:
        _refuse(error, as_json=_asks_for_json(given))
        return ExitCode.USAGE
    except FoliotError as error:
        write_error(error, None, as_json=_asks_for_json(given))
        return exit_code_of(error)
    except click.Abort:  # Ctrl-C, as click has it
        silence(sys.stdout)
        return ExitCode.INTERRUPTED
    except SystemExit:  # what click does when the reader of a help text is gone: no error
        return ExitCode.OK
    except OSError as error:
        silence(sys.stdout)
        where = f"{error.filename}: " if error.filename else ""
        write(labelled("error", f"{where}{error.strerror or error}", sys.stderr), sys.stderr)
        return ExitCode.ERROR


def _refuse(error: click.UsageError, *, as_json: bool) -> None:
    """Tell what is wrong with the call, and where to read how to call."""
    message = shorten(error.format_message())
    if as_json:
        write_error_json("UsageError", message)
        return
    lines = [labelled("error", message, sys.stderr)]
    if error.ctx:
        lines = [error.ctx.get_usage(), *lines, f"Try '{error.ctx.command_path} --help'."]
    write("\n".join(lines), sys.stderr)


def _asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether a call that could not be read as a whole asks for JSON."""
    glued = {"-ojson", "--output=json"}
    return not glued.isdisjoint(arguments) or any(
        option in ("-o", "--output") and value == "json" for option, value in pairwise(arguments)
    )
