"""What the machine's model knows, and what it checks: see `machine`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple, TypeVar

from foliot.model.attempt import Attempt
from foliot.model.job import Action, Job
from foliot.model.policy import (
    Keep,
    Misfire,
    MisfireMode,
    OnLost,
    Overlap,
    OverlapMode,
    Policy,
    Retry,
    parallel,
)
from foliot.model.presets import BEAT, DECLARATIVE, ROLLCRON
from foliot.model.state import Record
from foliot.protocols import JobQuery, JobView, RunQuery, Store
from foliot.schedules import Every, Once, Schedule
from foliot.testing.clock import ManualClock

Key = tuple[str, int]
T = TypeVar("T")

SOURCE = "machine"
START = datetime.fromisoformat("2026-03-14T09:00:00+00:00")
ALL = 100_000
QUEUES = ("fast", "slow")
POLICIES = {
    "code": Policy(keep=Keep(last=2, days=1)),
    "rollcron": ROLLCRON,
    "declarative": DECLARATIVE,
    "beat": BEAT,
    "wait": Policy(overlap=Overlap(mode=OverlapMode.WAIT), on_lost=OnLost.GIVE_UP),
    "replace": Policy(overlap=Overlap(mode=OverlapMode.REPLACE), keep=Keep(last=1, problems_only=True)),
    "all": Policy(
        misfire=Misfire(mode=MisfireMode.ALL, limit=3), overlap=parallel(2), retry=Retry(max=1, delay="10s")
    ),
}
SCHEDULES = (Every("1m"), Every("1h"), Once(START + timedelta(minutes=3)))


def a_job(
    name: str, schedule: Schedule, queue: str, *, enabled: bool = True, auto_remove: bool = False
) -> Job:
    """A job that behaves as its name says."""
    return Job(
        source=SOURCE, name=name, schedule=schedule, action=Action(kind="test"), queue=queue,
        policy=POLICIES[name], enabled=enabled, auto_remove=auto_remove,
    )  # fmt: skip


class Held(NamedTuple):
    """An attempt that a node was given."""

    node: str
    attempt: Attempt


class Life(NamedTuple):
    """A node, as the model knows it."""

    until: datetime
    is_buried: bool = False


class Asked(NamedTuple):
    """A claim and its answer."""

    node: str
    claim_id: str
    room: dict[str, int]
    keys: frozenset[Key]
    until: datetime


class Model:
    """What nodes know of their own, beside the store that it is compared with."""

    open_store: ClassVar[Callable[[ManualClock], AbstractAsyncContextManager[Store]]]

    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.runner = asyncio.Runner()
        self.opened = type(self).open_store(self.clock)
        self.store = self.do(self.opened.__aenter__())
        self.lives: dict[str, Life] = {}
        self.held: dict[Key, Held] = {}
        self.ended: dict[Key, Held] = {}
        self.tokens: dict[str, int] = {}
        self.asked: list[Asked] = []
        self.births: dict[str, datetime] = {}
        self.count = 0

    def do(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    # -- what is asked of the store ----------------------------------------------------------------

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def records(self) -> dict[str, Record]:
        views = self.do(self.store.jobs(JobQuery(with_removed=True, limit=ALL)))
        return {view.key: view.record for view in views if view.record is not None}

    def runs(self, **query: Any) -> tuple[Attempt, ...]:
        return self.do(self.store.runs(RunQuery(limit=ALL, **query)))

    def running(self) -> dict[Key, Attempt]:
        return {attempt.key: attempt for attempt in self.runs(is_open=True) if attempt.is_running}

    # -- what the model knows ----------------------------------------------------------------------

    def fresh(self, what: str) -> str:
        self.count += 1
        return f"{what}-{self.count}"

    def node(self, number: int) -> str:
        return list(self.lives)[number % len(self.lives)]

    def is_over(self, node: str) -> bool:
        return self.now >= self.lives[node].until

    def bury(self, node: str) -> None:
        self.lives[node] = self.lives[node]._replace(is_buried=True)

    def held_by(self, node: str) -> list[Attempt]:
        return [held.attempt for held in self.held.values() if held.node == node]

    def end(self, key: Key) -> None:
        self.ended[key] = self.held.pop(key)

    # -- what must be true -------------------------------------------------------------------------

    async def look(self) -> tuple[tuple[JobView, ...], tuple[Attempt, ...], list[datetime | None]]:
        wakes = [(await self.store.wakes(queues)).first for queues in (*((q,) for q in QUEUES), QUEUES)]
        views = await self.store.jobs(JobQuery(with_removed=True, limit=ALL))
        return views, await self.store.runs(RunQuery(limit=ALL)), wakes

    def forget_the_forgotten(self, records: dict[str, Record]) -> None:
        """A job that was removed for good, or began anew, has no past; the model forgets it as well."""
        births = {key: record.state.created_at for key, record in records.items()}
        for key in [key for key, at in self.births.items() if births.get(key) != at]:
            gone = [held for held in self.held.values() if held.attempt.job == key]
            assert not gone, f"{key} was forgotten while it ran"
            self.ended = {k: held for k, held in self.ended.items() if held.attempt.job != key}
        self.births = births

    def check_attempts(self, records: dict[str, Record], attempts: tuple[Attempt, ...]) -> None:
        """What runs is what was claimed and has not ended; each attempt is there once."""
        assert len({attempt.key for attempt in attempts}) == len(attempts)
        running = {attempt.key: attempt for attempt in attempts if attempt.is_running}
        assert set(running) == set(self.held)
        for key, attempt in running.items():
            held = self.held[key]
            assert (attempt.node, attempt.token) == (held.node, held.attempt.token)
        for attempt in attempts:
            assert attempt.is_open == (attempt.outcome is None)
        open_ones = {attempt for record in records.values() for attempt in record.attempts}
        assert open_ones == {attempt for attempt in attempts if attempt.is_open}

    def check_wakes(self, records: dict[str, Record], found: list[datetime | None]) -> None:
        """The next wake is the earliest there is, for each queue and for all."""
        wakes = {
            queue: [r.state.wake_at for r in records.values() if r.job.queue == queue] for queue in QUEUES
        }
        known = [[at for at in times if at is not None] for times in wakes.values()]
        known.append([at for times in known for at in times])
        assert found == [min(times, default=None) for times in known]


def check_that_somebody_looks(record: Record) -> None:
    """A job that has something to do runs, or will be looked at."""
    job, state, attempts = record
    assert all(attempt.token <= state.token for attempt in attempts)
    if state.wake_at is None and not any(attempt.is_running for attempt in attempts):
        assert attempts == (), f"{job.key}: an attempt waits for nobody"
        is_live = job.enabled and not state.paused_at and not state.removed_at
        assert not (is_live and state.next_at), f"{job.key} has a next occurrence, and nobody will look"
