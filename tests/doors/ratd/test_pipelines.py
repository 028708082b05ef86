"""Pipelines over real HTTP: made, read, listed, changed and removed, by UUIDs and by names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from doors.ratd.conftest import On
from doors.ratd.stage import SALES, RatdStage, at
from engine.stage import MINUTE

NAMED = "/pipelines/shop/gold/sales"


@pytest.mark.req("RAT-01", "RAT-16")
def test_the_life_of_a_pipeline(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        answer = await stage.client.post("/pipelines", json=SALES)
        made = answer.json()
        assert answer.status_code == 201
        assert answer.headers["location"] == f"/api/v1/pipelines/{made['id']}"
        assert {name: made[name] for name in SALES} == SALES
        assert (made["status"], made["version"], made["last_run"]) == ("active", 1, None)
        assert (made["created_at"], made["updated_at"]) == (at(0), at(0))
        by_id = f"/pipelines/{made['id']}"
        assert await stage.ask("GET", by_id) == await stage.ask("GET", NAMED) == made

        await stage.clock.advance(MINUTE)
        changed = await stage.ask("PATCH", NAMED, {"description": "all sales", "type": "python"})
        assert (changed["description"], changed["type"], changed["version"]) == ("all sales", "python", 2)
        assert (changed["created_at"], changed["updated_at"]) == (at(0), at(0, 1))
        whole = await stage.ask("PUT", by_id, SALES | {"name": "revenue"})
        assert (whole["name"], whole["description"], whole["version"]) == ("revenue", "", 3)
        await stage.ask("GET", NAMED, code=404)
        stale = await stage.ask("PATCH", by_id, {"type": ""}, 412, If_Match='"v2"')
        assert (stale["code"], stale["version"]) == ("VERSION_CHANGED", 3)

        await stage.ask("DELETE", "/pipelines/shop/gold/revenue", code=204, If_Match='"v3"')
        assert (await stage.ask("GET", by_id, code=404))["code"] == "PIPELINE_NOT_FOUND"
        assert (await stage.ask("GET", "/pipelines"))["pipelines"] == []
        await stage.pipeline(name="revenue")

    on_stage(scene)


def test_what_cannot_be_a_pipeline(on_file: On) -> None:
    async def scene(stage: RatdStage) -> None:
        taken = await stage.pipeline()
        assert (await stage.ask("POST", "/pipelines", SALES, 409))["code"] == "ALREADY_THERE"
        assert (await stage.ask("POST", "/pipelines?dry_run=true", SALES, 409))["code"] == "ALREADY_THERE"
        other = await stage.pipeline(name="other")
        await stage.ask("PATCH", f"/pipelines/{other}", {"name": "sales"}, 409)
        http = {"kind": "http", "payload": {"url": "ftp://x"}}
        for body, pointer in (
            ({**SALES, "name": "Sales"}, "/name"),
            ({**SALES, "name": "9sales"}, "/name"),
            ({**SALES, "layer": ""}, "/layer"),
            ({**SALES, "namespace": "a" * 129}, "/namespace"),
            ({name: SALES[name] for name in ("namespace", "layer", "name")}, "/action"),
            ({**SALES, "name": "x", "action": http}, "/action/payload/url"),
            ({**SALES, "name": "x", "action": {"kind": "pipeline"}}, "/action/kind"),
            ({**SALES, "colour": "red"}, "/colour"),
        ):
            problem = await stage.ask("POST", "/pipelines", body, 422)
            assert problem["errors"][0]["pointer"] == pointer, (body, problem)
        assert [p["id"] for p in (await stage.ask("GET", "/pipelines"))["pipelines"]] == [other, taken]

    on_file(scene)


def test_repeated_requests_dry_runs_and_lists(on_file: On) -> None:
    async def scene(stage: RatdStage) -> None:
        tried = await stage.ask("POST", "/pipelines?dry_run=true", SALES, 200)
        assert (tried["dry_run"], tried["name"]) == (True, "sales")
        made = await stage.ask("POST", "/pipelines", SALES, 201, Idempotency_Key="k")
        again = await stage.client.post("/pipelines", json=SALES, headers={"Idempotency-Key": "k"})
        assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")
        assert again.json()["id"] == made["id"]
        reused = await stage.ask("POST", "/pipelines", SALES | {"name": "x"}, 422, Idempotency_Key="k")
        assert reused["code"] == "KEY_REUSED"
        assert (await stage.ask("PATCH", f"{NAMED}?dry_run=true", {"type": "x"}))["version"] == 2
        assert (await stage.ask("GET", NAMED))["version"] == 1

        for name in ("a", "b", "c"):
            await stage.pipeline(name=name, layer="silver")
        for query, names in (
            ("layer=silver", ["a", "b", "c"]),
            ("namespace=shop&search=ALE", ["sales"]),
            ("namespace=else", []),
        ):
            found = await stage.ask("GET", f"/pipelines?{query}")
            assert [one["name"] for one in found["pipelines"]] == names
            assert all(one["action"]["payload"] is None for one in found["pipelines"]), "not in lists"
        page = await stage.ask("GET", "/pipelines?limit=3")
        rest = await stage.ask("GET", f"/pipelines?limit=3&cursor={page['next']}")
        assert [one["name"] for one in (*page["pipelines"], *rest["pipelines"])] == ["sales", "a", "b", "c"]
        assert page["total"] == rest["total"] == 4
        last = await stage.ask("GET", "/pipelines?limit=3&offset=2")
        assert ([one["name"] for one in last["pipelines"]], last["total"], last["next"]) == (
            ["b", "c"],
            4,
            None,
        )

    on_file(scene)


@pytest.mark.req("RAT-09")
def test_removing_a_pipeline_keeps_its_schedules_unless_it_is_told_to_cascade(on_stage: On) -> None:
    async def scene(stage: RatdStage) -> None:
        kept, removed = await stage.new_schedule(), await stage.new_schedule(name="other")
        await stage.ask("DELETE", NAMED, code=204)
        assert (await stage.ask("GET", f"/schedules/{kept}"))["pipeline"] == "sales"
        other = "/pipelines/shop/gold/other?cascade=true"
        assert (await stage.ask("DELETE", f"{other}&dry_run=true", code=200))["schedules"] == [removed]
        await stage.ask("GET", f"/schedules/{removed}")
        await stage.ask("DELETE", other, code=204)
        await stage.ask("GET", f"/schedules/{removed}", code=404)

    on_stage(scene)


def test_a_change_of_a_pipeline_counts_for_the_next_run_and_its_runs_are_told(on_file: On) -> None:
    async def scene(stage: RatdStage) -> None:
        schedule = await stage.new_schedule()
        await stage.node()
        await stage.clock.advance(timedelta(minutes=11))
        changed = await stage.ask("PATCH", NAMED, {"name": "revenue", "action": {"kind": "python:other"}})
        assert (await stage.ask("GET", f"/schedules/{schedule}"))["pipeline"] == "revenue"
        await stage.clock.advance(timedelta(minutes=10))
        runs = await stage.told_runs(namespace="shop", layer="gold", pipeline="revenue")
        logs = [(await stage.ask("GET", f"/runs/{run['id']}/logs"))["text"] for run in reversed(runs)]
        assert logs == ["running shop/gold/sales\n", "running shop/gold/revenue\n"]
        assert (await stage.ask("GET", f"/pipelines/{changed['id']}"))["last_run"] == runs[0]["id"]

    on_file(scene)
