"""The command `rollcron`: for now, an honest answer."""

from __future__ import annotations

import sys

MESSAGE = """\
rollcron: this version of Foliot has no rollcron daemon yet; it comes with a later version.
What is here: `foliot cron --help` reads, explains and checks cron expressions."""


def main() -> int:
    """Say that there is no daemon yet; only a call for help is a success."""
    asks_for_help = not {"-h", "--help"}.isdisjoint(sys.argv[1:])
    print(MESSAGE, file=sys.stdout if asks_for_help else sys.stderr)
    return 0 if asks_for_help else 1
