"""Each job that a change touches is found in the audit, however many there are, however it ended."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from api.stage import BACKUP, NEW, PIPELINE, Stage
from foliot.errors import StoreUnavailableError


def entries(stage: Stage, job: str) -> list[Any]:
    """What the audit has about a job, the newest first."""
    found: list[Any] = stage.get("/audit", params={"object": f"job:{job}"})["audit"]
    return found


def author(stage: Stage, job: str) -> Any:
    """Who has made the version of a job that is there."""
    return stage.get(f"/jobs/{job.replace('/', '~2F')}/versions")["versions"][0]["author"]


def test_each_job_of_a_bulk_has_its_own_entry_also_one_that_was_refused(stage: Stage) -> None:
    names = [uuid4().hex for _ in range(3)]
    stage.declare(*(replace(BACKUP, name=name) for name in names[:2]))
    ids = [f"ops~2F{name}" for name in names]
    key = {"Idempotency-Key": "one-of-many"}
    found = stage.post("/jobs/bulk", {"action": "run", "ids": ids}, headers=key)["results"]
    assert [one["status"] for one in found] == [200, 200, 404]

    of_each = [entries(stage, f"ops/{name}") for name in names[:2]]
    for [entry] in of_each:
        assert (entry["verb"], entry["outcome"]) == ("trigger", "done")
        assert entry["actor"].endswith(" admin")
    assert entries(stage, f"ops/{names[2]}") == []
    stage.post("/jobs/bulk?dry_run=true", {"action": "pause", "ids": ids[:2]})
    assert len(entries(stage, f"ops/{names[0]}")) == 1, "a dry run writes nothing"
    whole = stage.get("/audit", params={"object": "path:/api/v1/jobs/bulk"})["audit"][0]
    assert (whole["verb"], whole["request_id"]) == ("bulk", of_each[0][0]["request_id"])
    assert json.loads(whole["after"]) == {"action": "run", "jobs": 3, "refused": 1}


def test_a_bulk_that_breaks_off_has_told_what_it_did(alone: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    alone.declare(*(replace(BACKUP, name=name) for name in ("first", "second", "third")))
    store = alone.server.application.service.store
    update = store.update

    async def away(keys: Any, *given: Any, **named: Any) -> Any:
        if "ops/second" in keys:
            raise StoreUnavailableError("update", "it is away")
        return await update(keys, *given, **named)

    monkeypatch.setattr(store, "update", away)
    ids = ["ops~2Ffirst", "ops~2Fsecond", "ops~2Fthird"]
    alone.post("/jobs/bulk", {"action": "pause", "ids": ids}, code=503)

    told = [
        [entry["outcome"] for entry in entries(alone, f"ops/{name}")] for name in ("first", "second", "third")
    ]
    assert told == [["done"], ["unknown"], []]


def test_each_job_of_a_batch_has_its_author(stage: Stage) -> None:
    names = [uuid4().hex for _ in range(3)]
    batch = {"jobs": [{**NEW, "name": name} for name in names]}
    stage.post("/jobs/batch", batch, who="write")
    batch["jobs"][2] = {**NEW, "name": names[2], "schedule": "@hourly"}
    stage.post("/jobs/batch", batch, who="admin")

    assert [author(stage, f"api/{name}").partition(" ")[2] for name in names] == ["write", "write", "admin"]
    assert [len(entries(stage, f"api/{name}")) for name in names] == [1, 1, 2], "what stays has no entry"
    whole = stage.get("/audit", params={"object": "source:api"})["audit"][0]
    assert json.loads(whole["after"]) == {"jobs": names}


def test_a_batch_that_is_refused_names_its_jobs_and_the_place_of_the_fault(stage: Stage) -> None:
    names = [uuid4().hex for _ in range(2)]
    jobs = [{**NEW, "name": names[0]}, {**NEW, "name": names[1], "schedule": "61 * * * *"}]
    problem = stage.post("/jobs/batch", {"jobs": jobs}, code=422)
    assert problem["errors"][0]["pointer"] == "/jobs/1/schedule"

    whole = stage.get("/audit", params={"object": "source:api"})["audit"][0]
    assert (whole["outcome"], json.loads(whole["after"])) == ("refused", {"jobs": names})
    assert [entries(stage, f"api/{name}") for name in names] == [[], []]


def test_schedules_that_change_with_their_pipeline_have_entries(stage: Stage) -> None:
    pipeline = stage.post("/pipelines", {**PIPELINE, "name": f"p{uuid4().hex}"}, code=201)["id"]
    made = stage.post("/schedules", {"pipeline_id": pipeline, "cron": "0 4 * * *"}, who="write", code=201)
    key = f"api/{made['id']}"
    assert author(stage, key).endswith(" write")
    stage.expect(200, "PATCH", f"/pipelines/{pipeline}", json={"action": {"kind": "python:other"}})
    assert author(stage, key).endswith(" admin")
    stage.expect(204, "DELETE", f"/pipelines/{pipeline}", params={"cascade": "true"})

    verbs = [entry["verb"] for entry in entries(stage, key)]
    assert verbs == ["remove_pipeline", "patch_pipeline", "create_schedule"]
    assert json.loads(entries(stage, key)[0]["after"])["definition"] is None
