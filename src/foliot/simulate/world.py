"""A simulation: jobs, an engine and a store in memory, on a clock that jumps from event to event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import NamedTuple

from foliot.clock import wait_on_loop
from foliot.engine.engine import Engine
from foliot.engine.project import FutureRun, Took
from foliot.engine.reconciler import reconcile
from foliot.engine.settings import Settings
from foliot.errors import FoliotError, StoreError
from foliot.model.attempt import Attempt, Outcome, Trigger
from foliot.model.decision import Event, Happening
from foliot.model.job import Job
from foliot.model.policy import Keep
from foliot.model.splay import offset_of
from foliot.model.state import Skip
from foliot.protocols import AskToEnd, Clock, JobQuery, OnEnd, Result, Run, SkipQuery, Snapshot
from foliot.simulate.virtual_loop import ExactLoop, run_virtually
from foliot.wiring import FullStore, open_store

MOST_RUNS = 200_000
_STORE = "memory://simulation"
_LEASE = timedelta(days=3)
_LOOK = timedelta(hours=6)  # how often skips are noted, before they are forgotten
_KEEP = Keep(last=20, days=2)
_AGAIN = (Trigger.RETRY, Trigger.LOST)
_MICROSECONDS = 1_000_000
_ALL = 1_000_000


class TooManyRunsError(FoliotError):
    """A simulation would have more runs than it may."""

    def __init__(self, runs: int, most: int) -> None:
        hint = "simulate fewer days, or fewer jobs with --job"
        super().__init__(
            f"that is {runs:,} runs, and a simulation has {most:,} at most",
            details={"runs": runs, "most": most},
            hint=hint,
        )


class Simulated(NamedTuple):
    """What happened: attempts in the order of their starts, and occurrences that did not run.

    `waiting`: when what waits at the end was to start.
    """

    start: datetime
    end: datetime
    runs: tuple[FutureRun, ...]
    skips: tuple[Skip, ...]
    waiting: tuple[datetime, ...] = ()


def simulate(  # noqa: PLR0913 - what runs, when, with how many slots, and for how long
    jobs: Sequence[Job],
    start: datetime,
    duration: timedelta,
    took: Took,
    *,
    slots: Mapping[str, int],
    groups: Mapping[str, int] | None = None,
) -> Simulated:
    """Let jobs run for a time that passes at once. TooManyRunsError before it begins."""
    end = start + duration
    expected = sum(job.schedule.count(start, end) for job in jobs if job.enabled)
    if expected > MOST_RUNS:
        raise TooManyRunsError(expected, MOST_RUNS)
    world = _World([_plain(job) for job in jobs], start, end, took)
    loop = ExactLoop()  # type: ignore[abstract] # what it lacks is for I/O, and is to fail
    return run_virtually(world.live(slots, groups or {}), loop)


def _plain(job: Job) -> Job:
    """The job without what matters only in service: alerts, and a long history."""
    policy = replace(job.policy, notify=None, expect=None, ping=None, keep=_KEEP)
    return replace(job, policy=policy)


class VirtualClock:
    """The time of the loop, counted from an instant."""

    def __init__(self, start: datetime) -> None:
        self._start = start

    def now(self) -> datetime:
        """The present instant."""
        return self._start + timedelta(microseconds=round(self.monotonic() * _MICROSECONDS))

    def monotonic(self) -> float:
        """Seconds since the beginning."""
        return asyncio.get_running_loop().time()

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        """Wait that long, or until the event is set; nobody waits in truth."""
        await wait_on_loop(duration, until)


class _Pretence:
    """An executor that does nothing for as long as an attempt takes."""

    def __init__(self, took: Took) -> None:
        self._took = took

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        loop = asyncio.get_running_loop()
        seconds = self._took(run.attempt).total_seconds()
        timer = loop.call_later(seconds, on_end, run, Result(Outcome.SUCCEEDED))

        def end() -> None:
            timer.cancel()
            loop.call_soon(on_end, run, Result(Outcome.CANCELLED))

        return end


class _World:
    """One simulation. It listens to its engine."""

    def __init__(self, jobs: Sequence[Job], start: datetime, end: datetime, took: Took) -> None:
        self._jobs, self._start, self._end, self._took = jobs, start, end, took
        self._offsets = {job.key: offset_of(job) for job in jobs}
        self._runs: dict[tuple[str, int], FutureRun] = {}
        self._skips: dict[tuple[str, datetime, datetime], Skip] = {}
        self._error: StoreError | None = None

    async def live(self, slots: Mapping[str, int], groups: Mapping[str, int]) -> Simulated:
        """From the beginning to the end."""
        clock = VirtualClock(self._start)
        async with open_store(_STORE, clock, lease=_LEASE) as store:
            for source in dict.fromkeys(job.source for job in self._jobs):
                own = tuple(job for job in self._jobs if job.source == source)
                await reconcile(store, source, Snapshot("simulated", own), clock.now())
            engine = self._engine(store, clock, _new_ids(), slots, groups)
            running = asyncio.ensure_future(engine.run())
            while (left := self._end - clock.now()) > timedelta(0):
                await clock.wait(min(_LOOK, left))
                await self._note_skips(store)
                if running.done():
                    running.result()
            await clock.wait(timedelta(microseconds=1))  # what comes at the very end has its turn
            await self._note_skips(store)
            waiting = tuple(sorted(await self._waiting(store)))
        runs, skips = tuple(self._runs.values()), tuple(self._skips.values())
        return Simulated(self._start, self._end, runs, skips, waiting)

    async def _waiting(self, store: FullStore) -> list[datetime]:
        found: list[datetime] = []
        keys = frozenset(job.key for job in self._jobs)
        for view in await store.jobs(JobQuery(keys=keys, limit=len(keys) or 1)):
            if view.record is None:
                continue
            offset, state = self._offsets[view.key], view.record.state
            pending = [one.scheduled_for for one in view.record.attempts if not one.is_running]
            missed = [state.next_at] if state.next_at is not None and view.record.job.enabled else []
            found += [at + offset for at in (*pending, *missed) if at + offset < self._end]
        return found

    def _engine(
        self,
        store: FullStore,
        clock: Clock,
        new_id: Callable[[], str],
        slots: Mapping[str, int],
        groups: Mapping[str, int],
    ) -> Engine:
        pretence = _Pretence(self._took)
        kinds = {job.action.kind for job in self._jobs}
        day = timedelta(days=1)
        settings = Settings(slots=slots, groups=groups, beat=day, poll=day, recover=day, prune=day / 4)
        return Engine(
            store, dict.fromkeys(kinds, pretence), clock=clock, settings=settings, new_id=new_id,
            listeners=[self],
        )  # fmt: skip

    async def _note_skips(self, store: FullStore) -> None:
        for job in self._jobs:
            for skip in await store.skips(SkipQuery(job.key, limit=_ALL)):
                self._skips.setdefault((skip.job, skip.first, skip.last), skip)

    # -- what the engine tells ---------------------------------------------------------------------

    def on_events(self, events: Sequence[Event]) -> None:
        """Note what starts and what ends."""
        for event in events:
            if event.attempt is None:
                continue
            if event.what is Happening.STARTED:
                self._begin(event.attempt, event.at)
            elif event.what is Happening.ENDED and event.attempt.key in self._runs:
                known = self._runs[event.attempt.key]
                at = event.attempt.finished_at or event.at
                self._runs[event.attempt.key] = known._replace(ended_at=at, outcome=event.attempt.outcome)

    def on_trouble(self, error: StoreError) -> None:
        """A store in memory has none."""
        self._error = error

    def _begin(self, attempt: Attempt, at: datetime) -> None:
        is_again = attempt.trigger in _AGAIN
        due_at = at if is_again else attempt.scheduled_for + self._offsets[attempt.job]
        self._runs[attempt.key] = FutureRun(
            attempt.job, attempt.run_key, attempt.number, attempt.trigger, due_at, at
        )


def _new_ids() -> Callable[[], str]:
    numbers = count()
    return lambda: f"simulation-{next(numbers)}"
