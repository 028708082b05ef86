"""What the API door promises about schedules, as the engine keeps it: the eight cases, and more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.rat_stage import RatStage, Scene, place_for, play, schedule
from engine.stage import MINUTE, SECOND
from foliot.executors.task import TaskExecutor
from foliot.model.attempt import Outcome, Trigger
from foliot.protocols import JobQuery, Result, Run

TEN_MINUTES = timedelta(minutes=10)
On = Callable[[Scene], None]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def on_stage(request: pytest.FixtureRequest, tmp_path: Path) -> On:
    where = place_for(request.param, tmp_path)
    return lambda scene: play(where, scene)


@pytest.fixture(params=["sqlite", "postgres"])
def on_tables(request: pytest.FixtureRequest, tmp_path: Path) -> On:
    """Stores in which somebody else can write."""
    where = place_for(request.param, tmp_path)
    return lambda scene: play(where, scene)


def at(hour: int, minute: int = 0) -> datetime:
    """A time of the day on which the clock of the stage begins, at midnight."""
    return RatStage.first_day() + timedelta(hours=hour, minutes=minute)


# -- the document's eight cases --------------------------------------------------------------------


@pytest.mark.req("RAT-18")
def test_without_schedules_nothing_happens(on_stage: On) -> None:
    async def scene(stage: RatStage) -> None:
        await stage.node()
        await stage.clock.advance(TEN_MINUTES)
        assert (stage.starts, stage.told.events, stage.told.troubles) == ([], [], [])

    on_stage(scene)


@pytest.mark.req("RAT-07", "RAT-18")
def test_a_disabled_schedule_never_fires(on_stage: On) -> None:
    async def scene(stage: RatStage) -> None:
        await stage.declare(schedule("off", enabled=False), schedule("on"))
        await stage.node()
        await stage.clock.advance(3 * TEN_MINUTES + MINUTE)
        assert {key.partition("@")[0] for _, key, _ in stage.starts} == {"code/on"}

        await stage.declare(schedule("off"), schedule("on", enabled=False))
        assert (await stage.state("off")).next_at == at(0, 40), "what passed while it was off is not owed"
        await stage.clock.advance(TEN_MINUTES)
        assert [key for _, key, _ in stage.starts[3:]] == ["code/off@2026-01-01T00:40:00Z"]

    on_stage(scene)


@pytest.mark.req("RAT-18")
def test_a_due_schedule_fires_one_run_and_moves_on_in_the_same_step(on_stage: On) -> None:
    async def scene(stage: RatStage) -> None:
        await stage.declare(schedule())
        stage.takes = MINUTE
        await stage.node()
        await stage.clock.advance(TEN_MINUTES)

        [run], state = await stage.runs(), await stage.state()
        assert (run.run_key, run.trigger) == ("code/a@2026-01-01T00:10:00Z", Trigger.SCHEDULE)
        assert run.reason == "its occurrence has come"
        assert (state.last_run, state.last_attempt_at, state.next_at) == (run.run_key, at(0, 10), at(0, 20))
        assert run.token == state.token, "the run and the schedule are one write"
        assert stage.starts == [(at(0, 10), run.run_key, 1)], "and it was handed to the executor"

        await stage.clock.advance(2 * MINUTE)
        assert [run.outcome for run in await stage.runs()] == [Outcome.SUCCEEDED]

    on_stage(scene)


@pytest.mark.req("RAT-04", "RAT-18")
def test_a_schedule_whose_time_lies_ahead_does_not_fire(on_stage: On) -> None:
    async def scene(stage: RatStage) -> None:
        await stage.declare(schedule())
        await stage.node()
        before = await stage.state()
        await stage.clock.advance(TEN_MINUTES - SECOND)
        assert (stage.starts, await stage.state()) == ([], before)
        await stage.clock.advance(SECOND)
        assert len(stage.starts) == 1, "it was not dead, only early"

    on_stage(scene)


@pytest.mark.req("RAT-03", "RAT-18")
def test_a_schedule_without_a_next_time_gets_one_and_does_not_fire(on_stage: On) -> None:
    async def scene(stage: RatStage) -> None:
        await stage.node()
        await stage.clock.advance(5 * MINUTE)
        await stage.declare(schedule("new"), schedule("of this very minute", "5 0 * * *"))
        await stage.clock.advance(4 * MINUTE)
        assert stage.starts == []
        assert (await stage.state("new")).next_at == at(0, 10), "from now on"
        assert (await stage.state("of this very minute")).next_at == at(24, 5), "tomorrow"

    on_stage(scene)


@pytest.mark.req("RAT-06", "RAT-18")
@pytest.mark.parametrize("has_run_before", [True, False])
def test_missed_for_hours_gives_one_run_and_goes_on_from_now(on_stage: On, has_run_before: bool) -> None:  # noqa: FBT001 - a row of the table
    async def scene(stage: RatStage) -> None:
        await stage.declare(schedule())
        if has_run_before:
            engine = await stage.node()
            await stage.clock.advance(TEN_MINUTES + 5 * SECOND)
            await stage.stop(engine)
            stage.starts.clear()
        await stage.clock.advance(timedelta(hours=3, minutes=5) - (stage.clock.now() - at(0)))

        await stage.node()
        await stage.clock.advance(4 * MINUTE)
        assert stage.starts == [(at(3, 5), "code/a@2026-01-01T03:00:00Z", 1)], "one, and at once"
        newest = (await stage.runs())[-1]
        assert (newest.trigger, newest.reason) == (Trigger.CATCH_UP, "catches up what was missed")
        assert (await stage.state()).next_at == at(3, 10), "counted from now, not from what was missed"

        await stage.clock.advance(2 * MINUTE)
        assert [start[0] for start in stage.starts] == [at(3, 5), at(3, 10)]

    on_stage(scene)


class Warehouse(TaskExecutor):
    """Runs pipelines that somebody may have deleted meanwhile."""

    pipelines = frozenset(("good",))

    async def execute(self, run: Run) -> Result:
        pipeline = run.job.action.data["id"]
        if pipeline == "bad":
            raise OSError("no space left on device")
        if pipeline not in self.pipelines:
            return Result(Outcome.FAILED, f"there is no pipeline {pipeline}")
        return Result(Outcome.SUCCEEDED)


@pytest.mark.req("RAT-18")
def test_an_executor_that_fails_is_recorded_and_logged_and_the_schedule_advances(
    on_stage: On, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(stage: RatStage) -> None:
        stage.executor = Warehouse()
        await stage.declare(schedule("good"), schedule("bad"), schedule("gone"))
        await stage.node()
        await stage.clock.advance(2 * TEN_MINUTES + SECOND)

        errors = {run.job: (run.outcome, run.error) for run in await stage.runs()}
        assert errors["code/good"] == (Outcome.SUCCEEDED, None)
        outcome, error = errors["code/bad"]
        assert (outcome, (error or "").splitlines()[0]) == (
            Outcome.FAILED,
            "OSError: no space left on device",
        )
        assert errors["code/gone"] == (Outcome.FAILED, "there is no pipeline gone")
        assert len(await stage.runs()) == 6, "the next time they fired again"
        assert [(await stage.state(name)).next_at for name in ("good", "bad", "gone")] == [at(0, 30)] * 3

    with caplog.at_level(logging.WARNING, "foliot"):
        on_stage(scene)
    lines = [record.getMessage() for record in caplog.records]
    for name, words in (("bad", "no space left on device"), ("gone", "there is no pipeline gone")):
        told = [line for line in lines if f"attempt_failed run=code/{name}@" in line and words in line]
        assert len(told) == 2


@pytest.mark.req("RAT-08", "RAT-18")
def test_an_invalid_cron_in_the_store_costs_only_its_own_schedule_and_is_warned_about(
    on_tables: On, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(stage: RatStage) -> None:
        await stage.declare(schedule("a"), schedule("bad", "9 * * * *"), schedule("z"))
        stage.write("UPDATE jobs SET frame = replace(frame, '9 * * * *', 'at full moon')")
        await stage.node()
        await stage.clock.advance(2 * TEN_MINUTES + SECOND)

        assert sorted(key.partition("@")[0] for _, key, _ in stage.starts) == ["code/a"] * 2 + ["code/z"] * 2
        (view,) = await stage.store.jobs(JobQuery(keys=frozenset(("code/bad",))))
        assert "at full moon" in (view.problem or "")

        await stage.declare(schedule("a"), schedule("bad", "28 * * * *"), schedule("z"))
        await stage.clock.advance(TEN_MINUTES)
        assert "code/bad@2026-01-01T00:28:00Z" in [key for _, key, _ in stage.starts], "mended, it goes on"

    with caplog.at_level(logging.WARNING, "foliot"):
        on_tables(scene)
    lines = [record.getMessage() for record in caplog.records]
    [line] = [line for line in lines if line.startswith("job_set_aside")]
    assert "job=code/bad reason=" in line
    assert "at full moon" in line


# -- several instances, lost wake-ups, start and stop ----------------------------------------------


@pytest.mark.prove
@pytest.mark.req("RAT-12")
def test_several_instances_fire_every_occurrence_once(on_stage: On) -> None:
    async def scene(stage: RatStage) -> None:
        await stage.declare(*(schedule(f"s{number}", "* * * * *") for number in range(30)))
        for _ in range(4):
            await stage.node()
        await stage.clock.advance(6 * MINUTE + 5 * SECOND)

        fired = [key for _, key, _ in stage.starts]
        assert len(fired) == len(set(fired)) == 30 * 6
        runs = await stage.runs(limit=1000)
        assert sorted(run.run_key for run in runs) == sorted(fired)
        assert {run.outcome for run in runs} == {Outcome.SUCCEEDED}

    on_stage(scene)


@pytest.mark.req("RAT-15")
@pytest.mark.parametrize(
    ("settings", "found_at"),
    [({}, 80 * SECOND), ({"poll": 13 * SECOND}, 63 * SECOND), ({"poll": 7 * SECOND}, 60 * SECOND)],
    ids=["30 s unless told otherwise", "13 s", "7 s"],
)
def test_what_no_wake_up_tells_of_is_found_by_the_safety_poll(
    on_stage: On, settings: dict[str, Any], found_at: timedelta
) -> None:
    async def scene(stage: RatStage) -> None:
        await stage.clock.advance(50 * SECOND)
        await stage.node(**settings)  # it gets no hints at all
        await stage.clock.advance(5 * SECOND)
        await stage.declare(schedule(rule="1 0 * * *"))
        await stage.clock.advance(MINUTE)
        assert [start[0] for start in stage.starts] == [at(0) + found_at]

    on_stage(scene)


class Gate:
    """A store whose claims wait at a gate."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.is_open = asyncio.Event()
        self.waiting = asyncio.Event()

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._store, verb)

    async def claim(self, *args: Any) -> Any:
        claimed = await self._store.claim(*args)
        if claimed.runs:
            self.waiting.set()
            await self.is_open.wait()
        return claimed


@pytest.mark.req("RAT-17")
def test_a_stop_waits_for_the_turn_under_way(on_stage: On) -> None:
    async def scene(stage: RatStage) -> None:
        await stage.declare(schedule(), schedule("b"))
        gate = Gate(await stage.open())
        engine = await stage.node(store=gate)
        await stage.clock.advance(TEN_MINUTES)
        assert gate.waiting.is_set()
        assert stage.starts == [], "claimed, and not yet handed over"

        engine.stop()
        await stage.clock.advance(5 * SECOND)
        assert stage.is_living(engine), "the turn is under way"
        gate.is_open.set()
        await stage.stop(engine)
        assert len(stage.starts) == 2
        assert [run.outcome for run in await stage.runs()] == [Outcome.SUCCEEDED] * 2

        await stage.clock.advance(TEN_MINUTES)
        assert len(stage.starts) == 2, "stopped is stopped"
        await stage.node()
        await stage.clock.advance(MINUTE)
        assert len(stage.starts) == 4, "and started again, it goes on"

    on_stage(scene)
