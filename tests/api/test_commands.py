"""What is asked of jobs and runs over HTTP: pause, resume, run, fill in, cancel, repeat; on every store."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from api.stage import HOUR, Stage, declare
from foliot.api.ids import id_of
from foliot.clock import SystemClock
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.output import OutputPart
from foliot.schedules import Cron


@pytest.fixture
def job(stage: Stage) -> str:
    """The path of a job that nothing has happened to."""
    name = uuid4().hex
    stage.declare(Job(source="ops", name=name, schedule=Cron("0 0 1 1 *"), action=Action(kind="k")))
    return f"/jobs/ops~2F{name}"


@pytest.fixture
def old_job(stage: Stage) -> str:
    """The path of an hourly job that is a day old, and has not run."""
    name = uuid4().hex
    hourly = Job(source="ops", name=name, schedule=Cron("0 * * * *"), action=Action(kind="k"))
    stage.act(lambda ops: declare(ops, hourly, at=SystemClock().now() - timedelta(days=1)))
    stage.run_due()
    return f"/jobs/ops~2F{name}"


def last_run_of(stage: Stage, job: str) -> datetime:
    """The occurrence of the last run: an hour may begin while a test runs."""
    return datetime.fromisoformat(stage.get(f"{job}/runs")["runs"][0]["scheduled_for"])


def test_a_pause_keeps_its_reason_and_is_the_same_twice(stage: Stage, job: str) -> None:
    paused = stage.post(f"{job}/pause", {"reason": "the disk is full"}, "operate")
    assert (paused["changed"], paused["reason"]) == (True, "the disk is full")
    assert stage.get(job)["paused_reason"] == "the disk is full"
    assert stage.get(job)["state"] == ["paused"]
    assert not stage.post(f"{job}/pause")["changed"]
    assert not stage.post(f"{job}/pause", {"reason": "the disk is full"})["changed"]
    assert stage.post(f"{job}/pause", {"reason": "a new disk comes"})["changed"]
    assert stage.get(job)["paused_reason"] == "a new disk comes"
    assert stage.post(f"{job}/resume")["changed"]
    assert not stage.post(f"{job}/resume")["changed"]
    assert stage.post(f"{job}/pause", {"reason": "a\nb"}, code=409)["code"] == "REFUSED"


def test_a_pause_may_end_by_itself(stage: Stage, job: str) -> None:
    stage.post(f"{job}/pause", {"until": "2999-01-01T00:00:00+01:00"}, "operate")
    assert stage.get(job)["paused_until"] == "2998-12-31T23:00:00Z"
    assert stage.post(f"{job}/pause", {"until": "2020-01-01T00:00:00Z"}, code=409)["code"] == "REFUSED"
    assert stage.post(f"{job}/pause", {"until": "2999-01-01T00:00:00"}, code=422)["code"] == "OFFSET_REQUIRED"
    stage.post(f"{job}/resume")
    assert stage.get(job)["paused_until"] is None


def test_a_run_is_asked_for_once_for_each_key(stage: Stage, job: str) -> None:
    key = {"Idempotency-Key": uuid4().hex}
    first = stage.ask("POST", f"{job}/runs", json={"payload": {"a": 1}}, headers=key)
    assert first.status_code == 202
    run = first.json()
    assert (run["status"], run["new"]) == ("pending", True)
    assert first.headers["location"] == f"/api/v1/runs/{run['run_id']}"
    again = stage.ask("POST", f"{job}/runs", json={"payload": {"a": 1}}, headers=key)
    assert (again.status_code, again.json()["run_id"]) == (202, run["run_id"])
    assert again.headers["idempotency-replayed"] == "true"
    assert stage.post(f"{job}/runs", {"payload": {"a": 2}}, code=422, headers=key)["code"] == "KEY_REUSED"
    stage.run_due(text="hello\n")
    shown = stage.get(f"/runs/{run['run_id']}")
    assert (shown["status"], shown["outcome"], shown["trigger"]) == ("success", "succeeded", "manual")
    assert shown["payload"] == {"a": 1}
    assert stage.get(f"/runs/{run['run_id']}", "read")["payload"] is None
    assert [attempt["number"] for attempt in shown["attempts"]] == [1]
    assert stage.post(f"/runs/{run['run_id']}/cancel", code=409)["code"] == "REFUSED"
    assert stage.post(f"/runs/{run['run_id']}/rerun", code=202)["new"]
    stage.run_due(Outcome.FAILED)
    assert [one["status"] for one in stage.get(f"{job}/runs")["runs"]] == ["failed", "success"]
    assert [one["status"] for one in stage.get(f"{job}/runs?status=failed")["runs"]] == ["failed"]
    assert [one["status"] for one in stage.get(f"{job}/runs?outcome=succeeded")["runs"]] == ["success"]


def test_a_run_that_waits_is_cancelled(stage: Stage, job: str) -> None:
    run = stage.post(f"{job}/runs", code=202)
    assert stage.get(f"{job}/runs?status=pending")["runs"][0]["id"] == run["id"]
    assert stage.post(f"/runs/{run['id']}/cancel", who="operate", code=202)["status"] == "cancelled"
    assert stage.get(f"/runs/{run['id']}")["outcome"] == "cancelled"


def test_what_a_run_wrote_is_told_as_json_as_text_and_live(stage: Stage, job: str) -> None:
    run = stage.post(f"{job}/runs", code=202)
    stage.run_due(text="first\nsecond ü\n")
    path = f"/runs/{run['id']}/attempts/1/log"
    told = stage.get(path)
    assert (told["text"], told["dropped"], told["end"], told["is_open"]) == (
        "first\nsecond ü\n",
        0,
        15,
        False,
    )
    assert stage.get(f"{path}?after=6")["text"] == "second ü\n"
    text = stage.ask("GET", path, headers={"Accept": "text/plain"})
    assert text.text == "first\nsecond ü\n"
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.headers["content-disposition"].startswith("attachment")
    assert text.headers["x-content-type-options"] == "nosniff"
    events = stage.ask("GET", f"/runs/{run['id']}/logs", headers={"Accept": "text/event-stream"}).text
    assert "event: log\n" in events
    assert events.index("event: log") < events.index('event: status\ndata: {"status":"success"')
    assert stage.get(f"/runs/{run['id']}/attempts/2/log", code=404)["code"] == "RUN_NOT_FOUND"


def test_occurrences_of_the_past_are_run(stage: Stage, old_job: str) -> None:
    now = SystemClock().now().replace(minute=0, second=0, microsecond=0)
    span = {"from": (now - 5 * HOUR).isoformat(), "to": (now - 3 * HOUR).isoformat()}
    dry = stage.post(f"{old_job}/backfills?dry_run=true", span | {"which": "missed"})
    assert (len(dry["runs"]), dry["dry_run"]) == (3, True)
    done = stage.post(f"{old_job}/backfills", span | {"which": "missed"}, "operate", code=202)
    assert done["runs"] == dry["runs"]
    assert stage.post(f"{old_job}/backfills", {"from": span["to"], "to": span["from"]}, code=422)
    future = {"from": (now + 5 * HOUR).isoformat(), "to": (now + 6 * HOUR).isoformat()}
    assert "past" in stage.post(f"{old_job}/backfills", future, code=422)["detail"]
    no_offset = {"from": "2026-01-01T00:00:00", "to": span["to"]}
    assert stage.post(f"{old_job}/backfills", no_offset, code=422)["code"] == "OFFSET_REQUIRED"


def test_the_ledger_and_why_answer_for_the_past_and_for_what_is_to_come(stage: Stage, old_job: str) -> None:
    now = last_run_of(stage, old_job)
    first, last = now - 4 * HOUR, now + 3 * HOUR
    query = {"from": first.isoformat(), "to": last.isoformat()}
    ledger = stage.get(f"{old_job}/occurrences", params=query)["occurrences"]
    assert [one["verdict"] for one in ledger[-2:]] == ["planned", "planned"]
    *covered, ran = ledger[:-3]
    assert (ran["verdict"], ran["covered_by"]) == ("ran", None)
    assert {(one["verdict"], one["run"], one["covered_by"]) for one in covered} == {
        ("covered", None, ran["run"])
    }
    assert all(one["zone"] == "UTC" and one["dst"] is None for one in ledger)
    past = stage.get(f"{old_job}/why", params={"at": now.isoformat()})
    assert (past["verdict"], past["rule"], past["version"]) == ("ran", "0 * * * *", 1)
    assert stage.get(f"{old_job}/why", params={"at": last.isoformat()})["verdict"] == "will_run"
    assert stage.get(f"{old_job}/why")["verdict"] == "will_run"
    assert stage.get(f"{old_job}/why?at=2026-01-01T00:00:00", code=422)["code"] == "OFFSET_REQUIRED"
    assert "%2B" in stage.get(f"{old_job}/why?at=2026-01-01T00:00:00+01:00", code=400)["hint"]


@pytest.mark.req("OWN-07")
def test_why_tells_the_rule_of_that_time(stage: Stage) -> None:
    name = uuid4().hex
    hourly = Job(source="ops", name=name, schedule=Cron("0 * * * *"), action=Action(kind="k"))
    daily = Job(source="ops", name=name, schedule=Cron("30 1 * * *"), action=Action(kind="k"))
    day_ago = SystemClock().now() - timedelta(days=1)
    stage.act(lambda ops: declare(ops, hourly, at=day_ago))
    stage.run_due()
    stage.declare(daily)
    at = last_run_of(stage, f"/jobs/ops~2F{name}")
    why = stage.get(f"/jobs/ops~2F{name}/why", params={"at": at.isoformat()})
    assert (why["verdict"], why["rule"], why["version"], why["is_replaced"]) == ("ran", "0 * * * *", 1, True)
    assert stage.get(f"/jobs/ops~2F{name}/why")["rule"] == "30 1 * * *"


@pytest.mark.req("OWN-08")
def test_versions_are_kept_with_their_authors_and_their_differences(stage: Stage) -> None:
    name = uuid4().hex
    body = {
        "name": name,
        "schedule": "0 7 * * *",
        "action": {"kind": "python:send", "payload": {"password": "x"}},
    }
    stage.post("/jobs", body, code=201)
    path = f"/jobs/api~2F{name}"
    stage.expect(200, "PATCH", path, "write", json={"schedule": "0 8 * * *"})
    stage.post(f"{path}/runs", code=202)
    stage.run_due()
    assert stage.get(f"{path}/runs")["runs"][0]["status"] == "success"
    run = stage.get(stage.get(f"{path}/runs")["runs"][0]["links"]["self"])
    assert run["attempts"][0]["version"] == 2
    found = stage.get(f"{path}/versions")["versions"]
    assert [one["version"] for one in found] == [2, 1]
    assert [one["author"].split(" ", 1)[1] for one in found] == ["write", "admin"]
    assert found[1]["definition"]["schedule"]["cron"] == "0 7 * * *"
    diff = stage.get(f"{path}/versions/1/diff?to=2")
    assert diff["differences"] == [{"field": "schedule.cron", "before": "0 7 * * *", "after": "0 8 * * *"}]
    assert diff["author"].endswith(" write")
    assert stage.get(f"{path}/versions/7/diff", code=404)["code"] == "NOT_FOUND"
    assert stage.get(f"{path}/versions", "read")["versions"][0]["definition"]["action"] == {
        "kind": "python:send"
    }


def test_many_jobs_are_paused_at_once_each_with_its_result(stage: Stage) -> None:
    source = f"s{uuid4().hex[:6]}"
    jobs = [
        Job(source=source, name=f"j{n}", schedule=Cron("0 3 * * *"), action=Action(kind="k"))
        for n in range(3)
    ]
    stage.declare(*jobs)
    ids = [f"{source}~2Fj0", "nobody~2Fhere", f"{source}~2Fj1"]
    found = stage.post("/jobs/bulk", {"action": "pause", "ids": ids, "reason": "why not"}, "operate")
    assert [one["status"] for one in found["results"]] == [200, 404, 200]
    chosen: dict[str, Any] = {"action": "resume", "filter": {"source": source, "state": "paused"}}
    assert stage.post("/jobs/bulk", chosen | {"expect": 3}, code=409)["code"] == "OTHER_COUNT"
    assert stage.post("/jobs/bulk", chosen, code=422)
    done = stage.post("/jobs/bulk", chosen | {"expect": 2})
    assert [(one["changed"], one["status"]) for one in done["results"]] == [(True, 200)] * 2
    assert done["next"] is None
    assert stage.post("/jobs/bulk", {"action": "pause"}, code=422)
    assert stage.post("/jobs/bulk", {"action": "run", "ids": [f"{source}~2Fj2"]})["results"][0]["changed"]
    stage.run_due()


def test_what_did_not_run_is_listed_by_reason(stage: Stage) -> None:
    name = uuid4().hex
    job = Job(source="ops", name=name, schedule=Cron("0 * * * *"), action=Action(kind="k"))
    day_ago = SystemClock().now() - timedelta(days=1)

    async def pause_for_a_day(ops: Any) -> None:
        await declare(ops, job, at=day_ago)
        await ops.pause(job.key)
        await ops.resume(job.key)

    stage.act(pause_for_a_day)
    query = {"job": job.key, "reason": "paused", "from": day_ago.isoformat()}
    [skip] = stage.get("/skips", params=query)["skips"]
    assert (skip["job"], skip["code"]) == (job.key, "paused")
    assert stage.get("/skips", params={"job": job.key, "reason": "late"})["skips"] == []
    assert stage.get("/skips", params={"source": "other"})["skips"] == []


def test_runs_are_filtered_by_job_source_and_time_and_come_in_pages(stage: Stage, job: str) -> None:
    for _ in range(3):
        stage.post(f"{job}/runs", code=202)
        stage.run_due()
    key = job.removeprefix("/jobs/")
    seen, path = [], f"/runs?job={key}&limit=1"
    page = stage.get(path)
    while page["next"]:
        seen += [run["id"] for run in page["runs"]]
        page = stage.get(f"{path}&cursor={page['next']}")
    assert len(set(seen) | {run["id"] for run in page["runs"]}) == 3
    assert len(stage.get("/runs", params={"job": key, "source": "ops"})["runs"]) == 3
    later = (SystemClock().now() + HOUR).isoformat()
    assert stage.get("/runs", params={"job": key, "started_after": later})["runs"] == []
    assert stage.get("/runs/ops~2Fbackup~21none", code=404)["code"] == "RUN_NOT_FOUND"


def test_hints_tell_that_a_job_has_changed(stage: Stage, job: str) -> None:
    seen: list[str] = []
    topic = f"job:{job.removeprefix('/jobs/')}"
    has_begun = threading.Event()

    def watch() -> None:
        headers = {"Authorization": f"Bearer {stage.tokens['read']}"}
        with stage.client.stream("GET", "api/v1/events", params={"topics": topic}, headers=headers) as stream:
            for line in stream.iter_lines():
                seen.append(line)
                if line == "event: resync":
                    has_begun.set()
                if topic in line:
                    return

    watching = threading.Thread(target=watch)
    watching.start()
    assert has_begun.wait(30)
    stage.post(f"{job}/pause")
    watching.join(30)
    assert seen[-1] == f'data: {{"topic":"{topic}","version":null,"token":null}}'
    assert stage.get("/events?topics=weather", code=400)["code"] == "BAD_QUERY"


def test_a_log_that_grows_is_told_by_a_hint_and_to_all_streams_that_follow_it(stage: Stage, job: str) -> None:
    run = stage.post(f"{job}/runs", code=202)["id"]
    [attempt] = [one for one in stage.claim() if id_of(one.run_key) == run]
    headers = {"Authorization": f"Bearer {stage.tokens['read']}", "Accept": "text/event-stream"}
    topic, log = f"log:{run}/1", f"api/v1/runs/{run}/attempts/1/log"

    def grow(start: int, text: str) -> None:
        part = OutputPart(attempt.job, *attempt.key, start, text)
        stage.act(lambda ops: ops.store.append_outputs([part]))

    with ExitStack() as opened:
        asked = [("api/v1/events", {"topics": topic}), (log, {}), (log, {"after": "2"})]
        hints, whole, rest = (
            opened.enter_context(
                stage.client.stream("GET", path, params=params, headers=headers)
            ).iter_lines()
            for path, params in asked
        )
        for start, text, later in ((0, "one.", "e."), (4, "two.", "two.")):
            grow(start, text)
            assert any(topic in line for line in hints)
            assert any(f'"text":"{text}"' in line for line in whole)
            assert any(f'"text":"{later}"' in line for line in rest)
    for topics in ("log:x", ",".join(f"log:{run}/{n}" for n in range(1, 12))):
        assert stage.get(f"/events?topics={topics}", code=400)["code"] == "BAD_QUERY"
