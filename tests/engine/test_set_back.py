"""The clock of a store is set back while its jobs wait for times to come: on every store the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from engine.stage import LEASE, MINUTE, SECOND, Stage, job, staged
from foliot.engine.correction import Correction
from foliot.engine.planner import plan_due, plan_ended
from foliot.engine.reconciler import reconcile
from foliot.engine.store_clock import StoreClock
from foliot.model.attempt import Ending, Outcome
from foliot.model.decision import Event, Happening
from foliot.model.state import CORRECTION, Node
from foliot.protocols import JobQuery, Snapshot, Store
from foliot.stores.memory import MemoryStore
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from real_postgres import shared_url
from stores.postgres.opening import fresh, open_postgres

HOUR = timedelta(hours=1)
YEARS = timedelta(days=5 * 365)
OpenStore = Callable[[ManualClock], AbstractAsyncContextManager[Store]]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    @asynccontextmanager
    async def open_memory(clock: ManualClock) -> AsyncIterator[Store]:
        yield MemoryStore(clock)

    if request.param == "memory":
        return open_memory
    if request.param == "sqlite":
        return lambda clock: SqliteStore(tmp_path / "jobs.db", clock, synchronous="OFF")
    url = fresh(shared_url())
    return lambda clock: open_postgres(url, clock)


class Play:
    """A node without an engine: it renews, corrects, claims and finishes when it is told to."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.told: list[Event] = []
        self.woken = asyncio.Event()
        self.begin()

    def begin(self) -> None:
        """A process starts, and knows nothing of what was before."""
        self.store_clock = StoreClock(self.clock, MINUTE)
        self.correction = Correction(self.store, self.store_clock, SECOND, self.told.extend, self.woken)

    async def beat(self) -> None:
        asked_at = self.clock.monotonic()
        self.store_clock.take(await self.store.join(Node("a")), asked_at)
        while not await self.correction.turn():
            pass

    async def hour(self, numbers: Any = count()) -> list[str]:  # noqa: B008 - the numbers of all
        """An hour passes; what has run at its end."""
        await self.clock.advance(HOUR)
        await self.beat()
        now = self.store_clock.now()
        claimed = await self.store.claim("a", now, {"default": 100}, plan_due, f"c{next(numbers)}")
        endings = [
            Ending(a.job, a.run_key, a.number, a.token, Outcome.SUCCEEDED, now, now) for _, a in claimed.runs
        ]
        await self.store.finish("a", endings, now, plan_ended)
        return [a.run_key for _, a in claimed.runs]

    async def next_at(self) -> list[datetime | None]:
        views = await self.store.jobs(JobQuery())
        return [view.record.state.next_at for view in views if view.record]


def played(scene: Callable[..., Any]) -> Callable[..., None]:
    def run(open_store: OpenStore, **arguments: Any) -> None:
        async def act() -> None:
            clock = ManualClock()
            async with open_store(clock) as store:
                play = Play(store, clock)
                await play.beat()
                jobs = job("a", "0 * * * *"), job("b", "0 * * * *"), job("c", "0 0 1 1 *")
                await reconcile(store, "code", Snapshot("1", jobs), clock.now())
                await scene(play, **arguments)

        asyncio.run(act())

    run.__name__ = scene.__name__
    return run


@played
async def test_set_back_by_less_than_three_hours_jobs_wait(play: Play) -> None:
    for _ in range(2):
        assert len(await play.hour()) == 2
    before = await play.next_at()
    play.clock.set_by(-2 * HOUR)
    assert await play.hour() == []
    assert await play.next_at() == before, "they wait until the time comes again"
    assert await play.hour() == []
    assert len(await play.hour()) == 2
    assert play.told == []


@played
async def test_set_back_by_more_jobs_go_on_from_the_new_time(play: Play) -> None:
    assert len(await play.hour()) == 2
    play.clock.set_by(-YEARS)
    assert await play.hour() == [], "what came while nobody had noticed is not owed"
    assert play.woken.is_set()
    for _ in range(2):
        ran = await play.hour()
        assert ran == [f"code/{name}@{play.clock.now():%Y-%m-%dT%H}:00:00Z" for name in "ab"]
    assert {(event.what, event.job) for event in play.told} == {
        (Happening.CLOCK_SET_BACK, key) for key in ("code/a", "code/b", "code/c")
    }
    assert len(play.told) == 3, "once each"


@played
async def test_bit_by_bit_counts_as_well(play: Play) -> None:
    assert len(await play.hour()) == 2
    for _ in range(3):
        play.clock.set_by(-2 * HOUR)
        await play.beat()
    assert len(play.told) >= 2


@played
async def test_who_starts_after_it_finds_out_by_the_newest_run(play: Play) -> None:
    assert len(await play.hour()) == 2
    play.clock.set_by(-YEARS)
    play.begin()
    assert await play.hour() == []
    assert len(await play.hour()) == 2


@played
async def test_no_key_runs_twice(play: Play) -> None:
    seen = [key for _ in range(6) for key in await play.hour()]
    for back in (CORRECTION + HOUR, 5 * HOUR, 4 * HOUR):
        play.clock.set_by(-back)
        for _ in range(6):
            seen += await play.hour()
    assert len(seen) == len(set(seen))
    assert len(seen) > 12
    newest = [datetime.fromisoformat(key.partition("@")[2]) for key in seen[-2:]]
    assert newest == [play.clock.now()] * 2, "and at last they are where the clock is"


# -- an engine -------------------------------------------------------------------------------------


@staged
async def test_an_engine_goes_on_by_itself(stage: Stage) -> None:
    await stage.declare(job())
    await stage.start()
    await stage.clock.advance(2 * MINUTE + SECOND)
    assert len(stage.starts) == 2
    stage.clock.set_by(-YEARS)
    await stage.clock.advance(LEASE + 2 * MINUTE)
    assert [at.year for at, _, _ in stage.starts] == [2026, 2026, 2021, 2021]


@staged
async def test_an_engine_that_starts_after_it_goes_on_too(stage: Stage) -> None:
    await stage.declare(job())
    await stage.start()
    await stage.clock.advance(2 * MINUTE + SECOND)
    await stage.stop_all()
    stage.clock.set_by(-YEARS)
    await stage.start()
    await stage.clock.advance(2 * MINUTE)
    assert [at.year for at, _, _ in stage.starts] == [2026, 2026, 2021, 2021]
