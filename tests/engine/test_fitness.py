"""What a node passes over: jobs of its kinds that it cannot start now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from engine.stage import LEASE, MINUTE, SECOND, Player, Stage, Watch, job, staged
from foliot.engine.plan_command import RunNow, plan_command
from foliot.model.attempt import Outcome, Trigger
from foliot.model.job import Job
from foliot.model.policy import Retry
from foliot.model.state import Record
from foliot.protocols import Claimed, JobQuery, Result
from foliot.stores.memory import MemoryStore

HALF = timedelta(milliseconds=500)


class Picky(Player):
    """Fits what it has; what was passed over is remembered, and may bring what was missing."""

    def __init__(self, stage: Stage, has: Collection[str] = ()) -> None:
        super().__init__(stage)
        self.has = set(has)
        self.passed: list[str] = []
        self.on_pass: Callable[[], None] = lambda: None

    def fits(self, job: Job) -> bool:
        return job.name in self.has

    def on_passed_over(self, jobs: Sequence[Job]) -> None:
        self.passed += [job.name for job in jobs]
        self.on_pass()


class Counting(MemoryStore):
    """Counts claims."""

    claims = 0

    async def claim(self, *facts: object) -> Claimed:
        self.claims += 1
        return await super().claim(*facts)  # type: ignore[arg-type] # as they came


async def record_of(stage: Stage, name: str) -> Record:
    [view] = await stage.store.jobs(JobQuery(keys=frozenset({f"code/{name}"})))
    assert view.record is not None
    return view.record


def starts_of(stage: Stage, name: str) -> list[datetime]:
    return [at for at, key, _ in stage.starts if key.startswith(f"code/{name}")]


@staged
async def test_what_does_not_fit_is_left_as_it_is_and_what_fits_starts(stage: Stage) -> None:
    await stage.declare(job("lacks", rule="1 0 * * *"), job("has", rule="1 0 * * *"))
    picky = Picky(stage, {"has"})
    await stage.start(executors={"x": picky})
    before = await record_of(stage, "lacks")
    told = len(stage.told.events)

    await stage.clock.advance(MINUTE + 5 * SECOND)

    assert len(starts_of(stage, "has")) == 1
    assert await record_of(stage, "lacks") == before
    assert {event.job for event in stage.told.events[told:]} == {"code/has"}
    assert set(picky.passed) == {"lacks"}
    assert not stage.told.troubles


@staged
async def test_another_node_that_fits_starts_it_in_time(stage: Stage) -> None:
    await stage.declare(*(job(f"job-{number}") for number in range(20)))
    await stage.start(executors={"x": Picky(stage)})
    able = await stage.start(slots=20)

    await stage.clock.advance(3 * MINUTE + 2 * SECOND)

    assert len(stage.starts) == len({start[1:] for start in stage.starts}) == 60
    assert {at.second for at, _, _ in stage.starts} == {0}
    assert {attempt.node for attempt in await stage.runs(limit=1000)} == {able.node}


@staged
async def test_who_is_told_and_then_fits_starts_it_at_once(stage: Stage) -> None:
    await stage.declare(job("late", rule="1 0 * * *"))
    picky = Picky(stage)
    engine = await stage.start(executors={"x": picky})
    await stage.clock.advance(MINUTE)
    assert picky.passed
    assert not stage.starts

    picky.has = {"late"}
    engine.wake()
    await stage.clock.settle()

    assert len(starts_of(stage, "late")) == 1
    [attempt] = await stage.runs()
    assert attempt.outcome is None


@staged
async def test_who_fits_and_says_nothing_starts_it_a_second_later(stage: Stage) -> None:
    await stage.declare(job("late", rule="1 0 * * *"))
    picky = Picky(stage)
    await stage.start(executors={"x": picky})
    await stage.clock.advance(MINUTE)

    picky.has = {"late"}
    await stage.clock.advance(SECOND)

    assert len(starts_of(stage, "late")) == 1


@staged
async def test_a_node_that_waits_for_what_is_missing_asks_about_once_a_second(stage: Stage) -> None:
    stage.store = store = Counting(stage.clock, lease=LEASE)
    await stage.declare(*(job(f"job-{number}", rule="1 0 * * *") for number in range(5)))
    await stage.start(executors={"x": Picky(stage)})
    await stage.clock.advance(MINUTE)
    claims = store.claims

    await stage.clock.advance(30 * SECOND)

    assert 25 <= store.claims - claims <= 35


@staged
async def test_jobs_of_other_kinds_are_not_a_moment_later_for_it(stage: Stage) -> None:
    stage.store = store = Counting(stage.clock, lease=LEASE)
    other = job("other", rule="* * * * *")
    await stage.declare(job("lacks", rule="1 0 * * *"))
    await stage.declare(job("lacks", rule="1 0 * * *"), _of_kind("y", other))
    await stage.start(executors={"x": Picky(stage), "y": Player(stage)})
    await stage.clock.advance(MINUTE + HALF)  # its seconds now end at the half

    await stage.clock.advance(MINUTE)

    assert [(at.minute, at.second, at.microsecond) for at in starts_of(stage, "other")] == [
        (1, 0, 0),
        (2, 0, 0),
    ]
    assert store.claims < 200


@staged
async def test_what_is_due_and_passed_over_is_backlog(stage: Stage) -> None:
    await stage.declare(job("lacks", rule="1 0 * * *"))
    watch = Watch()
    await stage.start(executors={"x": Picky(stage)}, monitors=(watch,))

    await stage.clock.advance(2 * MINUTE)

    assert watch.healths[-1].backlog == 1
    assert watch.healths[-1].overdue >= 50 * SECOND


async def _ask(stage: Stage) -> None:
    """A person asks for it."""
    now = stage.clock.now()
    await stage.store.update("code/a", lambda record: plan_command(record, RunNow("please"), now))


async def _fail(stage: Stage) -> None:
    """It fails, and is to be tried again."""
    stage.result = Result(Outcome.FAILED, "no luck")
    await stage.start()
    await stage.clock.advance(MINUTE + 2 * SECOND)
    await stage.stop_all()


async def _drain(stage: Stage) -> None:
    """Its node is stopped before it has ended."""
    stage.takes = timedelta(hours=1)
    await stage.start(drain=SECOND)
    await stage.clock.advance(MINUTE + 2 * SECOND)
    await stage.stop_all()


async def _lose(stage: Stage) -> None:
    """Its node dies."""
    stage.takes = timedelta(hours=1)
    await stage.start()
    await stage.clock.advance(MINUTE + 2 * SECOND)
    await stage.kill_all()


@pytest.mark.parametrize(
    ("rule", "happen", "trigger"),
    [
        ("0 0 2 1 *", _ask, Trigger.MANUAL),
        ("1 0 * * *", _fail, Trigger.RETRY),
        ("1 0 * * *", _drain, Trigger.LOST),
        ("1 0 * * *", _lose, Trigger.LOST),
    ],
)
def test_no_way_leads_around_the_gate(
    rule: str, happen: Callable[[Stage], Coroutine[Any, Any, None]], trigger: Trigger
) -> None:
    async def test(stage: Stage) -> None:
        await stage.declare(job("a", rule=rule, retry=Retry(max=3, delay=5 * SECOND)))
        await happen(stage)
        before, picky = len(stage.starts), Picky(stage)
        engine = await stage.start(executors={"x": picky})
        await stage.clock.advance(2 * LEASE)
        assert len(stage.starts) == before
        assert "a" in picky.passed

        picky.has = {"a"}
        await stage.clock.advance(2 * SECOND)

        assert len(stage.starts) == before + 1
        [*_, last] = (run for run in await stage.runs() if run.node == engine.node)
        assert last.trigger is trigger

    staged(test)()


@staged
async def test_an_executor_that_cannot_tell_whether_it_fits_fails_no_job(stage: Stage) -> None:
    class Faulty(Picky):
        def fits(self, job: Job) -> bool:
            raise OSError(f"the disk of {job.name} is gone")

        def on_passed_over(self, jobs: Sequence[Job]) -> None:
            raise OSError(f"and so are those of {jobs}")

    await stage.declare(job(rule="1 0 * * *"))
    await stage.start(executors={"x": Faulty(stage)})
    await stage.clock.advance(MINUTE + 5 * SECOND)
    assert not stage.starts

    await stage.start()
    await stage.clock.advance(SECOND)

    assert len(stage.starts) == 1
    assert not (await stage.store.overview()).damaged


def _of_kind(kind: str, one: Job) -> Job:
    return replace(one, action=replace(one.action, kind=kind))
