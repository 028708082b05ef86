"""More stores with one mistake each: about definitions that have changed, and what comes with a request."""

from __future__ import annotations

from collections.abc import Iterable

from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.version import Revision, Version
from foliot.stores.memory import MemoryStore


class KnowsThePresentOnly(MemoryStore):
    """Overwrites definitions."""

    async def versions(self, job: str) -> tuple[Version, ...]:
        return (await super().versions(job))[:1]


class ForgetsWhoReplacedIt(MemoryStore):
    """Keeps definitions, and not the revision that ended each."""

    async def versions(self, job: str) -> tuple[Version, ...]:
        return tuple(version._replace(replaced_by=None) for version in await super().versions(job))


class StartsWithoutVersion(MemoryStore):
    """Attempts do not know the definition that started them."""

    def _write(self, job: Job, decision: Decision) -> None:
        attempts = tuple(attempt._replace(version=0) for attempt in decision.attempts)
        super()._write(job, decision._replace(attempts=attempts))


class DropsPayloads(MemoryStore):
    """An attempt that has ended has no payload any more."""

    def _write(self, job: Job, decision: Decision) -> None:
        attempts = tuple(a if a.is_open else a._replace(payload=None) for a in decision.attempts)
        super()._write(job, decision._replace(attempts=attempts))


class ForgetsReasons(MemoryStore):
    """Keeps that a job is paused, and not why."""

    def _write(self, job: Job, decision: Decision) -> None:
        super()._write(job, decision._replace(state=decision.state._replace(paused_reason=None)))


class PausesForGood(MemoryStore):
    """Keeps that a job is paused, and not until when."""

    def _write(self, job: Job, decision: Decision) -> None:
        super()._write(job, decision._replace(state=decision.state._replace(paused_until=None)))


class KeepsItsOwnTime(MemoryStore):
    """A copied source has the time of its copy."""

    async def restore_source(self, source: str, reconciled_at: object, revisions: Iterable[Revision]) -> None:
        del reconciled_at
        await super().restore_source(source, self._clock.now(), revisions)
