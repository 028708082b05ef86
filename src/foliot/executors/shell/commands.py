"""Shell commands in one folder: `Foliot(…, executors={"command": commands_in(folder)})`."""

from __future__ import annotations

from pathlib import Path

from foliot.executors.place import ExecutorPlace, MakeExecutor
from foliot.executors.shell.executor import ShellExecutor
from foliot.protocols import Run


class _Folder:
    """A workplace that is the same for all runs, and stays."""

    revision = ""

    def __init__(self, path: Path) -> None:
        self.path = path

    def enter(self, run: Run) -> _Folder:
        del run
        return self

    def leave(self, run: Run) -> None:
        """Nothing was made for it."""


def commands_in(folder: str | Path) -> MakeExecutor:
    """What makes an executor of shell commands; an action has `run`, and may have `env`, `working_dir`."""
    path = Path(folder).absolute()

    def make(place: ExecutorPlace) -> ShellExecutor:
        # If the node shows no life for so long, what it runs is ended before others declare the node dead.
        return ShellExecutor(_Folder(path), leash=place.lease / 3)

    return make
