"""Jobs over HTTP: list, show, declare, change, remove; on every store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from api.stage import BACKUP, NEW, PIPELINE, Stage
from foliot.model.damage import damage_of


def new(**fields: Any) -> dict[str, Any]:
    return NEW | {"name": f"job-{uuid4().hex[:8]}"} | fields


def test_a_job_is_declared_shown_and_removed(stage: Stage) -> None:
    body = new(timezone="Europe/Berlin", policy={"timeout": "5m", "retry": {"max": 3}})
    response = stage.ask("POST", "/jobs", json=body)
    assert response.status_code == 201, response.text
    made = response.json()
    assert response.headers["location"] == f"/api/v1/jobs/{made['id']}" == made["links"]["self"]
    assert made["id"] == f"api~2F{body['name']}"
    assert (made["source"], made["schedule"], made["timezone"]) == ("api", "0 7 * * *", "Europe/Berlin")
    assert made["action"] == {"kind": "python:send", "payload": {"user": 7}}
    assert (made["policy"]["timeout"], made["policy"]["retry"]["max"]) == ("5m", 3)
    assert made["policy"]["overlap"]["mode"] == "parallel"
    assert made["next_at"].endswith("Z")
    shown = stage.get(f"/jobs/{made['id']}")
    assert {name: made[name] for name in shown} == shown
    assert stage.expect(204, "DELETE", f"/jobs/{made['id']}") is None
    assert stage.get(f"/jobs/{made['id']}", code=404)["code"] == "JOB_NOT_FOUND"
    assert stage.get(f"/jobs/{made['id']}?removed=true")["state"] == ["removed"]
    assert stage.expect(404, "DELETE", f"/jobs/{made['id']}")["code"] == "JOB_NOT_FOUND"


def test_a_name_that_is_taken_is_refused_and_one_that_is_left_out_is_made(stage: Stage) -> None:
    body = new()
    stage.post("/jobs", body, code=201)
    problem = stage.post("/jobs", body, code=409)
    assert (problem["code"], problem["version"]) == ("ALREADY_THERE", 1)
    assert "PUT" in problem["hint"]
    del body["name"]
    assert len({stage.post("/jobs", body, code=201)["name"] for _ in range(2)}) == 2


def test_the_same_key_makes_one_job(stage: Stage) -> None:
    body, key = new(), {"Idempotency-Key": uuid4().hex}
    del body["name"]
    first = stage.ask("POST", "/jobs", json=body, headers=key)
    again = stage.ask("POST", "/jobs", json=body, headers=key)
    assert [first.status_code, again.status_code] == [201, 201]
    assert first.json()["id"] == again.json()["id"]
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    other = stage.post("/jobs", body | {"schedule": "0 8 * * *"}, code=422, headers=key)
    assert other["code"] == "KEY_REUSED"
    assert stage.post("/jobs", body, who="rights", code=201, headers=key)["id"] != first.json()["id"]
    assert stage.post("/jobs", body, code=400, headers={"Idempotency-Key": "a b"})["code"] == "BAD_KEY"


def test_a_job_is_replaced_and_changed_in_part(stage: Stage) -> None:
    name = uuid4().hex
    body = {field: value for field, value in NEW.items() if field != "name"}
    path = f"/jobs/api~2F{name}"
    assert stage.expect(201, "PUT", path, json=body)["version"] == 1
    same = stage.expect(200, "PUT", path, json=body)
    assert (same["version"], same["changed"]) == (1, False)
    other = stage.expect(200, "PUT", path, json=body | {"schedule": "@every 90s"})
    assert (other["version"], other["changed"], other["schedule"]) == (2, True, "@every 90s")
    part = stage.expect(200, "PATCH", path, json={"policy": {"retry": {"max": 5}}, "enabled": False})
    assert (part["version"], part["schedule"], part["state"]) == (3, "@every 90s", ["disabled"])
    assert part["policy"]["retry"]["max"] == 5
    assert part["action"]["payload"] == {"user": 7}
    once = stage.expect(200, "PATCH", path, json={"schedule": "2040-01-01T00:00:00+01:00", "enabled": True})
    assert once["next_at"] == "2039-12-31T23:00:00Z"
    assert stage.expect(404, "PATCH", f"{path}-x", json={})["code"] == "JOB_NOT_FOUND"


def test_a_change_may_name_the_version_that_it_is_based_on(stage: Stage) -> None:
    made = stage.post("/jobs", new(), code=201)
    path = f"/jobs/{made['id']}"
    seen = stage.ask("GET", path)
    tag = seen.headers["etag"]
    assert tag.startswith('W/"v1.')
    assert stage.ask("GET", path, headers={"If-None-Match": tag}).status_code == 304
    changed = stage.expect(200, "PATCH", path, json={"queue": "night"}, headers={"If-Match": '"v1"'})
    assert changed["version"] == 2
    for match in ('"v1"', tag):
        problem = stage.expect(412, "PATCH", path, json={"queue": "day"}, headers={"If-Match": match})
        assert (problem["code"], problem["version"]) == ("VERSION_CHANGED", 2)
        assert stage.expect(412, "DELETE", path, headers={"If-Match": match})["version"] == 2
    assert stage.expect(400, "DELETE", path, headers={"If-Match": "v2"})["code"] == "BAD_MATCH"
    assert stage.ask("GET", path, headers={"If-None-Match": tag}).status_code == 200
    body = {field: value for field, value in NEW.items() if field != "name"}
    assert stage.expect(412, "PUT", f"{path}-x", json=body, headers={"If-Match": "*"})["code"]
    assert stage.expect(204, "DELETE", path, headers={"If-Match": '"v2"'}) is None


def test_of_many_changes_of_one_version_one_counts(stage: Stage) -> None:
    made = stage.post("/jobs", new(), code=201)

    def change(minute: int) -> int:
        body, headers = {"schedule": f"{minute} * * * *"}, {"If-Match": '"v1"'}
        return stage.ask("PATCH", f"/jobs/{made['id']}", json=body, headers=headers).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(change, range(8))) == [200] + [412] * 7
    assert stage.get(f"/jobs/{made['id']}")["version"] == 2


def test_all_that_is_wrong_with_a_definition_is_told_at_once_and_nothing_is_stored(stage: Stage) -> None:
    before = stage.everything()
    body = new(schedule="61 * * * *", timezone="UTC", policy={"retry": {"maxx": 1}})
    problem = stage.post("/jobs", body, code=422)
    assert problem["code"] == "INVALID"
    assert [error["pointer"] for error in problem["errors"]] == ["/schedule", "/policy/retry/maxx"]
    wrong: dict[str, dict[str, Any]] = {
        "/timezone": {"timezone": "Mars/Olympus"},
        "/schedule": {"schedule": "0 0 30 2 *"},
        "/policy/timeout": {"policy": {"timeout": "soon"}},
        "/colour": {"colour": "red"},
        "/action/kind": {"action": {"kind": "shell:ops"}},
        "/name": {"name": "a\tb"},
        "/action/payload/x": {"action": {"kind": "k", "payload": {"x": {"a": 10**30}}}},
    }
    for pointer, fields in wrong.items():
        response = stage.ask("POST", "/jobs", json=new(**fields))
        assert response.status_code in (400, 422), response.text
        if response.status_code == 422:
            assert response.json()["errors"][0]["pointer"].startswith(pointer), response.text
    assert stage.everything() == before


def test_shell_http_and_celery_need_a_right_of_their_own(stage: Stage) -> None:
    actions = {"shell": {"run": "true"}, "http": {"url": "https://example.org/"}, "celery": {"task": "a.b"}}
    for kind, payload in actions.items():
        body = new(action={"kind": kind, "payload": payload})
        problem = stage.post("/jobs", body, code=403)
        assert problem["code"] == "NO_RIGHT"
        assert f"--right {kind}" in problem["hint"]
        made = stage.post("/jobs", body, who="rights", code=201)
        # Who may not have such a job may not change one either.
        stage.expect(403, "PATCH", f"/jobs/{made['id']}", json={"queue": "x"})


def test_a_token_names_no_secret_of_the_node_that_is_not_meant_for_it(stage: Stage) -> None:
    before = stage.everything()
    for reference in ("env:PGPASSWORD", "file:/etc/shadow", "credential:database"):
        action = {"kind": "http", "payload": {"url": "https://example.org/", "secret": reference}}
        tries = {"/jobs": new(action=action), "/jobs/batch": {"jobs": [new(action=action)]}}
        for path, body in {**tries, "/pipelines": {**PIPELINE, "action": action}}.items():
            problem = stage.post(path, body, who="rights", code=422)
            assert problem["errors"][0]["pointer"].endswith("/action/payload/secret"), problem
            assert "FOLIOT_SECRET_" in problem["hint"]
    assert stage.everything() == before
    payload = {"url": "https://example.org/", "secret": "env:FOLIOT_SECRET_SHOP"}
    stage.post("/jobs", new(action={"kind": "http", "payload": payload}), who="rights", code=201)


def test_a_celery_task_that_could_never_be_sent_is_refused(stage: Stage) -> None:
    action = {"kind": "celery", "payload": {"task": "a.b", "options": {"priority": "urgent"}}}
    problem = stage.post("/jobs", new(action=action), who="rights", code=422)
    [fault] = problem["errors"]
    assert fault["pointer"] == "/action/payload/options/priority"
    assert "one of: high, normal, low" in fault["hint"]


def test_jobs_of_other_sources_are_changed_where_they_are_declared(stage: Stage) -> None:
    body = {field: value for field, value in NEW.items() if field != "name"}
    for verb, given in (("PUT", {"json": body}), ("PATCH", {"json": {}}), ("DELETE", {})):
        problem = stage.expect(409, verb, "/jobs/ops~2Fbackup", **given)
        assert problem["code"] == "OWNED_BY_SOURCE"
        assert "pause" in problem["hint"]


def test_a_batch_is_taken_whole_or_not_at_all(stage: Stage) -> None:
    jobs = [new() for _ in range(3)]
    found = stage.post("/jobs/batch", {"jobs": jobs})
    assert [job["version"] for job in found["jobs"]] == [1, 1, 1]
    before = stage.everything()
    bad = [*[new() for _ in range(2)], new(schedule="never")]
    assert stage.post("/jobs/batch", {"jobs": bad}, code=422)["detail"].startswith("jobs[2]")
    assert stage.post("/jobs/batch", {"jobs": [jobs[0], jobs[0]]}, code=422)
    assert stage.post("/jobs/batch", {"jobs": []}, code=422)
    assert stage.everything() == before


def test_pages_come_in_the_order_of_keys_and_their_cursors_belong_to_their_filters(stage: Stage) -> None:
    prefix = uuid4().hex[:6]
    names = [f"{prefix}-{number}" for number in range(7)]
    stage.post("/jobs/batch", {"jobs": [new(name=name) for name in names]})
    seen: list[str] = []
    path = f"/jobs?source=api&search={prefix}&limit=3"
    page = stage.get(path)
    while True:
        seen += [job["name"] for job in page["jobs"]]
        if page["next"] is None:
            break
        cursor = page["next"]
        page = stage.get(f"{path}&cursor={cursor}")
    assert seen == names
    for other in ("/jobs?source=api", "/jobs?source=ops", "/jobs"):
        assert (
            stage.get(f"{other}{'&' if '?' in other else '?'}cursor={cursor}", code=400)["code"]
            == "BAD_CURSOR"
        )
    assert stage.get("/jobs?cursor=nonsense", code=400)["code"] == "BAD_CURSOR"
    soonest = stage.get("/jobs?order=soonest&limit=200")["jobs"]
    due = [job["next_at"] for job in soonest if job["next_at"]]
    assert due == sorted(due)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("colour=red", 400), ("limit=0", 400), ("limit=201", 400), ("limit=x", 400), ("state=glad", 400),
        ("source=a&source=b", 400), ("dry_run=true", 400), ("removed=maybe", 400), ("search=", 400),
        ("key=ops/backup", 200), ("kind=k&state=paused&queue=x", 200), ("removed=true&order=key", 200),
    ],
)  # fmt: skip
def test_what_a_query_may_say(stage: Stage, query: str, code: int) -> None:
    answer = stage.get(f"/jobs?{query}", code=code)
    if query == "key=ops/backup":
        assert [job["key"] for job in answer["jobs"]] == [BACKUP.key]


def test_payloads_are_for_those_who_may_operate(stage: Stage) -> None:
    assert stage.get("/jobs/ops~2Fbackup", "read")["action"] == {"kind": "k", "payload": None}
    assert stage.get("/jobs/ops~2Fbackup", "operate")["action"]["payload"] == {"path": "/srv"}
    assert {job["action"]["payload"] and 1 for job in stage.get("/jobs")["jobs"]} == {None}


def test_a_job_that_cannot_be_read_is_shown_with_its_damage(alone: Stage) -> None:
    alone._memory.set_aside(BACKUP.key, damage_of(ValueError("odd")))
    assert alone.get("/jobs/ops~2Fbackup")["state"] == ["damaged"]
    assert alone.post("/jobs/ops~2Fbackup/runs", code=409)["code"] == "NOT_POSSIBLE"


def test_a_job_says_how_its_rule_is_read_and_what_it_does_at_clock_changes(stage: Stage) -> None:
    made = stage.post("/jobs", new() | {"dialect": "vixie", "dst": "cron"}, code=201)
    assert (made["dialect"], made["dst"]) == ("vixie", "cron")
    changed = stage.expect(200, "PATCH", f"/jobs/{made['id']}", json={"dst": "once"})
    assert (changed["dialect"], changed["dst"]) == ("vixie", "once")
    wrong = stage.post("/jobs", new() | {"dst": "twice"}, code=422)
    assert "clock changes" in str(wrong)
    asked = stage.get("/cron?expr=30%202%20*%20*%20*&timezone=Europe/Berlin&dst=cron")
    assert (asked["dst"], asked["dialect"]) == ("cron", "standard")
