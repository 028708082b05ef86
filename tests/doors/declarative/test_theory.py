"""The theory of the document, as properties of random lives: safety and liveness, through the door itself."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doors.declarative.scene import MINUTE, NOON, SECOND, Stage, crash, staged
from foliot.doors.declarative import Scheduler, TaskRunCompleted, TaskRunStarted
from foliot.schedules import Cron

# All match the first minute: a task that never ran owes nothing (DECL-13).
CRONS = ["* * * * *", "0,2,3,7 12 * * *", "0,5 * * * *", "0-59 12 * * 2"]
STEP = st.tuples(
    st.sampled_from(["pass", "stop", "start", "crash", "fail", "mend", "slow", "quick"]), st.integers(1, 100)
)


class Life:
    """One random life of a task, and the times when a scheduler was there for it."""

    def __init__(self, cron: str, delay: timedelta) -> None:
        self.stage = Stage(None)
        self.rule = Cron(cron, timezone="UTC", dialect="posix")
        self.registration = self.stage.task(cron=cron, delay=delay)
        self.scheduler: Scheduler | None = None
        self.quiet: int | None = None  # how many calls there were when nothing should run any more

    async def step(self, what: str, seconds: int) -> None:
        stage = self.stage
        if what == "start" and self.scheduler is None:
            self.scheduler, self.quiet = await stage.started(self.registration), None
        elif what == "stop" and self.scheduler is not None:
            stopping = asyncio.ensure_future(self.scheduler.stop())
            while not stopping.done():
                await stage.passes(5 * SECOND)
            self.scheduler, self.quiet = None, len(stage.starts)
        elif what == "crash" and self.scheduler is not None:
            await crash()
            stage.clock._waiting.clear()
            stage.running.clear()
            self.scheduler, self.quiet = None, len(stage.starts)
        elif what in ("fail", "mend"):
            (stage.failing.add if what == "fail" else stage.failing.discard)("a")
        elif what in ("slow", "quick"):
            stage.takes["a"] = timedelta(seconds=seconds if what == "slow" else 0)
        await stage.passes(seconds * SECOND)
        assert self.quiet in (None, len(stage.starts)), "nothing runs after stop has returned"

    def check(self) -> None:
        started = [event for event in self.stage.told if isinstance(event, TaskRunStarted)]
        done = [event for event in self.stage.told if isinstance(event, TaskRunCompleted)]
        for event in started:
            assert self.rule.matches(event.scheduled_for), "no start without an obligation"
            assert event.scheduled_for <= event.at
        keys = [event.run_key for event in done]
        assert len(keys) == len(set(keys)), "at most one success for an occurrence"
        for one, other in pairwise(done):
            assert one.scheduled_for < other.scheduled_for
        assert self.stage.most["a"] <= 1


@pytest.mark.req("DECL-42")
@given(
    cron=st.sampled_from(CRONS),
    delay=st.sampled_from([0, 1, 30, 60, 200]),
    steps=st.lists(STEP, min_size=3, max_size=14),
)
@settings(max_examples=40, deadline=None)
def test_safety_and_liveness_of_any_life(cron: str, delay: int, steps: list[tuple[str, int]]) -> None:
    async def live() -> None:
        life = Life(cron, timedelta(seconds=delay))
        async with life.stage as stage:
            for what, seconds in [("start", 1), *steps]:
                await life.step(what, seconds)
            # Liveness: with a scheduler there, and callbacks that end well, an obligation leads to a start.
            await life.step("mend", 1)
            await life.step("quick", 1)
            await life.step("start", 1)
            await stage.passes(5 * MINUTE)
            due = life.rule.previous(stage.clock.now())
            has_been_due = due is not None and due >= NOON
            successes = [e for e in stage.told if isinstance(e, TaskRunCompleted)]
            if has_been_due:
                assert successes, "an obligation leads to a start"
                assert successes[-1].scheduled_for == due
            life.check()

    asyncio.run(live())


@pytest.mark.req("DECL-42")
@staged
async def test_an_id_that_was_removed_and_added_again_forgets_its_debts(stage: Stage) -> None:
    stage.failing.add("a")
    scheduler = await stage.started(stage.task(cron="0 * * * *", delay=2 * MINUTE))
    await scheduler.stop()
    await scheduler.initialize([stage.task("b", "0 0 1 1 *")])
    await stage.passes(MINUTE)
    await scheduler.stop()
    await scheduler.initialize([stage.task(cron="0 * * * *", delay=2 * MINUTE)])
    task = await stage.stored()
    assert (task.last_attempt_at, task.last_failure_at, task.pending_retry_until) == (None, None, None)
    await stage.passes(10 * MINUTE)
    assert len(stage.starts) == 1


@pytest.mark.req("DECL-42")
@staged
async def test_a_change_of_cron_or_delay_keeps_its_debts(stage: Stage) -> None:
    stage.failing.add("a")
    scheduler = await stage.started(stage.task(cron="0 * * * *", delay=2 * MINUTE))
    await scheduler.stop()
    stage.failing.clear()
    await scheduler.initialize([stage.task(cron="59 * * * *", delay=9 * MINUTE)])
    await stage.passes(10 * MINUTE)
    assert stage.times() == ["12:00", "12:02"]
    # What the new rule has missed since the last attempt is owed as well, once.
    await scheduler.stop()
    await stage.passes(datetime(2026, 3, 10, 15, 30, tzinfo=UTC) - stage.clock.now())
    await scheduler.initialize([stage.task(cron="20 * * * *")])
    await stage.clock.settle()
    assert stage.times() == ["12:00", "12:02", "15:30"]
