"""The executor of a repository's jobs: shell commands, but only those whose files are here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from foliot.executors.shell.executor import ShellExecutor, Workplace
from foliot.model.job import Job
from foliot.sources.git.snapshots import Snapshots


class RepositoryExecutor(ShellExecutor):
    """A job that another node has declared from a revision that was not pulled here yet is left to others."""

    def __init__(
        self,
        workplace: Workplace,
        snapshots: Snapshots,
        on_passed_over: Callable[[Sequence[Job]], None],
        **settings: Any,
    ) -> None:
        super().__init__(workplace, **settings)
        self._snapshots = snapshots
        self._on_passed_over = on_passed_over

    def fits(self, job: Job) -> bool:
        """Whether the files that belong to it are here, and it may run as its user here."""
        return self.run_as.refusal(job.action.data) is None and self._snapshots.has(job)

    def on_passed_over(self, jobs: Sequence[Job]) -> None:
        self._on_passed_over(jobs)
