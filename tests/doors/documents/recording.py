"""A store in memory that writes down what is asked of it, and that can be told to fail; and short words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from foliot.clock import SystemClock
from foliot.doors.documents import Config, Job, JobUpdate, MemoryStore, Scheduler, Settled
from foliot.testing.clock import ManualClock

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def due(clock: ManualClock, id_: str = "a", **fields: Any) -> dict[str, Any]:
    """A document that is due."""
    return {"_id": id_, "sleepUntil": clock.now() - SECOND, **fields}


class RecordingStore(MemoryStore):
    """`told` has the verbs in their order. `failing` maps a verb to the errors of its next calls."""

    def __init__(self, clock: ManualClock, *documents: dict[str, Any]) -> None:
        super().__init__(list(documents), clock=clock)
        self.clock = clock
        self.told: list[str] = []
        self.failing: dict[str, list[Exception]] = {}

    async def lock_next(self, lock_until: datetime) -> Job | None:
        self.note("lock_next")
        return await super().lock_next(lock_until)

    async def renew(self, job: Job, held: datetime, until: datetime) -> bool:
        self.note("renew")
        return await super().renew(job, held, until)

    async def settle(self, job: Job, held: datetime, updates: JobUpdate | None) -> Settled:
        self.note("settle")
        return await super().settle(job, held, updates)

    def note(self, verb: str) -> None:
        self.told.append(verb)
        if self.failing.get(verb):
            raise self.failing[verb].pop(0)

    def at(self, id_: Any) -> Any:
        """The time of a document."""
        return next(found["sleepUntil"] for found in self.documents if found["_id"] == id_)


class ThreeVerbs:
    """A store that can do no more than the seed asks for."""

    def __init__(self, inner: MemoryStore) -> None:
        self.lock_next = inner.lock_next
        self.update = inner.update
        self.remove = inner.remove


def scheduler_on(store: RecordingStore, **options: Any) -> tuple[Scheduler, list[Exception]]:
    """A scheduler on the store's clock, and what its `on_error` is told."""
    errors: list[Exception] = []
    facts = {"store": store, "on_error": errors.append, "timezone": "UTC", "clock": store.clock}
    return Scheduler(Config(**{**facts, **options})), errors


async def until(is_true: Callable[[], bool]) -> None:
    """Give others their turns, threads too, until something is true."""
    clock = SystemClock()
    give_up_at = clock.monotonic() + 60
    while not is_true():
        assert clock.monotonic() < give_up_at, "it did not come true"
        await asyncio.to_thread(int)
