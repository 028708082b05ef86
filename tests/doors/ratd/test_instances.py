"""Several instances of ratd on one store, lost wake-ups, and what a turn costs; seen over real HTTP."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from doors.ratd.conftest import On
from doors.ratd.stage import Counting, RatdStage, at
from engine.stage import MINUTE, SECOND

TEN_MINUTES = timedelta(minutes=10)


@pytest.mark.req("RAT-12")
def test_several_instances_fire_every_occurrence_once(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        pipeline = await stage.pipeline()
        for number in range(10):
            await stage.schedule_for(pipeline, f"{number}-59 * * * *")
        for _ in range(3):
            await stage.node()
        await stage.clock.advance(8 * MINUTE + 5 * SECOND)

        runs = await stage.pages("runs", limit=20)
        wanted = sum(8 if first == 0 else max(0, 9 - first) for first in range(10))
        keys = [run["key"] for run in runs]
        assert len(keys) == len(set(keys)) == wanted
        assert sorted(key for _, key, _ in stage.starts) == sorted(keys)
        assert {(run["status"], run["number"]) for run in runs} == {("success", 1)}

    on_stage(scene)


@pytest.mark.req("RAT-13")
def test_a_turn_asks_as_much_of_the_store_however_many_schedules_there_are(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        pipeline = await stage.pipeline()
        await stage.schedule_for(pipeline)
        engine = await stage.node(store=Counting(await stage.open(), stage))
        await stage.clock.advance(TEN_MINUTES - SECOND)

        async def turn() -> dict[str, int]:
            before = stage.verbs.copy()
            await stage.clock.advance(2 * SECOND)
            spent = stage.verbs - before
            return {verb: spent[verb] for verb in ("claim", "wakes", "jobs", "finish")}

        few = await turn()
        later = {"schedule": "0 0 1 1 *", "action": {"kind": "python:x"}}
        batch = {"jobs": [{**later, "name": f"later-{number}"} for number in range(300)]}
        await stage.ask("POST", "/jobs/batch", batch)
        await stage.clock.advance(TEN_MINUTES - 2 * SECOND)
        assert await turn() == few
        assert len(await stage.told_runs()) == 2
        await stage.stop(engine)

    on_stage(scene)


@pytest.mark.req("RAT-15")
@pytest.mark.parametrize(
    ("settings", "found_at"), [({}, 80 * SECOND), ({"poll": 7 * SECOND}, 60 * SECOND)], ids=["30 s", "7 s"]
)
def test_what_no_wake_up_tells_of_is_found_by_the_safety_poll(
    on_stage: On, settings: dict[str, Any], found_at: timedelta
) -> None:
    async def scene(stage: RatdStage) -> None:
        await stage.clock.advance(50 * SECOND)
        await stage.node(**settings)  # it gets no hints at all
        await stage.clock.advance(5 * SECOND)
        await stage.new_schedule("1 0 * * *")
        await stage.clock.advance(MINUTE)
        [run] = await stage.told_runs()
        assert run["created_at"] == at(0, 0, int(found_at.total_seconds()))

    on_stage(scene)


class Gate:
    """A store whose claims wait at a gate."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.is_open = asyncio.Event()

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._store, verb)

    async def claim(self, *args: Any) -> Any:
        claimed = await self._store.claim(*args)
        if claimed.runs:
            await self.is_open.wait()
        return claimed


@pytest.mark.req("RAT-10", "RAT-17")
def test_a_stop_waits_for_the_turn_under_way_and_the_api_answers_meanwhile(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        await stage.new_schedule()
        gate = Gate(await stage.open())
        engine = await stage.node(store=gate)
        await stage.clock.advance(TEN_MINUTES)
        engine.stop()
        await stage.clock.advance(5 * SECOND)
        assert stage.is_living(engine), "the turn is under way"
        [run] = await stage.told_runs()
        assert (run["status"], stage.starts) == ("running", []), "claimed, and not yet handed over"
        await stage.new_schedule(name="other")

        gate.is_open.set()
        await stage.stop(engine)
        assert [run["status"] for run in await stage.told_runs()] == ["success"]
        await stage.clock.advance(TEN_MINUTES)
        assert len(await stage.told_runs()) == 1, "stopped is stopped"
        await stage.node()
        await stage.clock.advance(MINUTE)
        assert len(await stage.told_runs()) == 3, "and started again, it goes on"

    on_stage(scene)
