"""A law: a plan foretells the deed. What it says of the switch is what the reconcile does, on every store.

Random jobs live random lives; then their source declares something else. The plan is asked for first, from
the store's own records; then the source is reconciled, and a node claims what is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.plan_lives import START as LIVES_START
from engine.plan_lives import jobs
from foliot.engine.change import ChangePlan, Kind
from foliot.engine.reconciler import reconcile
from foliot.model.attempt import Attempt, Outcome
from foliot.model.decision import Event, Happening
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.operations.plan import plan_source, records_of
from foliot.protocols import Snapshot
from foliot.stores.memory import MemoryStore
from foliot.stores.mongodb import MongoStore
from foliot.stores.postgres import PostgresStore
from foliot.stores.redis import RedisStore
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from operations.desk import LONG, START, Desk
from real_mongodb import mongodb_url as mongodb_url  # noqa: PLC0414 - a fixture
from real_postgres import server_url as server_url  # noqa: PLC0414 - a fixture
from real_redis import redis_url as redis_url  # noqa: PLC0414 - a fixture
from stores.mongodb import opening as on_mongodb
from stores.postgres import opening as on_postgres
from stores.redis import opening as on_redis

pytestmark = pytest.mark.req("OWN-16")
WAITS = [timedelta(0), timedelta(seconds=20), timedelta(minutes=1), timedelta(minutes=7), timedelta(hours=2)]
OUTCOMES = [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.CANCELLED, Outcome.INTERRUPTED]
EVENTS = ("claim", "claim", "claim", "finish", "finish", "trigger", "pause", "resume", "remove", "declare")
NAMES = ("a", "b", "c")
SOURCE = "tests"

steps = st.tuples(st.sampled_from(EVENTS), st.sampled_from(WAITS), st.integers(0, 11))
lives = st.lists(steps, min_size=3, max_size=20)


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[Job, ...]:
    """What a source declares: some of three names, each with any definition."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    return tuple(replace(draw(jobs()), name=name) for name in names)


class Play(NamedTuple):
    """What was declared, what happened then, and what is declared next."""

    before: tuple[Job, ...]
    life: list[tuple[str, timedelta, int]]
    after: tuple[Job, ...]


plays = st.builds(Play, snapshots(), lives, st.one_of(snapshots(), st.just(())))


def hold(examples: int, opened: Callable[[ManualClock], AbstractAsyncContextManager[Any]]) -> None:
    """The law, for so many plays, each on a store of its own."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(play=plays)
    def law(play: Play) -> None:
        async def run() -> None:
            clock = ManualClock(START)
            async with opened(clock) as store:
                await _foretell(Desk(store, clock), play)

        asyncio.run(run())

    law()


@asynccontextmanager
async def _in_memory(clock: ManualClock) -> AsyncIterator[Any]:
    yield MemoryStore(clock, lease=LONG)


@asynccontextmanager
async def _in_sqlite(clock: ManualClock) -> AsyncIterator[Any]:
    with TemporaryDirectory() as folder:
        async with SqliteStore(Path(folder) / "jobs.db", clock, lease=LONG, synchronous="OFF") as store:
            yield store


def test_the_deed_is_as_planned_in_memory() -> None:
    hold(60, _in_memory)


def test_the_deed_is_as_planned_in_sqlite() -> None:
    hold(8, _in_sqlite)


@pytest.mark.prove
def test_the_deed_is_as_planned_in_postgresql(server_url: str) -> None:
    hold(25, lambda clock: PostgresStore(on_postgres.fresh(server_url), time=clock, lease=LONG))


@pytest.mark.prove
def test_the_deed_is_as_planned_in_redis(redis_url: str) -> None:
    hold(25, lambda clock: RedisStore(on_redis.fresh(redis_url), time=clock, lease=LONG))


@pytest.mark.prove
def test_the_deed_is_as_planned_in_mongodb(mongodb_url: str) -> None:
    hold(25, lambda clock: MongoStore(on_mongodb.fresh(mongodb_url), time=clock, lease=LONG))


# -- the law ---------------------------------------------------------------------------------------


async def _foretell(desk: Desk, play: Play) -> None:
    before, life, after = play
    await desk.advance(LIVES_START)
    await desk.declare(*before)
    for event, wait, number in life:
        await desk.clock.advance(wait)
        await _happen(desk, before, event, number)
    plan = await plan_source(desk.ops, SOURCE, Snapshot("next", after))
    before_records = await records_of(desk.ops, SOURCE)
    skips_before = await _skips(desk)
    events = await reconcile(desk.store, SOURCE, Snapshot("next", after), desk.clock.now())
    after_records = await records_of(desk.ops, SOURCE)
    _check_events(plan, events)
    # Of a job that does not remember, nothing is left.
    said = [skip for skip in plan.switch.skips if skip.job.partition("/")[2] in after_records]
    assert sorted(said) == sorted((await _skips(desk)) - skips_before)
    _check_records(plan, before_records, after_records)
    await _check_starts(desk, plan)


async def _happen(desk: Desk, before: tuple[Job, ...], event: str, number: int) -> None:
    names = [job.name for job in before]
    name = names[number % len(names)]
    records = await records_of(desk.ops, SOURCE)
    is_there = name in records and records[name].state.removed_at is None
    held = await desk.store.held("n1")
    if event == "claim":
        await desk.claim()
    elif event == "finish" and held:
        await desk.finish(held[number % len(held)], OUTCOMES[number % len(OUTCOMES)])
    elif event == "declare":
        await desk.declare(*before)
    elif event == "remove" and is_there:
        stays = tuple(job for job in before if job.name != name)
        revision = f"{await desk.store.revision(SOURCE)}-"
        await reconcile(desk.store, SOURCE, Snapshot(revision, stays), desk.clock.now())
    elif event in ("trigger", "pause", "resume") and is_there:
        await getattr(desk.ops, event)(f"{SOURCE}/{name}")


async def _skips(desk: Desk) -> set[Any]:
    return {one for skips in (await desk.everything())[2] for one in skips}


def _check_events(plan: ChangePlan, events: Sequence[Event]) -> None:
    told = {event.job for event in events}
    said = {f"{SOURCE}/{name}" for one in plan.jobs for name in (one.name, one.old_name) if name}
    assert told == said
    dropped = [str(event.run_key) for event in events if event.what is Happening.ENDED]
    assert sorted(dropped) == sorted(plan.switch.drops)
    assert sum(event.what is Happening.SKIPPED for event in events) == len(plan.switch.skips)


def _check_records(plan: ChangePlan, before: dict[str, Record], after: dict[str, Record]) -> None:
    keeps = []
    for change in plan.jobs:
        record = after.get(change.name)
        if change.kind is Kind.REMOVED:
            assert record is None or record.state.removed_at is not None
        else:
            assert record is not None
            assert record.state.next_at == change.next_at
        for name in filter(None, (change.name, change.old_name)):
            keeps += _both(before.get(name), after.get(name))
    assert sorted(keeps) == sorted(plan.switch.keeps)
    living = [record for record in after.values() if record.state.removed_at is None]
    there = [change for change in plan.jobs if change.kind is not Kind.REMOVED]
    assert len(living) == plan.unchanged + len(there)


def _both(before: Record | None, after: Record | None) -> list[str]:
    kept = {one.key for one in before.attempts} if before else set()
    return [one.run_key for one in (after.attempts if after else ()) if one.key in kept]


async def _check_starts(desk: Desk, plan: ChangePlan) -> None:
    """A node with room starts what the plan says, and nothing else of the jobs that change."""
    started: list[Attempt] = []
    while more := await desk.claim():
        started += more
    changed = {f"{SOURCE}/{name}" for one in plan.jobs for name in (one.name, one.old_name) if name}
    found = sorted(one.key for one in started if one.job in changed)
    assert found == sorted((one.run, one.number) for one in plan.switch.starts)
