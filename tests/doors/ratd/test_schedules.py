"""Schedules over real HTTP: made, read, listed, changed and removed, by UUIDs and by names."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from doors.ratd.conftest import On
from doors.ratd.stage import RatdStage, at
from engine.stage import MINUTE

NAMES = {"namespace": "shop", "layer": "gold", "pipeline": "sales"}
FIELDS = {
    "id", "pipeline_id", "namespace", "layer", "pipeline", "cron", "timezone", "enabled", "next_run_at",
    "last_run_at", "last_run_id", "version", "created_at", "updated_at",
}  # fmt: skip


@pytest.mark.req("RAT-01", "RAT-02")
def test_the_life_of_a_schedule(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        pipeline = await stage.pipeline()
        answer = await stage.client.post("/schedules", json={**NAMES, "cron": "0 7 * * *"})
        assert answer.status_code == 201
        made = answer.json()
        assert set(made) >= FIELDS
        assert str(UUID(made["id"])) == made["id"]
        assert answer.headers["location"] == f"/api/v1/schedules/{made['id']}"
        told = {name: made[name] for name in ("pipeline_id", "cron", "timezone", "enabled", "version")}
        assert told == {
            "pipeline_id": pipeline, "cron": "0 7 * * *", "timezone": "UTC", "enabled": True, "version": 1,
        }  # fmt: skip
        assert {name: made[name] for name in NAMES} == NAMES
        assert (made["next_run_at"], made["last_run_at"], made["last_run_id"]) == (at(7), None, None)
        assert (made["created_at"], made["updated_at"]) == (at(0), at(0))
        one = f"/schedules/{made['id']}"
        shown = {"dry_run", "would", "plan", "links", "damage"}
        assert {**await stage.ask("GET", one), **{n: made[n] for n in shown}} == made

        await stage.clock.advance(MINUTE)
        changed = await stage.ask("PATCH", one, {"cron": "0 9 * * *", "timezone": "Europe/Berlin"})
        assert (changed["next_run_at"], changed["version"]) == (at(8), 2), "a changed rule counts from now"
        assert (changed["created_at"], changed["updated_at"]) == (at(0), at(0, 1))
        off = await stage.ask("PUT", one, {"enabled": False})
        assert (off["cron"], off["enabled"], off["next_run_at"]) == ("0 9 * * *", False, None), "partial, too"
        assert (await stage.ask("PATCH", one, {}))["version"] == off["version"], "nothing is no change"

        await stage.ask("DELETE", one, code=204)
        for verb in ("GET", "PATCH", "DELETE"):
            gone = await stage.ask(verb, one, {} if verb == "PATCH" else None, 404)
            assert gone["code"] == "SCHEDULE_NOT_FOUND"
        again = await stage.ask("POST", "/schedules", {**NAMES, "cron": "0 7 * * *"}, 201)
        assert (again["version"], again["created_at"]) == (1, at(0, 1)), "it begins anew"

    on_stage(scene)


def test_what_cannot_be_a_schedule(on_file: On) -> None:
    async def scene(stage: RatdStage) -> None:
        pipeline = await stage.pipeline()
        good = {"pipeline_id": pipeline, "cron": "0 7 * * *"}
        for body, code, pointer in (
            ({"cron": "0 7 * * *"}, 422, "/pipeline_id"),
            ({**good, **NAMES}, 422, "/pipeline_id"),
            ({"namespace": "shop", "pipeline": "sales", "cron": "0 7 * * *"}, 422, "/pipeline_id"),
            ({"pipeline_id": pipeline}, 422, "/cron"),
            ({**good, "cron": "0 7 * *"}, 422, "/cron"),
            ({**good, "cron": "0 0 31 2 *"}, 422, "/cron"),
            ({**good, "cron": 7}, 422, "/cron"),
            ({**good, "timezone": "Mars/Phobos"}, 422, "/timezone"),
            ({**good, "enabled": "yes"}, 422, "/enabled"),
            ({**good, "crom": ""}, 422, "/crom"),
            ({**good, "pipeline_id": "0" * 36}, 404, None),
            ({**NAMES, "pipeline": "other", "cron": "0 7 * * *"}, 404, None),
        ):  # fmt: skip
            problem = await stage.ask("POST", "/schedules", body, code)
            assert code == 404 or problem["errors"][0]["pointer"] == pointer, (body, problem)
        assert (await stage.ask("GET", "/schedules"))["total"] == 0, "nothing was stored"
        for path in ("/schedules/x", "/schedules/api~2Fx", f"/schedules/{pipeline}"):
            assert (await stage.ask("GET", path, code=404))["code"] == "SCHEDULE_NOT_FOUND"
        assert (await stage.ask("GET", "/schedules?enabled=maybe", code=400))["code"] == "BAD_QUERY"
        assert (await stage.ask("GET", "/schedules?offset=10001", code=400))["code"] == "BAD_QUERY"

    on_file(scene)


def test_a_pipeline_has_a_rule_once(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        pipeline = await stage.pipeline()
        body = {"pipeline_id": pipeline, "cron": "0 7 * * *"}
        answers = await asyncio.gather(*(stage.client.post("/schedules", json=body) for _ in range(6)))
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
        assert {a.json()["code"] for a in answers if a.status_code == 409} == {"ALREADY_THERE"}
        [first] = [answer.json()["id"] for answer in answers if answer.status_code == 201]
        second = await stage.schedule_for(pipeline, "0 8 * * *")
        await stage.schedule_for(pipeline, timezone="Asia/Tokyo", cron="0 7 * * *")
        await stage.ask("PATCH", f"/schedules/{second}", {"cron": "0 7 * * *"}, 409)

        await stage.ask("PATCH", f"/schedules/{first}", {"cron": "0 9 * * *"})
        third = await stage.schedule_for(pipeline, "0 7 * * *")
        assert third != first, "the rule is free again, the id is not"
        await stage.schedule_for(await stage.pipeline(name="other"), "0 7 * * *")

    on_stage(scene)


def test_preconditions_repeated_requests_and_dry_runs(on_file: On) -> None:
    async def scene(stage: RatdStage) -> None:
        pipeline = await stage.pipeline()
        body = {"pipeline_id": pipeline, "cron": "*/10 * * * *"}
        tried = await stage.ask("POST", "/schedules?dry_run=true", body, 200)
        assert (tried["dry_run"], tried["next_run_at"], tried["would"]["next_at"]) == (
            True,
            at(0, 10),
            at(0, 10),
        )
        assert (await stage.ask("GET", "/schedules"))["total"] == 0

        key = {"Idempotency_Key": "k1"}
        made = await stage.ask("POST", "/schedules", body, 201, **key)
        again = await stage.client.post("/schedules", json=body, headers={"Idempotency-Key": "k1"})
        assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")
        assert again.json()["id"] == made["id"]
        reused = await stage.ask("POST", "/schedules", {**body, "cron": "0 7 * * *"}, 422, **key)
        assert reused["code"] == "KEY_REUSED"

        one = f"/schedules/{made['id']}"
        seen = await stage.client.get(one)
        fresh = await stage.client.get(one, headers={"If-None-Match": seen.headers["etag"]})
        assert (fresh.status_code, fresh.content) == (304, b"")
        tried = await stage.ask("PATCH", f"{one}?dry_run=true", {"cron": "0 7 * * *"})
        assert (tried["dry_run"], tried["next_run_at"]) == (True, at(7))
        stale = await stage.ask("PATCH", one, {"enabled": False}, 412, If_Match='"v7"')
        assert (stale["code"], stale["version"]) == ("VERSION_CHANGED", 1)
        assert (await stage.ask("PATCH", one, {"enabled": False}, If_Match='"v1"'))["version"] == 2
        await stage.ask("DELETE", one, code=412, If_Match='"v1"')
        assert (await stage.ask("DELETE", f"{one}?dry_run=true", code=200))["dry_run"] is True
        await stage.ask("DELETE", one, code=204, If_Match='"v2"')

    on_file(scene)


def test_lists_have_a_total_and_are_paged_by_offset_and_by_cursor(on_file: On) -> None:
    async def scene(stage: RatdStage) -> None:
        sales, other = await stage.pipeline(), await stage.pipeline(name="other")
        wanted = {await stage.schedule_for(sales, f"{n} 7 * * *", enabled=n != 3) for n in range(5)}
        few = {await stage.schedule_for(other, f"{n} 8 * * *") for n in range(2)}
        await stage.ask("POST", "/jobs", {"schedule": "@daily", "action": {"kind": "python:x"}}, 201)

        async def listed(**query: Any) -> tuple[list[str], int, str | None]:
            answer = (await stage.client.get("/schedules", params=query)).json()
            return [one["id"] for one in answer["schedules"]], answer["total"], answer["next"]

        everything, total, following = await listed()
        assert (set(everything), total, following) == (wanted | few, 7, None)
        assert (await listed(pipeline_id=sales))[:2] == (sorted(wanted), 5)
        assert (await listed(pipeline_id=sales, enabled=False))[1] == 1
        assert (await listed(enabled=True))[1] == 6
        assert (await listed(pipeline_id="none"))[:2] == ([], 0)
        assert (await listed(limit=3, offset=2))[:2] == (everything[2:5], 7)
        assert (await listed(limit=3, offset=6)) == (everything[6:], 7, None)
        paged = await stage.pages("schedules", limit=3)
        assert [one["id"] for one in paged] == everything
        cursor = (await listed(limit=3))[2]
        assert (await listed(limit=3, cursor=cursor))[1] == 7
        refused = await stage.client.get("/schedules", params={"limit": 3, "cursor": "x"})
        assert refused.json()["code"] == "BAD_CURSOR"

    on_file(scene)


def test_removing_a_schedule_leaves_what_runs_and_its_history(on_file: On) -> None:
    async def scene(stage: RatdStage) -> None:
        stage.takes = timedelta(minutes=5)
        schedule = await stage.new_schedule()
        await stage.node()
        await stage.clock.advance(timedelta(minutes=10))
        [run] = await stage.told_runs()
        await stage.ask("DELETE", f"/schedules/{schedule}", code=204)
        await stage.clock.advance(timedelta(minutes=30))
        ended = await stage.ask("GET", f"/runs/{run['id']}")
        assert (ended["status"], ended["trigger"]) == ("success", "schedule:*/10 * * * *")
        assert len(await stage.told_runs(pipeline_id=ended["pipeline_id"])) == 1

    on_file(scene)
