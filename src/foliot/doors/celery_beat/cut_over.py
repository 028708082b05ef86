"""Carries imported entries over: a job begins where the last run of its entry was, so nothing runs again.

An entry that the code of the application has, too, is declared as the code has it, in the same source: only
its last run is taken over. Others become jobs of the source `<name>.added`, as those that a program schedules
while it runs. A job that is in the store already stays as it is, however often an import is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from foliot.doors.celery_beat.entry import Entry
from foliot.doors.celery_beat.translate import Translated
from foliot.engine.plan_definition import plan_declared, plan_new, plan_removed
from foliot.errors import StaleRevisionError
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import Changes
from foliot.wiring import FullStore

_TICK = timedelta(microseconds=1)


class Move(NamedTuple):
    """An entry on its way: the job that it becomes, and up to when its occurrences count as served."""

    job: Job
    served_until: datetime | None


class Moved(NamedTuple):
    """What became of an import. `is_kept`: whether the job was in the store already, and stays as it is."""

    job: Job
    next_at: datetime | None
    is_kept: bool


def move_of(imported: Translated, code: Translated | None) -> Move:
    """What becomes of an imported entry; `code`: the entry of that name in the application's code."""
    return Move((code or imported).job, _served_until(imported.entry))


def _served_until(entry: Entry) -> datetime | None:
    start = None if entry.start_at is None else entry.start_at - _TICK
    return max(filter(None, (entry.last_run_at, start)), default=None)


def added_source(source: str) -> str:
    """The source of jobs that are added while a program runs: that of `Foliot(name=source)`."""
    return f"{source}.added"


async def cut_over(store: FullStore, moves: Sequence[Move]) -> list[Moved]:
    """Write all of them, source by source; what became of each."""
    moved: list[Moved] = []
    for source in sorted({move.job.source for move in moves}):
        moved += await _write(store, source, [move for move in moves if move.job.source == source])
    return moved


async def _write(store: FullStore, source: str, moves: Sequence[Move]) -> list[Moved]:
    base = await store.revision(source)
    while True:
        now = await store.now()
        plan = _Plan(moves, now)
        try:
            await store.reconcile(
                source,
                base,
                f"import-{uuid4().hex}",
                Changes(tuple(move.job for move in moves)),
                declared=plan,
                removed=plan.removed,
            )
        except StaleRevisionError as stale:  # another process was quicker; these are additions, so go on
            base = stale.details["found"]
        else:
            return [plan.moved[move.job.key] for move in moves]


class _Plan:
    """The planner's answer, for jobs whose past is known."""

    def __init__(self, moves: Sequence[Move], now: datetime) -> None:
        self._served = {move.job.key: move.served_until for move in moves}
        self._now = now
        self.moved: dict[str, Moved] = {}

    def __call__(self, job: Job, record: Record | None) -> Decision:
        """What happens to one job."""
        if record is not None and record.state.removed_at is None:
            decision = Decision(record.state, job=record.job)
            self.moved[job.key] = Moved(record.job, record.state.next_at, is_kept=True)
            return decision
        decision = self._declared(job, record)
        self.moved[job.key] = Moved(job, decision.state.next_at, is_kept=False)
        return decision

    def removed(self, record: Record) -> Decision:
        """An import removes nothing; a store asks for the function all the same."""
        return plan_removed(record, self._now)

    def _declared(self, job: Job, record: Record | None) -> Decision:
        served = self._served[job.key]
        if record is not None or served is None:
            return plan_declared(job, record, self._now)
        new, then = plan_new(job, self._now), plan_new(job, served).state
        return Decision(
            new.state._replace(wake_at=then.wake_at, served_until=then.served_until, next_at=then.next_at),
            events=(new.event(job.key)._replace(reason="imported; goes on after its last run"),),
        )
