"""What the memory store keeps of definitions that jobs had before."""

from __future__ import annotations

from collections import deque

from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.model.version import (
    KEPT_VERSIONS,
    Change,
    Version,
    all_versions,
    change_of,
    ended_version,
)


class Versions:
    """The definitions of all jobs that were replaced."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[Version]] = {}  # the newest first

    def note(self, record: Record | None, decision: Decision, revision: str) -> Change:
        """Keep the definition that a decision ends, if it ends one; what the decision does to the job."""
        if record is None:
            return change_of(None, decision)
        ended = ended_version(record, decision, revision)
        if ended is not None:
            kept = self._kept.setdefault(record.job.key, deque(maxlen=KEPT_VERSIONS))
            if not kept or kept[0].number != ended.number:
                kept.appendleft(ended)
        return change_of(record.state, decision)

    def of(self, record: Record) -> tuple[Version, ...]:
        """The definitions of a job, the newest first."""
        return all_versions(record, self._kept.get(record.job.key, ()))

    def forget(self, job: str) -> None:
        """Forget a job that was removed."""
        self._kept.pop(job, None)
