"""The command `rollcron`, as those who know it call it: `rollcron [OPTIONS] [REPO]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta

import click

from foliot.cli.exit_code import ExitCode
from foliot.cli.group import with_checked_texts
from foliot.cli.main import run_command
from foliot.cli.serve import interval_option, run_daemon
from foliot.daemon.serve import Serving
from foliot.observability.log_format import configure_logging


@click.command(name="rollcron", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("repository", metavar="[REPO]", default=".")
@interval_option("Pull interval.")
@click.option("--follow-rewrites", is_flag=True, help="Follow a branch whose history was rewritten.")
def rollcron(*, repository: str, interval: int, follow_rewrites: bool) -> ExitCode:
    """Follow a git repository and run the jobs of its rollcron.yaml.

    REPO is a path to a local repository, or a remote URL.  [default: .]
    """
    configure_logging()
    serving = Serving(
        repository=repository,
        interval=timedelta(seconds=interval),
        follow_rewrites=follow_rewrites,
        program="rollcron",
    )
    return run_daemon(serving)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the answer."""
    return run_command(with_checked_texts(rollcron), sys.argv[1:] if arguments is None else arguments)
