"""Runs over real HTTP: asked for by hand, filled in, cancelled, listed; and none that waits for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest

from doors.ratd.conftest import On
from doors.ratd.stage import RatdStage, at, instant
from engine.rat_stage import LEASE
from engine.stage import MINUTE, SECOND
from foliot.model.state import Node

NAMES = {"namespace": "shop", "layer": "gold", "pipeline": "sales"}
TEN_MINUTES = timedelta(minutes=10)


@pytest.mark.req("RAT-11", "RAT-16")
def test_without_a_node_that_can_run_it_nothing_is_left_pending(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        pipeline = await stage.pipeline()
        for _ in range(2):
            refused = await stage.ask("POST", "/runs", {"pipeline_id": pipeline}, 503)
            assert refused["code"] == "NO_EXECUTOR"
            assert (await stage.ask("GET", "/runs"))["runs"] == []
        told = await stage.ask("GET", "/scheduler")
        assert (told["engine"], told["nodes"]) == (False, 0)

        engine = await stage.node()
        assert (await stage.ask("GET", "/scheduler"))["nodes"] == 1
        asked = await stage.ask("POST", "/runs", {"pipeline_id": pipeline}, 202)
        await stage.clock.advance(MINUTE)
        assert (await stage.ask("GET", f"/runs/{asked['run_id']}"))["status"] == "success"
        await stage.stop(engine)
        await stage.ask("POST", "/runs", {"pipeline_id": pipeline}, 503)
        await stage.store.join(Node("silent", kinds=("pipeline:",)))
        await stage.store.join(Node("other", kinds=("http:",)))
        await stage.clock.advance(LEASE + SECOND)
        await stage.ask("POST", "/runs", {"pipeline_id": pipeline}, 503)
        assert [run["status"] for run in await stage.told_runs()] == ["success"]

    on_stage(scene)


@pytest.mark.req("RAT-16")
def test_a_run_by_hand_from_pending_to_its_end(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        stage.takes = MINUTE
        pipeline = await stage.pipeline()
        await stage.node()
        tried = await stage.ask("POST", "/runs?dry_run=true", NAMES, 200)
        assert (tried["dry_run"], len(tried["would"]["starts"])) == (True, 1)
        asked = await stage.ask("POST", "/runs", NAMES, 202, Idempotency_Key="k7")
        assert asked["status"] == "pending"
        again = await stage.client.post("/runs", json=NAMES, headers={"Idempotency-Key": "k7"})
        assert (again.status_code, again.json()["run_id"]) == (202, asked["run_id"])
        assert again.headers["idempotency-replayed"] == "true"

        await stage.clock.advance(31 * SECOND)  # the safety poll: no hint reaches the node
        one = f"/runs/{asked['run_id']}"
        assert (await stage.ask("GET", one))["status"] == "running"
        await stage.clock.advance(MINUTE)
        ended = await stage.ask("GET", one)
        assert (ended["status"], ended["trigger"], ended["pipeline_id"]) == ("success", "manual", pipeline)
        assert len(await stage.told_runs()) == 1
        assert (await stage.ask("POST", f"{one}/cancel", code=409))["code"]
        entries = (await stage.ask("GET", "/audit"))["audit"]
        told = [(entry["object"], entry["outcome"]) for entry in entries if entry["verb"] == "run_pipeline"]
        assert told == [("pipeline:shop/gold/sales", "done")] * 2
        for body, code in (({}, 422), ({"pipeline_id": "x"}, 404), ({**NAMES, "pipeline": "none"}, 404)):
            await stage.ask("POST", "/runs", body, code)

    on_stage(scene)


@pytest.mark.req("RAT-14")
def test_missed_occurrences_are_filled_in_by_hand(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        schedule = await stage.new_schedule()
        await stage.clock.advance(timedelta(hours=1))
        await stage.node()
        await stage.clock.advance(MINUTE)
        [caught_up] = await stage.told_runs()
        body = {"from": at(0, 1), "to": at(1), "which": "missed"}
        fill = f"/schedules/{schedule}/backfills"
        tried = await stage.ask("POST", f"{fill}?dry_run=true", body, 200)
        assert len(tried["runs"]) == 5
        assert len(await stage.told_runs()) == 1
        filled = await stage.ask("POST", fill, body, 202)
        assert filled["runs"] == tried["runs"]
        await stage.clock.advance(MINUTE)
        runs = {run["id"]: run for run in await stage.told_runs()}
        assert len(runs) == 6
        assert {runs[one["id"]]["trigger"] for one in filled["runs"]} == {"backfill"}
        assert {run["status"] for run in runs.values()} == {"success"}
        times = sorted(instant(run["scheduled_for"]) for run in runs.values())
        assert times == [stage.first_day() + n * TEN_MINUTES for n in range(1, 7)]
        assert caught_up["id"] in runs
        assert (await stage.ask("POST", fill, body, 202))["runs"] == [], "none is missing any more"
        assert (await stage.ask("POST", fill, {**body, "to": at(5)}, 422))["errors"][0]["pointer"] == "/to"
        assert (await stage.ask("POST", fill, {**body, "from": "yesterday"}, 422))["code"] == "INVALID"
        long_ago = {**body, "from": "2025-01-01T00:00:00Z"}
        assert (await stage.ask("POST", fill, long_ago, 409))["status"] == 409, "more than 1,000"

    on_stage(scene)


@pytest.mark.req("RAT-05", "RAT-16")
def test_runs_are_listed_by_pipeline_and_status_and_keep_the_rule_that_fired_them(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        stage.failing = {"other"}
        pipeline = await stage.pipeline()
        first, second = await stage.schedule_for(pipeline), await stage.schedule_for(pipeline, "*/20 * * * *")
        await stage.new_schedule(name="other")
        await stage.node()
        await stage.clock.advance(4 * TEN_MINUTES + SECOND)
        await stage.ask("PATCH", f"/schedules/{first}", {"cron": "0 7 * * *"})

        runs = await stage.told_runs(pipeline_id=pipeline)
        assert len(runs) == 6
        assert {run["trigger"] for run in runs} == {"schedule:*/10 * * * *", "schedule:*/20 * * * *"}, (
            "of then"
        )
        assert {run["job"] for run in runs} == {f"api/{first}", f"api/{second}"}
        times = [run["scheduled_for"] for run in runs]
        assert times == sorted(times, reverse=True)
        assert [run["id"] for run in await stage.told_runs(**NAMES)] == [run["id"] for run in runs]
        assert await stage.told_runs(**NAMES | {"pipeline": "none"}) == []
        assert len(await stage.told_runs(status="failed")) == 4
        assert await stage.told_runs(pipeline_id=pipeline, status="failed") == []
        assert len(await stage.told_runs(pipeline_id=pipeline, started_after=at(0, 30))) == 3
        await stage.ask("GET", "/runs?namespace=shop", code=400)
        paged = await stage.pages("runs", pipeline_id=pipeline, limit=1)
        assert paged == runs, "also those of one instant"

    on_stage(scene)


@pytest.mark.req("RAT-16")
def test_a_cancelled_run_ends_as_cancelled(on_file: On) -> None:
    async def scene(stage: RatdStage) -> None:
        stage.takes = timedelta(hours=9)
        pipeline = await stage.pipeline()
        await stage.node(beat=SECOND)
        asked = await stage.ask("POST", "/runs", {"pipeline_id": pipeline}, 202)
        await stage.clock.advance(31 * SECOND)
        await stage.ask("POST", f"/runs/{asked['run_id']}/cancel", code=202)
        await stage.clock.advance(5 * SECOND)
        ended = await stage.ask("GET", f"/runs/{asked['run_id']}")
        assert (ended["status"], ended["outcome"]) == ("cancelled", "cancelled")

    on_file(scene)
