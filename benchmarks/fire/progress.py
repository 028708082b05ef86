"""A progress bar on a terminal; otherwise a line for each step.

The bar is drawn here, while what is measured runs in processes of its own; twice a second is often enough.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from benchmarks.fire.child import OnProgress


class Steps:
    """Tells which step is under way, and how far."""

    def __init__(self, progress: Progress | None, count: int) -> None:
        self._progress = progress
        self._count = count
        self._number = 0
        self._task = None if progress is None else progress.add_task("", total=1.0)

    def begin(self, words: str) -> OnProgress:
        """The next step; what is returned is told the part of it that is done."""
        self._number += 1
        text = f"[{self._number}/{self._count}] {words}"
        if self._progress is None or self._task is None:
            print(text, file=sys.stderr, flush=True)
            return lambda _: None
        progress, task = self._progress, self._task
        progress.reset(task, description=text, total=1.0)
        return lambda part: progress.update(task, completed=part)


@contextmanager
def shown(count: int) -> Iterator[Steps]:
    """Steps, so many of them."""
    if not sys.stderr.isatty():
        yield Steps(None, count)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=2) as progress:
        yield Steps(progress, count)
