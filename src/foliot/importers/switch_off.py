"""Commands that switch old entries off, as a report proposes them: each word quoted, each on one line.

Names of files are input like any other: one with a line break or a semicolon must add no command.
"""

from __future__ import annotations

import shlex
from pathlib import Path


def command(*words: str) -> str:
    """A line for the shell. A name that is not printable gives a comment: a person must look at it."""
    line = shlex.join(words)
    return line if line.isprintable() else f"# by hand, because a name is not printable: {one_line(line)}"


def put_aside(path: Path) -> str:
    """How a file is renamed, so that cron does not read it."""
    name = f"./{path}" if str(path).startswith("-") else str(path)
    return command("mv", name, f"{name}.before-foliot")


def one_line(text: str) -> str:
    """A text that cannot begin a line."""
    return "".join(c if c.isprintable() else "?" for c in text)
