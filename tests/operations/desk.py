"""A store in memory, a clock that stands still, and what people ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.decision import Event
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.operations import Operations
from foliot.protocols import Changes, JobQuery, RunQuery, SkipQuery
from foliot.schedules import Cron
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from foliot.wiring import FullStore

START = datetime(2026, 3, 2, 6, 30, tzinfo=UTC)
LONG = timedelta(days=3650)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
HOURLY = Job(source="shop", name="hourly", schedule=Cron("0 * * * *"), action=Action(kind="k"))


def at(hour: int, minute: int = 0) -> datetime:
    """A time of the day that the tests play on."""
    return datetime(2026, 3, 2, hour, minute, tzinfo=UTC)


class Desk:
    """Where people ask. `told` are the events of what they did."""

    def __init__(self, store: FullStore | None = None, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock(START)
        self.store: FullStore = store or MemoryStore(self.clock, lease=LONG)
        self.told: list[Event] = []
        self._ids, self._claims = count(), count()
        self.ops = Operations(
            self.store, self.clock, tell=self.told.extend, new_id=lambda: f"id-{next(self._ids)}"
        )

    async def declare(self, *jobs: Job, removed: Sequence[str] = ()) -> None:
        """Have a source declare jobs."""
        source, now = jobs[0].source, self.clock.now()
        base = await self.store.revision(source)
        await self.store.reconcile(
            source, base, f"{base or ''}+", Changes(jobs, tuple(removed)),
            declared=lambda job, record: plan_declared(job, record, now),
            removed=lambda record: plan_removed(record, now),
        )  # fmt: skip
        if not await self.store.nodes():
            await self.store.join(Node("n1"))

    async def claim(self) -> list[Attempt]:
        """Have a node start what is due."""
        now = self.clock.now()
        claimed = await self.store.claim("n1", now, {"default": 99}, plan_due, f"c{next(self._claims)}")
        return [attempt for _, attempt in claimed.runs]

    async def finish(self, attempt: Attempt, outcome: Outcome = Outcome.SUCCEEDED) -> None:
        """Have the node report an end."""
        now = self.clock.now()
        ending = Ending(attempt.job, *attempt.key, attempt.token, outcome, now, now)
        await self.store.finish("n1", [ending], now, plan_ended)

    async def run_due(self, outcome: Outcome = Outcome.SUCCEEDED) -> list[Attempt]:
        """Start what is due, and end it at once."""
        attempts = await self.claim()
        for attempt in attempts:
            await self.finish(attempt, outcome)
        return attempts

    async def advance(self, to: datetime) -> None:
        """Let time pass until then."""
        await self.clock.advance(to - self.clock.now())

    async def everything(self) -> list[Any]:
        """All that is stored of jobs."""
        views = await self.store.jobs(JobQuery(with_removed=True))
        skips = [await self.store.skips(SkipQuery(view.key)) for view in views]
        return [views, await self.store.runs(RunQuery(limit=100_000)), skips]
