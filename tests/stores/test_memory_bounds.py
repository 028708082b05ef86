"""The store in memory costs by what happens: nothing of it grows for ever, or is walked through each time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from foliot.engine.plan_command import RunNow, plan_command
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Ending, Outcome
from foliot.model.damage import Damage
from foliot.model.policy import Keep, Policy
from foliot.model.state import Node, Record
from foliot.protocols import Changes, JobQuery
from foliot.schedules import Cron
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, some_jobs, start_due, untouched

KEY = f"{SOURCE}/job"
ROOM = {"default": 9}


class Walked(dict[str, Record]):
    """Counts how often somebody looks at all of it."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()

    def values(self) -> Any:
        self.walks += 1
        return super().values()

    def items(self) -> Any:
        self.walks += 1
        return super().items()


async def a_store(clock: ManualClock, *jobs: Any) -> MemoryStore:
    store = MemoryStore(clock, lease=timedelta(days=999))
    await store.join(Node("a"))
    declared = declare_at(clock.now() + timedelta(days=300), clock.now())
    await store.reconcile(SOURCE, None, "r1", Changes(jobs), declared=declared, removed=untouched)
    return store


def test_a_job_that_is_asked_for_often_does_not_fill_the_index() -> None:
    async def act() -> None:
        clock = ManualClock()
        policy = Policy(keep=Keep(last=1, days=None))
        store = await a_store(clock, a_job(schedule=Cron("0 0 1 1 *"), policy=policy))
        for number in range(2000):
            await clock.advance(timedelta(seconds=1))
            now = clock.now()
            asked = RunNow(f"r{number}")
            await store.update(KEY, lambda record, asked=asked, now=now: plan_command(record, asked, now))  # type: ignore[misc] # mypy: defaults
            for _, attempt in (await store.claim("a", now, ROOM, plan_due, f"c{number}")).runs:
                done = Ending(KEY, attempt.run_key, 1, attempt.token, Outcome.SUCCEEDED, now, now)
                await store.finish("a", [done], now, plan_ended)
            await store.prune(now, 100)
        assert store._due._size < 200
        assert len(store._past._ripe) + len(store._past._old) < 200
        assert len(await store.jobs(JobQuery())) == 1

    asyncio.run(act())


def test_heartbeats_claims_and_recovery_do_not_look_at_all_jobs() -> None:
    async def act() -> None:
        clock = ManualClock()
        store = await a_store(clock, *some_jobs(100))
        walked = store._records = Walked(store._records)
        await clock.advance(timedelta(days=301))
        for number in range(5):
            claimed = await store.claim("a", clock.now(), ROOM, start_due, f"c{number}")
            assert len(claimed.runs) == 9
            assert (await store.renew("a")).open_count == 9 * (number + 1)
            await store.held("a")
            await store.recover(100, clock.now(), lambda *_: _never())
            await store.prune(clock.now(), 100)
        assert walked.walks == 0

    asyncio.run(act())


def _never() -> Any:
    raise AssertionError("nobody is dead")


def test_answers_that_nobody_may_ask_for_again_are_forgotten() -> None:
    async def act() -> None:
        clock = ManualClock()
        store = MemoryStore(clock, lease=timedelta(seconds=30))
        await store.join(Node("a"))
        declared = declare_at(clock.now(), clock.now())
        jobs = Changes(some_jobs(300))
        await store.reconcile(SOURCE, None, "r1", jobs, declared=declared, removed=untouched)
        for number in range(300):
            await clock.advance(timedelta(seconds=1))
            await store.renew("a")
            await store.claim("a", clock.now(), {"default": 1}, start_due, f"c{number}")
        assert len(store._claims) <= 31

    asyncio.run(act())


def test_events_are_told_once() -> None:
    async def act() -> None:
        clock = ManualClock()
        store = await a_store(clock, a_job())
        await clock.advance(timedelta(days=301))
        first = await store.claim("a", clock.now(), ROOM, start_due, "c")
        again = await store.claim("a", clock.now(), ROOM, start_due, "c")
        assert len(first.events) == 1
        assert again == first._replace(events=())

    asyncio.run(act())


def test_a_job_that_was_set_aside_is_due_again_when_it_is_declared_anew() -> None:
    async def act() -> None:
        clock = ManualClock()
        store = await a_store(clock, a_job())
        wake_at = (await store.wakes(["default"])).first
        store.set_aside(KEY, Damage("on purpose"))
        assert (await store.wakes(["default"])).first is None
        declared = declare_at(wake_at, clock.now())
        await store.reconcile(SOURCE, "r1", "r2", Changes((a_job(),)), declared=declared, removed=untouched)
        assert (await store.wakes(["default"])).first == wake_at

    asyncio.run(act())


class Slow(ManualClock):
    """Each time it is asked, a twentieth of a second has passed."""

    passed = 0.0

    def monotonic(self) -> float:
        self.passed += 0.05
        return self.passed


def test_a_queue_that_takes_all_the_time_of_a_claim_does_not_starve_another() -> None:
    async def act() -> None:
        clock = Slow()
        slow = [job for n in range(60) for job in (a_job(f"slow-{n:02}", queue="slow"),)]
        store = await a_store(clock, *slow, a_job("quick", queue="quick"))
        await store.join(Node("a", queues=("slow", "quick")))
        await clock.advance(timedelta(days=301))
        found = []
        for number in range(2):
            claimed = await store.claim("a", clock.now(), {"slow": 99, "quick": 9}, start_due, f"c{number}")
            found += [attempt.job for _, attempt in claimed.runs]
        assert f"{SOURCE}/quick" in found

    asyncio.run(act())
