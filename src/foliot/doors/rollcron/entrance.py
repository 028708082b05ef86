"""The way of runs to their files: if they are not there, the repository is pulled anew."""

from __future__ import annotations

from collections.abc import Callable

from foliot.errors import FoliotError
from foliot.executors.shell.executor import Workplace
from foliot.executors.shell.order import Place
from foliot.protocols import Run


class Entrance:
    """Stands before a workplace; `on_missing` is told when a run finds no place."""

    def __init__(self, workplace: Workplace, on_missing: Callable[[], None]) -> None:
        self._workplace = workplace
        self._on_missing = on_missing

    def enter(self, run: Run) -> Place:
        """The place of a run."""
        try:
            return self._workplace.enter(run)
        except FoliotError:
            self._on_missing()
            raise

    def leave(self, run: Run) -> None:
        """The run has ended."""
        self._workplace.leave(run)
