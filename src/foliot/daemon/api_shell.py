"""Commands that were declared over the REST API, on a node whose operator allows them: `--allow-api-shell`.

They run in an empty directory of their own, and get no secrets of the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from foliot.app.part import Workplace
from foliot.executors.shell.executor import ShellExecutor
from foliot.protocols import Executor, Run

KIND = "shell"  # of no repository: those of a repository are `shell:NAME`


class _Place(NamedTuple):
    """The directory of all these commands, which is of no revision."""

    path: Path
    revision: str = ""

    def enter(self, run: Run) -> _Place:  # noqa: ARG002 - all runs share it
        """The place of a run."""
        return self

    def leave(self, run: Run) -> None:
        """There is nothing to let go of."""


class ApiShell:
    """A part of the application that brings the executor of these commands."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._executor: ShellExecutor | None = None

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """Make the directory, and be ready to run."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._executor = ShellExecutor(
            _Place(self._folder),
            follow_log=host.follow_log,
            environment=self._environment,
            leash=host.lease / 3,
        )
        return {KIND: self._executor}

    async def live(self) -> None:
        """Runs are the engine's."""

    async def close(self) -> None:
        """End what still runs."""
        if self._executor is not None:
            await self._executor.close()

    def title(self, job: str) -> None:
        """Jobs of the API are told of by their keys."""
