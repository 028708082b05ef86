"""The seam of sources: where jobs come from. It stands beside those of `protocols`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from foliot.model.version import Revision, Version
from foliot.model.view import SourceView


class SourceStore(Protocol):
    """Tells which sources declare jobs, and keeps how they fare. Every store of ours is one."""

    async def sources(self) -> tuple[SourceView, ...]:
        """The sources that were reconciled, or whose status was written, in the order of their names."""
        ...

    async def revisions(self, source: str, limit: int = 100) -> tuple[Revision, ...]:
        """The last revisions of a source, the newest first; 100 are kept, if `keeps_revisions(source)`."""
        ...

    async def versions(self, job: str) -> tuple[Version, ...]:
        """The definitions that a job has had, the newest first: the present one, and those that are kept.

        A definition that `reconcile` changes or removes is kept; 20 of each job are.
        """
        ...

    async def write_source_status(self, source: str, status: str) -> None:
        """Keep how a source fares, in the place of what was kept before."""
        ...

    async def restore_source(
        self, source: str, reconciled_at: datetime | None, revisions: Sequence[Revision]
    ) -> None:
        """Put what a copied source had in the place of what its copy has: its time, and its revisions.

        The revisions come the newest first. The source must be known; its present revision stays as it is.
        """
        ...

    async def forget_source(self, source: str, revision: str | None) -> bool:
        """Forget a source, but none of its jobs, if it is at that revision still; whether it was."""
        ...
