"""The memory store's part of the claim loop: due records, each written as soon as it is decided."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from foliot.model.attempt import Attempt
from foliot.model.damage import Damage
from foliot.model.decision import Decision
from foliot.model.state import Node, Record
from foliot.stores.claim_loop import DueJobs, Page
from foliot.stores.memory.due import DueIndex

_Place = tuple[datetime | None, str]


class DueRecord:
    """A due record, and its decision."""

    is_unknown_here = False

    def __init__(self, record: Record) -> None:
        self.key = record.job.key
        self.record: Record | None = record
        self.damage: Damage | None = None
        self.place: _Place = record.state.wake_at, self.key


class DueRecords(DueJobs[DueRecord]):
    """The records that one claim takes out of the index; `put_back` returns those that are still due."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it works with
        self,
        index: DueIndex,
        node: Node,
        now: datetime,
        has_run: Callable[[Attempt], bool],
        decide: Callable[[DueRecord, Callable[[Record], Decision]], Decision | None],
        full_groups: tuple[str, ...] = (),
    ) -> None:
        self._index = index
        self._node = node
        self._now = now
        self._has_run = has_run
        self._decide = decide
        self._full_groups = full_groups
        self._taken: list[str] = []

    def due(self, queue: str, count: int, after: _Place | None) -> Page[DueRecord]:
        if after is None:
            self.put_back()
        found: list[DueRecord] = []
        while len(found) < count:
            record = self._index.pop(queue, self._node.kinds, self._now)
            if record is None:
                break
            job = DueRecord(record)
            self._taken.append(job.key)
            if after is None or job.place > after:
                found.append(job)
        return Page(found)

    def put_back(self) -> None:
        """Put records back into the index, with their new state."""
        taken, self._taken = self._taken, []
        for key in taken:
            self._index.push_again(key)

    def sign(self, queue: str) -> tuple[str, str, tuple[str, ...] | None, tuple[str, ...]]:
        """A group with free places is searched again from its longest due job."""
        return self._node.id, queue, self._node.kinds, self._full_groups

    def has_run(self, job: DueRecord, attempt: Attempt) -> bool:  # noqa: ARG002 - an attempt names its job
        return self._has_run(attempt)

    def decide(self, job: DueRecord, ask: Callable[[Record], Decision]) -> Decision | None:
        return self._decide(job, ask)
