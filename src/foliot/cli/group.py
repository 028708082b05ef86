"""How the groups of commands are made."""

from __future__ import annotations

import sys
from typing import Any

import click

from foliot.cli.output import write
from foliot.errors import shorten

_EXIT_CODES = {
    0: "all is well",
    1: "an error",
    2: "wrong usage",
    3: "invalid store URL",
    4: "not found",
    6: "the store cannot be reached",
    8: "the run failed",
    9: "something is wrong: see what it prints",
}
_ALWAYS = (0, 1, 2, 3, 6)  # of a command that uses a store


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
        epilog=epilog(examples, *_EXIT_CODES),
    )


def epilog(examples: str, *more: int) -> str:
    """Examples, and the exit codes that the command can end with: those of every command, and some more."""
    lines = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    codes = "\n".join(f"  {code}  {_EXIT_CODES[code]}" for code in sorted({*_ALWAYS, *more}))
    return f"\b\nExamples:\n{lines}\n\n\b\nExit codes:\n{codes}\n"
