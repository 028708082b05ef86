"""The way of runs to their files: if they are not there, the repository is pulled anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from foliot.errors import FoliotError
from foliot.executors.shell.executor import Workplace
from foliot.executors.shell.order import Place
from foliot.executors.shell.run_as import RunAs, open_way
from foliot.protocols import Run


class Entrance:
    """Stands before a workplace; `on_missing` is told when a run finds no place.

    A run of another user finds its directory opened for that user.
    """

    def __init__(
        self, workplace: Workplace, on_missing: Callable[[], None], cache: Path, run_as: RunAs
    ) -> None:
        self._workplace = workplace
        self._on_missing = on_missing
        self._cache = cache
        self._run_as = run_as

    def enter(self, run: Run) -> Place:
        """The place of a run."""
        user = self._run_as.identity(run.job.action.data)
        try:
            place = self._workplace.enter(run)
        except FoliotError:
            self._on_missing()
            raise
        if user is not None:
            open_way(place.path, self._cache, user.gid)
        return place

    def leave(self, run: Run) -> None:
        """The run has ended."""
        self._workplace.leave(run)
