"""Measuring in a process of its own: how it is started, and how it tells what it found.

A child prints one line of JSON to stdout when it is done. While it works it may print lines
`progress DONE OF` to stderr; all else there is shown if it fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
TOO_LATE = "too late"
OnProgress = Callable[[float], None]


class ChildError(Exception):
    """A measurement that ended without an answer."""


class MissingError(ChildError):
    """What was to be measured is not installed."""


def run_child(
    module: str, *arguments: object, on_progress: OnProgress, interpreter: str = sys.executable
) -> dict[str, Any]:
    """The answer of a module that is run as a program."""
    command = [interpreter, "-m", module, *map(str, arguments)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        if child.stderr is None or child.stdout is None:
            raise ChildError(module)
        said = [line for line in child.stderr if not _is_progress(line, on_progress)]
        answer = child.stdout.read()
    if child.returncode:
        last = said[-1].strip() if said else f"exit code {child.returncode}"
        if last.startswith("ModuleNotFoundError"):
            raise MissingError(last)
        raise ChildError(f"{module}: {''.join(said[-15:])}")
    found: dict[str, Any] = json.loads(answer)
    return found


def _is_progress(line: str, on_progress: OnProgress) -> bool:
    word, *numbers = line.split() or [""]
    if word != "progress":
        return False
    done, total = map(int, numbers)
    on_progress(done / max(1, total))
    return True


def tell_progress(done: int, total: int) -> None:
    """In the child: how far it is."""
    print("progress", done, total, file=sys.stderr, flush=True)


def answer(found: dict[str, Any]) -> None:
    """In the child: what it found."""
    print(json.dumps(found), flush=True)
