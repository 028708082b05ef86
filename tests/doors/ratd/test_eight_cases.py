"""The eight cases that the document of ratd lists, each over real HTTP."""

from __future__ import annotations

import logging
from datetime import timedelta
from unittest.mock import ANY

import pytest

from doors.ratd.conftest import On
from doors.ratd.stage import RatdStage, at
from engine.stage import MINUTE, SECOND

TEN_MINUTES = timedelta(minutes=10)


@pytest.mark.req("RAT-18")
def test_no_schedules(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        await stage.node()
        await stage.clock.advance(TEN_MINUTES)
        assert await stage.ask("GET", "/schedules") == {"schedules": [], "total": 0, "next": None}
        assert await stage.told_runs() == []
        assert stage.told.troubles == []

    on_stage(scene)


@pytest.mark.req("RAT-07", "RAT-18")
def test_disabled(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        off = await stage.new_schedule(enabled=False)
        on = await stage.schedule_for(await stage.pipeline(name="other"))
        await stage.node()
        await stage.clock.advance(3 * TEN_MINUTES + MINUTE)
        told = await stage.ask("GET", f"/schedules/{off}")
        assert (told["enabled"], told["next_run_at"], told["last_run_at"]) == (False, None, None)
        assert {run["job"] for run in await stage.told_runs()} == {f"api/{on}"}

        told = await stage.ask("PATCH", f"/schedules/{off}", {"enabled": True})
        assert told["next_run_at"] == at(0, 40), "what passed while it was off is not owed"
        await stage.ask("PATCH", f"/schedules/{on}", {"enabled": False})
        await stage.clock.advance(TEN_MINUTES)
        assert [run["job"] for run in await stage.told_runs()][:2] == [f"api/{off}", f"api/{on}"]
        assert len(await stage.told_runs()) == 4

    on_stage(scene)


@pytest.mark.req("RAT-02", "RAT-05", "RAT-18")
def test_due(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        stage.takes = MINUTE
        schedule = await stage.new_schedule()
        await stage.node()
        await stage.clock.advance(TEN_MINUTES)

        [run] = await stage.told_runs()
        told = await stage.ask("GET", f"/schedules/{schedule}")
        assert (run["trigger"], run["status"], run["outcome"]) == ("schedule:*/10 * * * *", "running", None)
        assert (run["started_at"], run["finished_at"]) == (at(0, 10), None)
        assert (told["enabled"], told["cron"]) == (True, "*/10 * * * *")
        assert (told["last_run_at"], told["last_run_id"]) == (at(0, 10), run["id"])
        assert told["next_run_at"] == at(0, 20), "the run and the schedule are one write"
        assert [key for _, key, _ in stage.starts] == [run["key"]], "and it was handed to the executor"

        await stage.clock.advance(2 * MINUTE)
        ended = await stage.ask("GET", f"/runs/{told['last_run_id']}")
        assert (ended["status"], ended["outcome"]) == ("success", "succeeded")
        assert (ended["started_at"], ended["finished_at"]) == (at(0, 10), at(0, 11))
        assert ended["duration_ms"] == 60_000
        assert [attempt["number"] for attempt in ended["attempts"]] == [1]

    on_stage(scene)


@pytest.mark.req("RAT-04", "RAT-18")
def test_future(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        schedule = await stage.new_schedule()
        await stage.node()
        before = await stage.ask("GET", f"/schedules/{schedule}")
        await stage.clock.advance(TEN_MINUTES - SECOND)
        assert await stage.ask("GET", f"/schedules/{schedule}") == before
        assert await stage.told_runs() == []
        await stage.clock.advance(SECOND)
        assert len(await stage.told_runs()) == 1, "it was not dead, only early"

    on_stage(scene)


@pytest.mark.req("RAT-03", "RAT-18")
def test_no_next_run_at(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        await stage.node()
        await stage.clock.advance(5 * MINUTE)
        pipeline = await stage.pipeline()
        new = {"pipeline_id": pipeline, "cron": "*/10 * * * *"}
        of_this_minute = {"pipeline_id": pipeline, "cron": "5 0 * * *"}
        assert (await stage.ask("POST", "/schedules", new, 201))["next_run_at"] == at(0, 10), "from now"
        assert (await stage.ask("POST", "/schedules", of_this_minute, 201))["next_run_at"] == at(24, 5)
        await stage.clock.advance(4 * MINUTE)
        assert await stage.told_runs() == []
        kept = (await stage.ask("GET", "/schedules"))["schedules"]
        assert {one["next_run_at"] for one in kept} == {at(0, 10), at(24, 5)}, "and stored"

    on_stage(scene)


@pytest.mark.req("RAT-06", "RAT-18")
@pytest.mark.parametrize("has_run_before", [True, False])
def test_missed(on_stage: On, has_run_before: bool) -> None:  # noqa: FBT001 - a row of the table
    async def scene(stage: RatdStage) -> None:
        schedule = await stage.new_schedule()
        if has_run_before:
            engine = await stage.node()
            await stage.clock.advance(TEN_MINUTES + 5 * SECOND)
            await stage.stop(engine)
        before = len(await stage.told_runs())
        await stage.clock.advance(timedelta(hours=3, minutes=5) - (stage.clock.now() - stage.first_day()))

        await stage.node()
        await stage.clock.advance(4 * MINUTE)
        runs = await stage.told_runs()
        assert len(runs) == before + 1, "one, and not eighteen"
        assert (runs[0]["scheduled_for"], runs[0]["created_at"]) == (at(3), at(3, 5))
        assert runs[0]["trigger"] == "schedule:*/10 * * * *", "a catch-up, too, is a run of the schedule"
        told = await stage.ask("GET", f"/schedules/{schedule}")
        assert told["next_run_at"] == at(3, 10), "counted from now, not from what was missed"
        await stage.clock.advance(2 * MINUTE)
        assert len(await stage.told_runs()) == before + 2

    on_stage(scene)


@pytest.mark.req("RAT-09", "RAT-18")
def test_executor_failure(on_stage: On, caplog: pytest.LogCaptureFixture) -> None:
    async def scene(stage: RatdStage) -> None:
        stage.failing = {"bad"}
        bad = await stage.new_schedule(name="bad")
        gone = await stage.new_schedule(name="gone")
        pipeline = (await stage.ask("GET", f"/schedules/{gone}"))["pipeline_id"]
        await stage.ask("DELETE", "/pipelines/shop/gold/gone", code=204)
        await stage.node()
        await stage.clock.advance(2 * TEN_MINUTES + SECOND)

        told = {run["job"]: run for run in reversed(await stage.told_runs())}
        assert len(await stage.told_runs()) == 4, "they fired again, and again"
        assert {run["status"] for run in told.values()} == {"failed"}
        assert told[f"api/{bad}"]["error"].startswith("OSError: no space left on device")
        assert told[f"api/{gone}"]["error"] == f"the pipeline {pipeline} is gone"
        assert told[f"api/{gone}"]["pipeline_id"] == pipeline
        for schedule in (bad, gone):
            told_now = await stage.ask("GET", f"/schedules/{schedule}")
            assert (told_now["next_run_at"], told_now["last_run_at"]) == (at(0, 30), at(0, 20))
            assert told_now["last_run_id"] == told[f"api/{schedule}"]["id"]

    with caplog.at_level(logging.WARNING, "foliot"):
        on_stage(scene)
    lines = [record.getMessage() for record in caplog.records]
    for words in ("no space left on device", "is gone"):
        assert len([line for line in lines if "attempt_failed" in line and words in line]) == 2


@pytest.mark.req("RAT-08", "RAT-18")
def test_invalid_cron(on_stage: On, caplog: pytest.LogCaptureFixture) -> None:
    async def scene(stage: RatdStage) -> None:
        pipeline = await stage.pipeline()
        good = await stage.schedule_for(pipeline)
        bad = await stage.schedule_for(pipeline, "9 * * * *")
        refused = await stage.ask(
            "POST", "/schedules", {"pipeline_id": pipeline, "cron": "at full moon"}, 422
        )
        assert (refused["code"], refused["errors"][0]["pointer"]) == ("INVALID", "/cron")
        stage.write("UPDATE jobs SET frame = replace(frame, '9 * * * *', 'at full moon')")
        await stage.node()
        await stage.clock.advance(2 * TEN_MINUTES + SECOND)

        assert {run["job"] for run in await stage.told_runs()} == {f"api/{good}"}
        told = await stage.ask("GET", f"/schedules/{bad}")
        assert (told["cron"], told["enabled"], told["next_run_at"], told["damage"]) == (
            None,
            False,
            None,
            ANY,
        )
        assert "at full moon" in told["damage"]
        listed = (await stage.ask("GET", "/schedules"))["schedules"]
        assert {one["id"] for one in listed} == {good, bad}
        await stage.ask("DELETE", f"/schedules/{bad}", code=204)

    with caplog.at_level(logging.WARNING, "foliot"):
        on_stage(scene)
    lines = [record.getMessage() for record in caplog.records]
    [line] = [line for line in lines if line.startswith("job_set_aside")]
    assert "at full moon" in line
