"""`foliot schema`: the JSON Schema of rollcron.yaml, for editors."""

from __future__ import annotations

import json
import sys

import click

from foliot.cli.exit_code import ExitCode
from foliot.cli.output import write
from foliot.doors.rollcron.schema import schema as schema_of_file


@click.command(
    name="schema",
    short_help="Print the JSON Schema of rollcron.yaml.",
    epilog="""
\b
Examples:
  foliot schema > rollcron.schema.json

\b
The first line of rollcron.yaml then names it, for editors that know YAML:
  # yaml-language-server: $schema=rollcron.schema.json
""",
)
def schema() -> ExitCode:
    """Print the JSON Schema of rollcron.yaml.

    Editors use it to complete and check fields while you write. `foliot check` knows more: cron
    expressions, time zones and paths.
    """
    write(json.dumps(schema_of_file(), indent=2), sys.stdout)
    return ExitCode.OK
