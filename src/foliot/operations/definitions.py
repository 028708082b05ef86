"""Adds, changes and removes single jobs: for `app.schedule`, and for the API.

Callers at the same time share one write, and so one wait for the disk. A caller's check runs inside the
store's step, so nothing can change between the check and the write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import uuid4

from foliot.engine.plan_definition import PlanDeclared, plan_declared, plan_removed
from foliot.errors import StaleRevisionError, StoreUnavailableError
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.operations.effect import Effect, effect_of
from foliot.protocols import Changes, JobQuery, JobView
from foliot.wiring import FullStore

Check = Callable[
    [str, Record | None], None
]  # gets a key and the stored job; raises if it must not be changed


class Defined(NamedTuple):
    """The effect of a change of a definition, and the job afterwards."""

    effect: Effect
    view: JobView


class _Asked(NamedTuple):
    """A change that waits to be written. `defined` is filled if there is a check."""

    changes: Changes
    check: Check | None
    defined: dict[str, Defined]
    done: asyncio.Future[None]

    @property
    def names(self) -> set[str]:
        """The jobs that it is about."""
        return {*(job.name for job in self.changes.declared), *self.changes.removed}


class Definitions:
    """The jobs of one source. `handle_events` gets the events. Revisions begin with `mark`."""

    def __init__(
        self,
        store: Callable[[], Awaitable[FullStore]],
        source: str,
        handle_events: Callable[[Sequence[Event]], None],
        mark: str,
    ) -> None:
        self._store, self._source, self._handle_events, self._mark = store, source, handle_events, mark
        self._waiting: list[_Asked] = []
        self._writing: asyncio.Task[None] | None = None

    async def change(self, changes: Changes, check: Check | None = None) -> Mapping[str, Defined]:
        """Declare and remove jobs, all or nothing. With a check it returns the result of each job."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asked = _Asked(changes, check, {}, done)
        self._waiting.append(asked)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write())  # its own task: a caller may be cancelled
        await done
        return asked.defined

    async def preview(self, changes: Changes, check: Check) -> Mapping[str, Defined]:
        """What `change` would answer. Nothing is written."""
        store = await self._store()
        keys = [*(job.key for job in changes.declared), *(f"{self._source}/{n}" for n in changes.removed)]
        query = JobQuery(keys=frozenset(keys), with_removed=True, limit=len(keys))
        found = {view.key: view.record for view in await store.jobs(query)}
        asked = _Asked(changes, check, {}, asyncio.get_running_loop().create_future())
        plan = _Plan([asked], self._source, await store.now(), is_dry_run=True)
        for job in changes.declared:
            plan.declared(job, found.get(job.key))
        for name in changes.removed:
            if (record := found.get(f"{self._source}/{name}")) is not None:
                plan.removed(record)
        return asked.defined

    async def _write(self) -> None:
        while self._waiting:
            together, self._waiting = _split(self._waiting)
            await self._change_together(together)

    async def _change_together(self, waiting: list[_Asked]) -> None:
        try:
            await self._reconcile(waiting)
        except Exception as error:  # noqa: BLE001 - handed to the callers that wait
            if len(waiting) > 1 and not isinstance(error, StoreUnavailableError):
                for one in waiting:  # one caller caused the error: try each alone
                    await self._change_together([one])
                return
            for asked in waiting:
                if not asked.done.done():
                    asked.done.set_exception(error)
        else:
            for asked in waiting:
                if not asked.done.done():
                    asked.done.set_result(None)

    async def _reconcile(self, waiting: list[_Asked]) -> None:
        together = Changes(
            tuple(job for asked in waiting for job in asked.changes.declared),
            tuple(name for asked in waiting for name in asked.changes.removed),
        )
        store = await self._store()
        base = await store.revision(self._source)
        has_checks = any(asked.check for asked in waiting)
        while True:
            now = await store.now()
            plan = _Plan(waiting, self._source, now, is_dry_run=False)
            try:
                events = await store.reconcile(
                    self._source,
                    base,
                    f"{self._mark}-{uuid4().hex}",
                    together,
                    declared=plan.declared if has_checks else PlanDeclared(now),
                    removed=plan.removed,
                )
            except StaleRevisionError as stale:  # another process was faster; try again
                base = stale.details["found"]
            else:
                self._handle_events(events)
                return


def _split(waiting: list[_Asked]) -> tuple[list[_Asked], list[_Asked]]:
    """The changes that can be written together, and the rest.

    A check sees the store before the write, so two changes with a check must not concern the same job.
    """
    together, later, names = list[_Asked](), list[_Asked](), set[str]()
    for asked in waiting:
        own = set[str]() if asked.check is None else asked.names
        is_like = not together or (together[0].check is None) == (asked.check is None)
        if is_like and names.isdisjoint(own):
            together.append(asked)
            names |= own
        else:
            later.append(asked)
    return together, later


class _Plan:
    """Calls the checks, then the planner, and notes the results."""

    def __init__(self, waiting: Sequence[_Asked], source: str, now: datetime, *, is_dry_run: bool) -> None:
        self._now, self._is_dry_run = now, is_dry_run
        self._asked = {f"{source}/{name}": asked for asked in waiting for name in asked.names}

    def declared(self, job: Job, record: Record | None) -> Decision:
        """A job is declared."""
        self._check(job.key, record)
        decision = plan_declared(job, record, self._now)
        self._note("declare", decision.job or job, record, decision)
        return decision

    def removed(self, record: Record) -> Decision:
        """A job is removed."""
        self._check(record.job.key, record)
        decision = plan_removed(record, self._now)
        self._note("remove", record.job, record, decision)
        return decision

    def _check(self, key: str, record: Record | None) -> None:
        if (check := self._asked[key].check) is not None:
            check(key, record)

    def _note(self, command: str, job: Job, record: Record | None, decision: Decision) -> None:
        asked = self._asked[job.key]
        if asked.check is None:
            return
        state, attempts = (decision.state, ()) if record is None else (record.state, record.attempts)
        before = Record(job, state, attempts)
        effect = effect_of(command, before, decision, self._now, is_dry_run=self._is_dry_run)
        changed = {attempt.key: attempt for attempt in (*before.attempts, *decision.attempts)}
        still_open = tuple(attempt for attempt in changed.values() if attempt.is_open)
        view = JobView(job.key, Record(job, decision.state, still_open))
        asked.defined[job.key] = Defined(effect, view)
