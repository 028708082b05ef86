"""`POST /sources/{source}/plan`, and the plan of dry runs: what a change does to runs; nothing is written."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from api.stage import NEW, Stage
from foliot.cli.plan_text import text_of
from foliot.doors.rollcron import read_config
from foliot.doors.rollcron.planned import Planned, read_planned
from foliot.engine.calendar import next_occurrence
from foliot.engine.change import ChangePlan, plan_change
from foliot.engine.change.effort import SERVED_EFFORT
from foliot.model.access import Scope
from foliot.model.state import Node, Record
from foliot.operations import Operations
from foliot.operations.plan import plan_source
from foliot.operations.plan_facts import facts_of
from foliot.protocols import Snapshot

pytestmark = pytest.mark.req("OWN-16")
BEFORE = 'defaults: {timezone: UTC}\njobs:\n  a: {schedule: "30 1 * * *", run: ./a, env: {KEY: hush}}\n'
AFTER = 'defaults: {timezone: UTC}\njobs:\n  a: {schedule: "0 2 * * *", run: ./b, env: {KEY: louder}}\n  b: {schedule: "0 * * * *", run: ./b}\n'  # fmt: skip # noqa: E501 - a file in a line


@pytest.fixture
def repository(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> str:
    """A source of a repository, and a server that reads such files."""
    jobs = read_config(BEFORE, source="plans")
    stage.declare(*jobs)

    def read(text: bytes, source: str, stored: Mapping[str, Record], local: str | None) -> Planned:
        return read_planned(text, source=source, stored=stored, local=local)

    monkeypatch.setattr(stage.server.application.service.backend, "read_config", read)
    return "plans"


def test_a_plan_of_a_repository(stage: Stage, repository: str) -> None:
    plan = stage.post(f"/sources/{repository}/plan", {"config": AFTER, "horizon": "1d"}, code=200)
    assert [(job["job"], job["change"]) for job in plan["jobs"]] == [("a", "changed"), ("b", "added")]
    assert plan["jobs"][0]["runs"]["moved"] == 1
    assert plan["summary"]["jobs"]["added"] == 1
    assert "louder" not in str(plan)
    again = stage.post(f"/sources/{repository}/plan", {"config": BEFORE}, code=200)
    assert again["summary"]["jobs"] == {"added": 0, "changed": 0, "removed": 0, "renamed": 0, "unchanged": 1}


def test_the_plan_is_that_of_the_operations(stage: Stage, repository: str) -> None:
    sent = stage.post(f"/sources/{repository}/plan", {"config": AFTER}, code=200)
    snapshot = Snapshot("x", read_config(AFTER, source=repository))

    async def ask(ops: Any) -> Any:
        return await plan_source(ops, repository, snapshot)

    plan = stage.act(ask)
    facts = facts_of(plan)
    assert sent["jobs"][0]["fields"] == facts["jobs"][0]["fields"]
    assert list(sent) == list(facts)
    assert "Plan for plans" in text_of(plan)


def test_who_may_only_read_learns_no_command(stage: Stage, repository: str) -> None:
    plan = stage.post(f"/sources/{repository}/plan", {"config": AFTER}, who="read", code=200)
    told = {field["field"]: field["after"] for field in plan["jobs"][0]["fields"]}
    assert told["run"] == "(hidden)"
    assert told["schedule"] == "0 2 * * *"
    assert (
        stage.ask("POST", f"/sources/{repository}/plan", who="elsewhere", json={"config": AFTER}).status_code
        == 404
    )
    assert (
        stage.ask("POST", f"/sources/{repository}/plan", who=None, json={"config": AFTER}).status_code == 401
    )


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, 422),
        ({"config": AFTER, "removed": ["a"]}, 422),
        ({"config": "jobs: [1, 2"}, 422),
        ({"config": AFTER, "horizon": "1m"}, 422),
        ({"config": AFTER, "horizon": "soon"}, 422),
        ({"config": AFTER, "at": "2020-01-01T00:00:00Z"}, 422),
        ({"removed": ["a"]}, 409),
        ({"nonsense": 1}, 422),
    ],
)
def test_what_cannot_be_planned(stage: Stage, repository: str, body: dict[str, Any], code: int) -> None:
    answer = stage.ask("POST", f"/sources/{repository}/plan", json=body)
    assert answer.status_code == code, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_process_that_reads_no_such_file_says_so(tmp_path: Path) -> None:
    stage = Stage(None, tmp_path)
    try:
        answer = stage.ask("POST", "/sources/ops/plan", json={"config": AFTER})
        assert (answer.status_code, answer.json()["code"]) == (409, "NOT_READ_HERE")
    finally:
        stage.close()


def test_dry_runs_that_change_definitions_answer_with_a_plan(stage: Stage) -> None:
    name = {"name": "planned"}
    made = stage.post("/jobs?dry_run=true", NEW | name, code=200)
    assert made["plan"]["jobs"][0]["change"] == "added"
    job = stage.post("/jobs", NEW | name, code=201)
    assert job["plan"] is None
    patched = stage.ask("PATCH", f"/jobs/{job['id']}?dry_run=true", json={"schedule": "0 8 * * *"}).json()
    assert patched["plan"]["jobs"][0]["runs"]["moved"] > 0
    removed = stage.ask("DELETE", f"/jobs/{job['id']}?dry_run=true").json()
    assert removed["plan"]["jobs"][0]["change"] == "removed"
    batch = stage.post("/jobs/batch?dry_run=true", {"jobs": [NEW | {"name": "x"}, NEW | name]}, code=200)
    assert batch["plan"]["summary"]["jobs"]["added"] == 1
    assert batch["plan"]["summary"]["jobs"]["unchanged"] == 1


def test_a_plan_of_jobs_of_the_api(stage: Stage) -> None:
    stage.post("/jobs", NEW | {"name": "mine"}, code=201)
    body = {"jobs": [NEW | {"name": "mine", "schedule": "0 9 * * *"}], "removed": ["nobody"]}
    plan = stage.post("/sources/api/plan", body, code=200)
    assert [(job["job"], job["change"]) for job in plan["jobs"]] == [("mine", "changed")]


def test_a_plan_leaves_no_entry_in_the_audit(stage: Stage, repository: str) -> None:
    before = stage.ask("GET", "/audit?limit=1").json()
    stage.post(f"/sources/{repository}/plan", {"config": AFTER}, code=200)
    assert stage.ask("GET", "/audit?limit=1").json()["audit"] == before["audit"]


def _minutely(number: int) -> str:
    lines = "".join(
        f'  j{n}: {{schedule: "{n % 60}-59 {n // 60}-23 * * *", run: x}}\n' for n in range(number)
    )
    return f"defaults: {{timezone: Europe/Berlin}}\njobs:\n{lines}"


def test_no_plan_is_made_on_the_loop(stage: Stage, repository: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all other requests wait for it."""
    loops: list[bool] = []

    def plan(*args: Any) -> ChangePlan:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            loops.append(True)
        return plan_change(*args)

    monkeypatch.setattr("foliot.operations.plan.plan_change", plan)
    stage.post(f"/sources/{repository}/plan", {"config": AFTER}, code=200)
    assert loops == []


def test_the_largest_plan_takes_few_steps_and_says_so(
    stage: Stage, repository: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's threads share a processor: a plan of a minute would slow down all others for a minute."""
    steps = Counter[str]()

    def count(job: Any, at: Any) -> Any:
        steps["occurrences"] += 1
        return next_occurrence(job, at)

    for module in ("runs", "herd"):
        monkeypatch.setattr(f"foliot.engine.change.{module}.next_occurrence", count)
    body = {"config": _minutely(1000), "horizon": "400d"}
    plan = stage.post(f"/sources/{repository}/plan", body, who="read", code=200)
    assert plan["truncated"] is True
    assert 10_000 < steps["occurrences"] <= SERVED_EFFORT
    assert len(plan["jobs"]) == 1001
    assert "its runs are not counted" in str(plan["jobs"][-2]["effects"])
    body = {"config": _minutely(10), "horizon": "1d"}
    small = stage.post(f"/sources/{repository}/plan", body, who="read", code=200)
    assert small["truncated"] is False


def test_a_config_has_as_many_jobs_as_a_list_may_have(stage: Stage, repository: str) -> None:
    answer = stage.ask("POST", f"/sources/{repository}/plan", json={"config": _minutely(1001)})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "config has 1,001 jobs, and a plan takes 1,000 at most"


def test_a_plan_does_not_answer_guesses_of_what_is_hidden(stage: Stage, repository: str) -> None:
    """Right or wrong, with another schedule, or under another name: who may only read learns nothing."""
    for frame in (
        'jobs:\n  a: {{schedule: "30 1 * * *", timezone: UTC, run: {}, env: {{KEY: {}}}}}\n',
        'jobs:\n  a: {{schedule: "30 2 * * *", timezone: UTC, run: {}, env: {{KEY: {}}}}}\n',
        'jobs:\n  z: {{schedule: "30 1 * * *", timezone: UTC, run: {}, env: {{KEY: {}}}}}\n',
    ):
        guesses = [("./a", "hush"), ("./wrong", "hush"), ("./a", "wrong")]
        plans = [
            stage.post(f"/sources/{repository}/plan", {"config": frame.format(*one)}, who="read", code=200)
            for one in guesses
        ]
        told = [{k: v for k, v in plan.items() if k not in {"at", "until", "herd"}} for plan in plans]
        assert told[0] == told[1] == told[2]
        assert "KEY" not in str(plans)
    seen = stage.post(f"/sources/{repository}/plan", {"config": BEFORE.replace("./a", "./x")}, code=200)
    assert seen["summary"]["jobs"]["changed"] == 1
    blind = stage.post(
        f"/sources/{repository}/plan", {"config": BEFORE.replace("./a", "./x")}, who="read", code=200
    )
    assert "what jobs do is hidden from you, and may change: env" in blind["effects"][-1]["text"]


def test_a_token_of_a_source_does_not_learn_the_slots_of_the_fleet(stage: Stage, repository: str) -> None:
    async def prepare(ops: Operations) -> None:
        await ops.store.join(Node("n2", queues=("mail",), slots=(("mail", 7),)))
        await stage._token(ops, "limited", Scope.OPERATE, sources=(repository,))

    stage.act(prepare)
    body, path = {"config": AFTER, "horizon": "1d"}, f"/sources/{repository}/plan"
    assert stage.post(path, body, who="operate", code=200)["herd"]["slots"] == 7
    assert stage.post(path, body, who="limited", code=200)["herd"]["slots"] is None
