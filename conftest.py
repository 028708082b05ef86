"""What all tests share: plugins, and Hypothesis' settings; and how the documentation is tested.

Every snippet in the documentation is run: Python blocks as code, console blocks as commands.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

pytest_plugins = ["ledger", "real_postgres", "real_redis", "real_mongodb"]  # of the folder tests

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=5000)
# CI tries the same examples each time: a change lands or does not by what is in it, and by nothing else.
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts us in the background has us ignore interrupts. The programs that tests start would
    # inherit that, and those that a test interrupts would never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)

BIN = Path(sys.executable).parent


def run_console(example: Example) -> str | None:
    """Run each line after a `$` and compare what it prints with the lines below it."""
    for session in example.parsed.split("$ ")[1:]:
        command, _, expected = session.partition("\n")
        words = shlex.split(command)
        done = subprocess.run(  # noqa: S603 - commands of our own documentation
            [str(BIN / words[0]) if (BIN / words[0]).exists() else words[0], *words[1:]],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": f"{BIN}:/usr/bin:/bin", "COLUMNS": "100", "NO_COLOR": "1", "TZ": "UTC"},
        )
        printed = (done.stdout + done.stderr).strip()
        if _lines(printed) != _lines(expected.strip()):
            return f"{command}\n--- documented\n{expected}\n--- printed\n{printed}\n"
    return None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


class ConsoleParser(CodeBlockParser):
    """Blocks of language `console`."""

    language = "console"

    def evaluate(self, example: Example) -> str | None:
        return run_console(example)


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), ConsoleParser(), SkipParser()],
    patterns=["*.md"],
    excludes=["CHANGELOG.md", "docs/adr/*.md"],
).pytest()
