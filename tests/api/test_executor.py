"""A run is asked for only if a node is there that can start it: else nothing is left waiting."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from api.stage import BACKUP, PIPELINE, Stage, declare
from foliot.model.state import Node
from foliot.operations import Operations
from foliot.schedules import Every

PAST = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}


@pytest.fixture
def night(stage: Stage) -> str:
    """The id of a job that has run once, in a queue that no node serves any more."""
    name = uuid4().hex
    job = replace(BACKUP, name=name, schedule=Every("1h"))

    async def furnish(ops: Operations) -> None:
        await declare(ops, job, at=await ops.store.now() - timedelta(hours=5))

    stage.act(furnish)
    stage.run_due()
    stage.declare(replace(job, queue=f"night-{name}"))
    return f"ops~2F{name}"


@pytest.mark.req("RAT-11")
def test_what_no_node_can_start_is_refused_and_not_left_waiting(stage: Stage, night: str) -> None:
    [run] = stage.get(f"/jobs/{night}/runs")["runs"]
    before = stage.everything()
    for path, body in (
        (f"/jobs/{night}/runs", {}),
        (f"/jobs/{night}/runs?dry_run=true", {}),
        (f"/jobs/{night}/backfills", PAST),
        (f"/runs/{run['id']}/rerun", {}),
    ):
        problem = stage.post(path, body, code=503)
        assert problem["code"] == "NO_EXECUTOR"
        assert "serves the queue night" in problem["detail"]
    response = stage.ask("POST", f"/jobs/{night}/runs", json={})
    assert response.headers["retry-after"] == "30"
    [item] = stage.post("/jobs/bulk", {"action": "run", "ids": [night]})["results"]
    assert (item["status"], item["code"], item["changed"]) == (503, "NO_EXECUTOR", False)
    assert stage.everything() == before


def test_a_node_that_serves_it_makes_it_possible(stage: Stage, night: str) -> None:
    queue = stage.get(f"/jobs/{night}")["queue"]
    node = Node(uuid4().hex, kinds=("k",), queues=(queue,))
    stage.act(lambda ops: ops.store.join(node))
    stage.post(f"/jobs/{night}/runs", {}, code=202)
    stage.act(lambda ops: ops.store.leave(node.id))
    stage.post(f"/jobs/{night}/runs", {}, code=503)


@pytest.mark.req("RAT-11")
def test_a_node_without_the_action_of_a_pipeline_cannot_run_its_schedule(alone: Stage) -> None:
    pipeline = alone.post("/pipelines", PIPELINE, code=201)["id"]
    schedule = alone.post("/schedules", {"pipeline_id": pipeline, "cron": "0 4 * * *"}, code=201)["id"]
    alone.act(lambda ops: ops.store.leave("n1"))
    alone.act(lambda ops: ops.store.join(Node("n2", kinds=("pipeline", "python:other"))))
    for path, body in (
        (f"/jobs/api~2F{schedule}/runs", {}),
        (f"/schedules/{schedule}/backfills", PAST),
        ("/runs", {"pipeline_id": pipeline}),
    ):
        assert alone.post(path, body, code=503)["code"] == "NO_EXECUTOR"
    alone.act(lambda ops: ops.store.join(Node("n3", kinds=("pipeline", "python:sales"))))
    alone.post(f"/jobs/api~2F{schedule}/runs", {}, code=202)
