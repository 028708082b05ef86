"""Write a man page for each command: `python tools/man_pages.py DIRECTORY`."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import click
from click_man.core import write_man_pages

from foliot.cli.main import cli
from foliot.cli.rollcron import rollcron


def write(folder: Path) -> None:
    """All pages of both programs."""
    folder.mkdir(parents=True, exist_ok=True)
    context = click.Context(cli)
    # click-man looks into `commands`; ours are imported when they are asked for.
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None:
            cli.add_command(command, name)
    for name, program in (("foliot", cli), ("rollcron", rollcron)):
        write_man_pages(name, program, version=version("foliot"), target_dir=str(folder))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
