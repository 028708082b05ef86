"""Finds the jobs that are ahead of a clock that was set back by hours, and has them go on from now.

Nobody looks at a job before its time, and its time is far away. So when a node notices that the store's clock
was set back, it goes through all jobs once, a page at a time, beside its work. A node that starts cannot have
noticed; but then the newest run of the store is one of a time to come. What is to be done about a job is the
planner's to say (`plan_set_back`), so it does no harm that several nodes do this at once, or twice.
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
    """One of the services of a node. `tell` is told what was corrected, and `woken` is set."""

    def __init__(
        self, store: Store, store_clock: StoreClock, pause: timedelta, tell: Tell, woken: asyncio.Event
    ) -> None:
        self._store = store
        self._store_clock = store_clock
        self._pause = pause
        self._tell = tell
        self._woken = woken
        self._is_new = True
        self._after: str | None = None  # the key of the job to go on after; None: there is nothing to do

    async def turn(self) -> timedelta:
        """Look at a page of jobs, if the clock was set back; how long to wait for the next turn."""
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
