"""The seam of sources: where jobs come from. It stands beside those of `protocols`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from foliot.model.query import RulePage
from foliot.model.version import Revision, Version
from foliot.model.view import SourceView


class SourceStore(Protocol):
    """Lists the sources that declare jobs, and keeps their status. Every store of ours is one."""

    async def sources(self) -> tuple[SourceView, ...]:
        """The sources that were reconciled, or whose status was written, in the order of their names."""
        ...

    async def revisions(self, source: str, limit: int = 100) -> tuple[Revision, ...]:
        """The last revisions of a source, the newest first; 100 are kept, if `keeps_revisions(source)`."""
        ...

    async def versions(self, job: str) -> tuple[Version, ...]:
        """The definitions of a job, the newest first: the present one, and up to 20 earlier ones.

        `reconcile` keeps each definition that it changes or removes.
        """
        ...

    async def write_source_status(self, source: str, status: str) -> None:
        """Write the status of a source. It replaces the former status."""
        ...

    async def restore_source(
        self, source: str, reconciled_at: datetime | None, revisions: Sequence[Revision]
    ) -> None:
        """Restore the time and the revisions of a source that was copied from another store.

        The revisions come the newest first. The source must be known; its present revision stays as it is.
        """
        ...

    async def forget_source(self, source: str, revision: str | None) -> bool:
        """Forget a source, but not its jobs, if it is still at that revision. Returns whether it was."""
        ...


@runtime_checkable
class CountsRules(Protocol):
    """A store that counts the definitions of jobs by itself, instead of giving them one by one."""

    async def rules(self, source: str | None, after: str, most: int) -> RulePage:
        """How many jobs that are on have each definition, of the next `most` jobs after a key."""
        ...


@runtime_checkable
class TellsOutcomes(Protocol):
    """A store that tells at once how the last attempts of several jobs ended."""

    async def outcomes(self, jobs: Collection[str], most: int) -> Mapping[str, tuple[str, ...]]:
        """The outcomes of the last attempts of each job, the newest first; of an open one, its state.

        Jobs without an attempt are left out.
        """
        ...
