"""Executors that take many runs, and tell many ends, at once: what holds for one run holds for each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, cast

import pytest

from engine.stage import LEASE, MINUTE, SECOND, Stage, job, staged
from foliot.engine.plan_command import Cancel, plan_command
from foliot.model.attempt import Outcome
from foliot.protocols import AskToEnd, OnEnds, Result, Run

DONE = Result(Outcome.SUCCEEDED)


class Crowd:
    """Takes many, and ends them when the test says so."""

    def __init__(self) -> None:
        self.portions: list[int] = []
        self.runs: list[Run] = []
        self.asked: list[str] = []
        self.on_ends: OnEnds = lambda _: None

    def start(self, *_: object) -> AskToEnd:
        raise AssertionError("an executor that takes many is never asked to take one")

    def start_many(self, runs: Sequence[Run], on_ends: OnEnds) -> Sequence[AskToEnd]:
        self.portions.append(len(runs))
        self.runs += runs
        self.on_ends = on_ends
        return [lambda run=run: self.asked.append(run.job.name) for run in runs]  # type: ignore[misc] # mypy: defaults

    def end(self, runs: Iterable[Run], result: Result = DONE) -> None:
        self.on_ends([(run, result) for run in runs])


def named(runs: Iterable[Run], *names: str) -> list[Run]:
    return [run for run in runs if run.job.name in names]


async def begun(stage: Stage, executor: Any, count: int, slots: int = 1000, **options: Any) -> Any:
    """A node with that many runs."""
    await stage.declare(*(job(f"n{number}", "1 0 * * *", **options) for number in range(count)))
    engine = await stage.start(executors={"x": executor}, slots=slots)
    await stage.clock.advance(MINUTE + SECOND)
    return engine


@staged
async def test_a_herd_starts_in_portions_and_ends_in_any(stage: Stage) -> None:
    crowd = Crowd()
    engine = await begun(stage, crowd, 250)
    assert crowd.portions == [100, 100, 50]
    crowd.end(crowd.runs[:201])
    crowd.end(crowd.runs[201:])
    assert engine._runner.busy("default") == 0
    await stage.clock.advance(SECOND)
    assert [a.outcome for a in await stage.runs(limit=1000)] == [Outcome.SUCCEEDED] * 250


@staged
async def test_ends_that_are_told_twice_or_of_runs_that_were_never_given_count_for_nothing(
    stage: Stage,
) -> None:
    crowd = Crowd()
    engine = await begun(stage, crowd, 3)
    first, second, third = crowd.runs
    stranger = Run(first.job, first.attempt._replace(number=7))
    crowd.end([stranger, first, first, second])
    crowd.end([first, second], Result(Outcome.FAILED, "again"))
    assert engine._runner.busy("default") == 1, "the third runs"
    crowd.end([third], cast("Any", None))
    await stage.clock.advance(SECOND)
    outcomes = {a.job: (a.outcome, a.error) for a in await stage.runs()}
    assert outcomes[first.job.key] == outcomes[second.job.key] == (Outcome.SUCCEEDED, None)
    assert outcomes[third.job.key] == (Outcome.FAILED, "its executor gave no result, but None")


@staged
async def test_one_of_many_is_asked_to_end(stage: Stage) -> None:
    crowd = Crowd()
    await begun(stage, crowd, 3)
    now, key = stage.clock.now(), named(crowd.runs, "n1")[0].key[0]
    await stage.store.update("code/n1", lambda record: plan_command(record, Cancel(key), now))
    await stage.clock.advance(LEASE)
    assert crowd.asked == ["n1"]
    crowd.end(crowd.runs)
    await stage.clock.advance(SECOND)
    outcomes = {a.job: a.outcome for a in await stage.runs()}
    assert outcomes == {
        "code/n0": Outcome.SUCCEEDED,
        "code/n1": Outcome.CANCELLED,
        "code/n2": Outcome.SUCCEEDED,
    }


class Rash(Crowd):
    """Raises when it is given runs, after it has taken them, or answers too little."""

    def __init__(self, error: BaseException | None) -> None:
        super().__init__()
        self.error = error

    def start_many(self, runs: Sequence[Run], on_ends: OnEnds) -> Sequence[AskToEnd]:
        asks = super().start_many(runs, on_ends)
        on_ends([(runs[0], DONE)])
        if self.error is not None:
            raise self.error
        return asks[:-1]


@pytest.mark.parametrize("error", [OSError("no"), SystemExit(1), asyncio.CancelledError(), None], ids=repr)
def test_an_executor_that_fails_to_start_many_fails_those_that_have_not_ended(
    error: BaseException | None,
) -> None:
    @staged
    async def life(stage: Stage) -> None:
        rash = Rash(error)
        engine = await begun(stage, rash, 3)
        outcomes = [a.outcome for a in await stage.runs()]
        assert sorted(map(str, outcomes)) == ["failed", "failed", "succeeded"]
        assert engine._runner.busy("default") == 0
        assert engine._runner.idle.is_set()

    life()


@staged
async def test_all_that_take_too_long_are_asked_to_end_by_one_service(stage: Stage) -> None:
    crowd = Crowd()
    before = len(asyncio.all_tasks())
    await begun(stage, crowd, 20, timeout=10 * SECOND)
    assert len(asyncio.all_tasks()) - before < 20, "no task for each of them"
    crowd.end(named(crowd.runs, "n3"))
    await stage.clock.advance(8 * SECOND)
    assert crowd.asked == []
    await stage.clock.advance(2 * SECOND)
    assert len(crowd.asked) == 19
    assert "n3" not in crowd.asked
    crowd.end(crowd.runs)
    await stage.clock.advance(SECOND)
    attempts = {a.job: a for a in await stage.runs()}
    assert attempts.pop("code/n3").outcome is Outcome.SUCCEEDED
    assert {(a.outcome, a.error) for a in attempts.values()} == {
        (Outcome.TIMED_OUT, "did not end within 10s")
    }


@staged
async def test_what_a_buried_node_still_runs_keeps_its_slots_until_it_ends(stage: Stage) -> None:
    crowd = Crowd()
    engine = await begun(stage, crowd, 4)
    await stage.store.leave(engine.node)
    await stage.clock.advance(2 * MINUTE)
    assert sorted(crowd.asked) == ["n0", "n1", "n2", "n3"]
    held = engine._runner.busy("default")
    assert held >= 4
    old = crowd.runs[:4]
    crowd.end(old)
    crowd.end(old)
    assert engine._runner.busy("default") == held - 4
