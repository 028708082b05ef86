"""How the groups of commands are made."""

from __future__ import annotations

import sys
from typing import Any

import click

from foliot.cli.output import write
from foliot.errors import shorten

EXIT_CODES = """
\b
Exit codes:
  0  all is well      3  invalid store URL     8  the run failed
  1  an error         4  no such job or run    9  findings
  2  wrong usage      6  store unreachable
"""


class _Text(click.types.StringParamType):
    """A text that can be written, stored and shown: the shell hands on any bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text; a usage error that names the argument if it is none."""
        text = super().convert(value, param, ctx)
        if any("\ud800" <= character <= "\udfff" for character in text):
            self.fail(f"{shorten(text)} is not UTF-8", param, ctx)
        return text


def with_checked_texts(command: click.Command) -> click.Command:
    """The command, and those below it: their texts are checked. Paths may have any name."""
    for param in command.params:
        if type(param.type) is click.types.StringParamType:
            param.type = _Text()
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            with_checked_texts(inner)
    return command


def make_group(name: str, summary: str, text: str, examples: str) -> click.Group:
    """A group that shows its help if no command is given."""

    @click.pass_context
    def show_help(context: click.Context) -> None:
        if context.invoked_subcommand is None:
            write(context.get_help(), sys.stdout)

    return click.Group(
        name,
        callback=show_help,
        help=text,
        short_help=summary,
        invoke_without_command=True,
        epilog=epilog(examples),
    )


def epilog(examples: str) -> str:
    """Examples and exit codes, as they stand under each help text."""
    lines = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    return f"\b\nExamples:\n{lines}\n{EXIT_CODES}"
