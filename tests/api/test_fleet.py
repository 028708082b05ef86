"""Sources, nodes, queues, tokens, rules and health over HTTP; on every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from api.stage import BACKUP, Stage, declare
from foliot.clock import SystemClock
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.schedules import Cron


def test_sources_are_shown_with_their_revisions_and_differences(stage: Stage) -> None:
    source = f"s{uuid4().hex[:6]}"
    first = replace(BACKUP, source=source)
    stage.declare(first)
    stage.declare(replace(first, schedule=Cron("0 4 * * *")))
    assert source in [one["source"] for one in stage.get("/sources", "read")["sources"]]
    assert stage.get(f"/sources/{source}")["jobs"] == 1
    revisions = stage.get(f"/sources/{source}/revisions")["revisions"]
    assert [(one["added"], one["changed"]) for one in revisions] == [(0, 1), (1, 0)]
    diff = stage.get(f"/sources/{source}/revisions/{revisions[0]['ordinal']}/diff")
    assert diff["ended"] == [{"job": first.key, "version": 1, "removed": False}]
    assert stage.get(f"/sources/{source}/revisions/99/diff", code=404)
    assert stage.post(f"/sources/{source}/pull", code=409)["code"] == "NOT_FOLLOWED_HERE"
    dry = stage.expect(200, "DELETE", f"/sources/{source}?dry_run=true")
    assert (dry["jobs"], dry["dry_run"]) == (1, True)
    assert stage.get(f"/sources/{source}")["jobs"] == 1
    assert stage.expect(200, "DELETE", f"/sources/{source}")["jobs"] == 1
    assert stage.get(f"/sources/{source}", code=404)["code"] == "SOURCE_NOT_FOUND"


def test_nodes_queues_and_the_whole_are_told(stage: Stage) -> None:
    name = uuid4().hex
    night = Job(source="ops", name=name, schedule=Cron("0 * * * *"), action=Action(kind="k"), queue="night")
    stage.act(lambda ops: declare(ops, night, at=SystemClock().now() - timedelta(days=1)))
    nodes = stage.get("/nodes", "read")
    assert [node["node"] for node in nodes["nodes"]] == ["n1"]
    assert nodes["nodes"][0]["state"] == "alive"
    assert nodes["versions"] == {nodes["nodes"][0]["version"] or "unknown": 1}
    [unserved] = [one for one in nodes["unserved"] if one["queue"] == "night"]
    assert (unserved["action"], unserved["jobs"]) == ("k", 1)
    queues = {one["queue"]: one for one in stage.get("/queues")["queues"]}
    assert (queues["default"]["nodes"], queues["night"]["nodes"]) == (1, 0)
    assert stage.get("/overview")["jobs"] >= 2
    scheduler = stage.get("/scheduler")
    assert (scheduler["engine"], scheduler["nodes"]) == (False, 1)


def test_the_jobs_that_send_alerts_are_listed_by_their_source_only(stage: Stage) -> None:
    def listed() -> tuple[int, int]:
        return stage.get("/overview")["jobs"], len(stage.get("/jobs?limit=200")["jobs"])

    before = listed()
    own = replace(BACKUP, source="foliot.alerts", name=f"c{uuid4().hex}")
    stage.declare(own)
    assert listed() == before
    assert own.key in [job["key"] for job in stage.get("/jobs?source=foliot.alerts")["jobs"]]
    assert stage.get(f"/jobs/{own.key.replace('/', '~2F')}")["key"] == own.key
    every = {"action": "pause", "filter": {"kind": own.action.kind, "search": own.name}, "expect": 0}
    assert stage.post("/jobs/bulk", every)["results"] == []


def test_a_token_is_made_used_and_revoked(stage: Stage) -> None:
    dry = stage.post("/tokens?dry_run=true", {"name": "ci", "scope": "read"})
    assert (dry["token"], dry["dry_run"]) == (None, True)
    made = stage.post(
        "/tokens", {"name": "ci", "scope": "operate", "sources": ["ops"], "expires": "90d"}, code=201
    )
    assert (made["scope"], made["sources"]) == ("operate", ["ops"])
    stage.tokens["ci"] = made["token"]
    assert stage.get("/whoami", "ci")["name"] == "ci"
    shown = stage.get(f"/tokens/{made['id']}")
    assert "token" not in shown
    assert made["id"] in [one["id"] for one in stage.get("/tokens?limit=200")["tokens"]]
    assert stage.expect(200, "DELETE", f"/tokens/{made['id']}?dry_run=true")["dry_run"]
    assert stage.get("/whoami", "ci")
    assert stage.expect(200, "DELETE", f"/tokens/{made['id']}")
    assert stage.get("/whoami", "ci", code=401)["code"] == "NO_TOKEN"
    assert stage.get(f"/tokens/{made['id']}", code=404)["code"] == "TOKEN_NOT_FOUND"
    wrong: tuple[dict[str, Any], ...] = (
        {"scope": "root"},
        {"expires": "soon"},
        {"sources": []},
        {"name": ""},
    )
    for bad in wrong:
        stage.post("/tokens", {"name": "ci", "scope": "read", **bad}, code=422)


def test_every_change_is_in_the_audit_with_its_end(stage: Stage) -> None:
    name = uuid4().hex
    job = Job(source="ops", name=name, schedule=Cron("0 3 * * *"), action=Action(kind="k"))
    stage.declare(job)
    path = f"/jobs/ops~2F{name}"
    stage.post(f"{path}/pause?dry_run=true")
    answer = stage.ask("POST", f"{path}/pause", "operate", json={})
    stage.expect(409, "DELETE", path)
    entries = stage.get("/audit", params={"object": f"job:{job.key}"})["audit"]
    assert [(one["verb"], one["outcome"]) for one in entries] == [
        ("remove_job", "refused"),
        ("pause", "done"),
    ]
    assert entries[1]["actor"].endswith(" operate")
    assert (entries[1]["address"], entries[1]["request_id"]) == ("127.0.0.1", answer.headers["request-id"])
    assert stage.get("/audit", params={"actor": entries[1]["actor"]})["audit"]
    page = stage.get("/audit?limit=1")
    assert stage.get(f"/audit?limit=1&cursor={page['next']}")["audit"] != page["audit"]


def test_a_rule_is_explained_and_what_comes_is_counted(stage: Stage) -> None:
    told = stage.get("/cron", params={"expr": "30 2 * * *", "timezone": "Europe/Berlin", "n": 2})
    assert (len(told["occurrences"]), told["explanation"]) == (2, "at 02:30 every day, Berlin time")
    assert "dst-gap" in [one["code"] for one in told["findings"]]
    assert stage.get("/cron", params={"expr": "0 0 30 2 *"}, code=422)["code"] == "INVALID"
    skipped = {"expr": "30 2 25-31 3 SUN", "dialect": "celery", "timezone": "Europe/Berlin"}
    assert (
        "the clocks of Europe/Berlin skip each of its times"
        in stage.get("/cron", params=skipped, code=422)["detail"]
    )
    assert stage.get("/cron", code=400)["code"] == "BAD_QUERY"
    source = f"s{uuid4().hex[:6]}"
    stage.declare(*(replace(BACKUP, source=source, name=f"j{n}") for n in range(3)))
    span = {
        "from": "2030-10-26T00:00:00Z",
        "to": "2030-10-28T00:00:00Z",
        "zone": "Europe/Berlin",
        "source": source,
    }
    found = stage.get("/forecast", params=span)
    assert (len(found["buckets"]), sum(one["occurrences"] for one in found["buckets"])) == (48, 6)
    assert found["peaks"][0] == {"at": "2030-10-26T03:00:00Z", "occurrences": 3}
    assert found["clock_changes"] == [{"at": "2030-10-27T01:00:00Z", "before": 120, "after": 60}]
    assert found["herds"] == []
    queue = f"q{source}"
    stage.act(lambda ops: ops.store.join(Node(queue, queues=(queue,), slots=((queue, 2),))))
    stage.declare(*(replace(BACKUP, source=f"{source}x", name=f"j{n}", queue=queue) for n in range(3)))
    [herd, _] = stage.get("/forecast", params=span | {"source": f"{source}x"})["herds"]
    assert herd == {
        "at": "2030-10-26T03:00:00Z", "queue": queue, "jobs": 3, "slots": 2, "delay": None,
        "text": f"3 jobs of queue {queue} at 03:00 UTC, 2 slots",
    }  # fmt: skip
    assert stage.get("/forecast", params=span | {"bucket": "minute"}, code=422)["code"] == "INVALID"


def test_health_is_told_in_a_word_without_a_token(stage: Stage) -> None:
    for path in ("livez", "readyz", "startupz"):
        answer = stage.client.get(path)
        assert (answer.status_code, answer.text) == (200, "ok")
        assert stage.client.get(f"{path}?verbose=true").status_code == 401
        assert stage.ask("GET", f"//{path}?verbose=true", "read").json()["alive"] is True
    assert "foliot_api_requests_total" in stage.ask("GET", "//metrics", "read").text


def test_a_head_has_the_headers_of_a_get_and_no_body(stage: Stage) -> None:
    answer = stage.ask("HEAD", "/jobs/ops~2Fbackup")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["etag"]
    events = stage.ask("HEAD", "/events")
    assert events.headers["content-type"].startswith("text/event-stream")
