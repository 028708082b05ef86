"""`foliot init`: the files that a new repository of jobs begins with."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from foliot.cli.exit_code import ExitCode
from foliot.cli.output import labelled, write
from foliot.doors.rollcron import FILE
from foliot.errors import FoliotError

_SCRIPT = "hello.sh"
_CONFIG = f"""\
# `foliot check` tells what is wrong; `foliot schema` lists all fields for your editor.
defaults:
  timezone: UTC        # such as Europe/Berlin; local: the zone of the daemon's host
  timeout: 10m         # then a run is ended; none: it may take as long as it likes

jobs:
  hello:
    schedule: "*/5 * * * *"
    run: ./{_SCRIPT}
"""
_HELLO = """\
#!/bin/sh
echo "hello, it is $FOLIOT_SCHEDULED_FOR"
"""
_GITHUB = """\
name: Check the jobs
on: [push, pull_request]
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.x"}
      - run: pip install foliot
      - run: foliot check --strict
"""
_GITLAB = """\
check:
  image: python:3
  script:
    - pip install foliot
    - foliot check --strict
"""
_CI: dict[str, dict[str, str]] = {
    "github": {".github/workflows/check.yml": _GITHUB},
    "gitlab": {".gitlab-ci.yml": _GITLAB},
    "none": {},
}


@click.command(
    name="init",
    short_help="Write the first files of a repository of jobs.",
    epilog="""
\b
Examples:
  foliot init ops && cd ops
  foliot check && foliot serve

\b
Exit codes:
  0  all files are written    1  one of them is there already: none is written
  2  wrong usage
""",
)
@click.argument("folder", default=".", metavar="[DIR]", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--ci",
    type=click.Choice(list(_CI)),
    default="github",
    show_default=True,
    help="Where pushes are checked.",
)
def init(folder: Path, *, ci: str) -> ExitCode:
    """Write a rollcron.yaml, a script, and a file for CI that checks every push.

    DIR is made if it is not there. Files that are there are left alone. It need not be a git repository:
    `foliot serve` follows a plain directory, too.
    """
    texts = {FILE: _CONFIG, _SCRIPT: _HELLO, **_CI[ci]}
    if there := [name for name in texts if (folder / name).exists()]:
        hint = "give another directory, or move them away"
        raise FoliotError(f"{folder / there[0]} is there already: nothing was written", hint=hint)
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name == _SCRIPT:
            path.chmod(0o755)
        write(labelled("ok", f"wrote {path}", sys.stdout), sys.stdout)
    return ExitCode.OK
