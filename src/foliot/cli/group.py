"""How the groups of commands are made."""

from __future__ import annotations

import sys

import click

from foliot.cli.output import write

EXIT_CODES = """
\b
Exit codes:
  0  all is well      3  invalid store URL     8  the run failed
  1  an error         4  no such job or run    9  findings
  2  wrong usage      6  store unreachable
"""


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
