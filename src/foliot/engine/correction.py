"""After the store's clock was set back by hours, finds the jobs that are ahead of it, and corrects them.

Such a job waits for a time that is hours away, so no claim looks at it. When a node notices that the clock
was set back, it reads all jobs once, a page at a time, beside its work. A node that has just started cannot
notice the jump; it sees that the newest run of the store is in the future. The planner decides about each job
(`plan_set_back`). Several nodes may do this at once, or twice, without harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from foliot.engine.plan_set_back import is_ahead, plan_set_back
from foliot.engine.store_clock import StoreClock
from foliot.errors import CommandRefusedError, JobNotFoundError
from foliot.model.decision import Event
from foliot.model.state import CORRECTION
from foliot.protocols import JobQuery, RunQuery, Store

Tell = Callable[[Sequence[Event]], None]

_PAGE = 500
_AT_ONCE = timedelta(0)


class Correction:
    """One of the services of a node. It calls `tell` with the corrections, and sets `woken`."""

    def __init__(
        self, store: Store, store_clock: StoreClock, pause: timedelta, tell: Tell, woken: asyncio.Event
    ) -> None:
        self._store = store
        self._store_clock = store_clock
        self._pause = pause
        self._tell = tell
        self._woken = woken
        self._is_new = True
        self._after: str | None = None  # the last key that was read; None: there is nothing to do

    async def turn(self) -> timedelta:
        """Read a page of jobs, if the clock was set back. Returns how long to wait for the next turn."""
        if self._is_new and await self._has_run_ahead():
            self._after = ""
        self._is_new = False
        if self._store_clock.was_set_back():
            self._after = ""
        if self._after is None:
            return self._pause
        now = self._store_clock.now()
        views = await self._store.jobs(JobQuery(with_removed=True, after=self._after, limit=_PAGE))
        ahead = [view.key for view in views if view.record is not None and is_ahead(view.record, now)]
        events = [event for told in await asyncio.gather(*map(self._correct, ahead)) for event in told]
        self._after = views[-1].key if len(views) == _PAGE else None
        if events:
            self._tell(events)
            self._woken.set()
        return _AT_ONCE

    async def _has_run_ahead(self) -> bool:
        newest = await self._store.runs(RunQuery(limit=1))
        return any(attempt.scheduled_for > self._store_clock.now() + CORRECTION for attempt in newest)

    async def _correct(self, job: str) -> Sequence[Event]:
        now: datetime = self._store_clock.now()
        with suppress(JobNotFoundError, CommandRefusedError):  # it was removed, or set aside, meanwhile
            return (await self._store.update(job, lambda record: plan_set_back(record, now))).events
        return ()
