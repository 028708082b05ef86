"""What a reviewer tried who had a token of somebody else's in mind; each of these once worked."""

from __future__ import annotations

import asyncio
import base64
import json
from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from api.stage import NEW, PIPELINE, Stage
from foliot.api.address import address_of
from foliot.api.call import Call
from foliot.api.cursor import Paged
from foliot.model.query import Page

SHELL = {"kind": "shell", "payload": {"run": "true"}}
RULE = {"namespace": "shop", "layer": "gold", "pipeline": "cmd", "cron": "0 9 * * *"}


@pytest.mark.req("OWN-10")
def test_a_source_in_the_query_opens_no_runs_of_another(alone: Stage) -> None:
    """The token of `other` names its own source, and a job that is not of it."""
    assert alone.get("/runs?job=ops/backup", "elsewhere") == {"runs": [], "next": None}
    refused = alone.get("/runs?source=other&job=ops/backup", "elsewhere", code=400)
    assert refused["code"] == "BAD_QUERY"


@pytest.mark.req("OWN-10")
@pytest.mark.parametrize("command", ["pause", "resume", "runs"])
def test_what_was_removed_stands_for_no_other_job(alone: Stage, command: str) -> None:
    """A removed job is not searched for by its name: neither another job is meant, nor its name told."""
    alone.post("/jobs", NEW | {"name": "hidde"}, "write", code=201)
    alone.expect(204, "DELETE", "/jobs/api~2Fhidde", "write")
    refused = alone.post(f"/jobs/api~2Fhidde/{command}", {}, "write", code=404)
    assert "hidden" not in json.dumps(refused)
    items = alone.post("/jobs/bulk", {"action": "pause", "ids": ["api~2Fhidde"]}, "write")
    assert "hidden" not in json.dumps(items)


@pytest.mark.req("OWN-10")
def test_a_schedule_of_a_command_needs_the_right_to_run_it(alone: Stage) -> None:
    alone.post("/pipelines", PIPELINE | {"name": "cmd", "action": SHELL}, "rights", code=201)
    assert alone.post("/schedules", RULE, "write", code=403)["code"] == "NO_RIGHT"
    made = alone.post("/schedules", RULE, "rights", code=201)
    changed = alone.expect(403, "PATCH", f"/schedules/{made['id']}", "write", json={"cron": "* * * * *"})
    assert changed["code"] == "NO_RIGHT"


@pytest.mark.req("OWN-09")
def test_a_run_of_many_marks_is_no_run(alone: Stage) -> None:
    """Each mark may end the name of a job. A long text of them is none of ours."""
    assert alone.get("/runs/a~2Fb" + "~21" * 2000, code=404)["code"] == "RUN_NOT_FOUND"
    assert alone.get("/runs/a~2Fb" + "~21" * 100, code=404)["code"] == "RUN_NOT_FOUND"


@pytest.mark.req("OWN-09")
def test_an_origin_that_is_no_address_is_another_site(alone: Stage) -> None:
    sent = alone.ask("POST", "//login", None, data={"token": "x"}, headers={"Origin": "http://["})
    assert sent.status_code == 403


@pytest.mark.req("OWN-09")
def test_a_cursor_that_was_changed_is_refused(alone: Stage) -> None:
    for name in ("a", "b"):
        alone.post("/jobs", NEW | {"name": name}, code=201)
    text = alone.get("/jobs?limit=1")["next"]
    told = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    changed = base64.urlsafe_b64encode(told.replace(b"[0,", b"[-5,")).decode().rstrip("=")
    assert changed != text
    assert alone.get(f"/jobs?limit=1&cursor={changed}", code=400)["code"] == "BAD_CURSOR"


@pytest.mark.req("RAT-01")
def test_a_name_of_a_pipeline_ends_where_it_seems_to(alone: Stage) -> None:
    assert alone.post("/pipelines", PIPELINE | {"name": "c\n"}, code=422)["code"] == "INVALID"


@pytest.mark.req("OWN-09")
def test_a_page_without_a_hit_is_given_back_with_a_place_to_go_on() -> None:
    """One request is one bounded look, also if there is nothing to find."""
    looks = 0

    async def ask(source: str | None, after: str) -> Page[str]:
        nonlocal looks
        del source, after
        looks += 1
        return Page((), "more")

    call: Any = SimpleNamespace(
        seen_sources=lambda _: (None,), place=lambda *_: None, cursor=lambda _, place: str(place)
    )
    found, following = asyncio.run(Call.page(call, Paged(), None, ask))
    assert (list(found), following, looks) == ([], "(0, 'more')", 1)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "127.0.0.1"),
        (["9.9.9.9"], "9.9.9.9"),
        (["6.6.6.6, 9.9.9.9"], "9.9.9.9"),
        (["6.6.6.6", "9.9.9.9"], "9.9.9.9"),
        (["9.9.9.9", "not an address"], "127.0.0.1"),
    ],
)
def test_the_address_of_a_client_is_what_the_proxy_adds_itself(lines: list[str], expected: str) -> None:
    headers = [(b"x-forwarded-for", line.encode()) for line in lines]
    scope = {"type": "http", "client": ("127.0.0.1", 7), "headers": headers}
    service: Any = SimpleNamespace(options=SimpleNamespace(proxies=(ip_network("127.0.0.0/8"),)))
    assert address_of(service, Request(scope)) == expected


@pytest.mark.req("OWN-10")
def test_a_stream_ends_when_its_token_is_revoked(alone: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.api.streams._ASKED_EACH", 0.0)
    made = alone.post("/tokens", {"name": "guest", "scope": "read"}, code=201)
    headers = {"Authorization": f"Bearer {made['token']}"}
    with alone.client.stream("GET", "api/v1/events?topics=jobs", headers=headers) as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if line.startswith("event")) == "event: resync"
        alone.expect(200, "DELETE", f"/tokens/{made['id']}")
        alone.post("/jobs", NEW | {"name": "later"}, code=201)  # a hint would follow
        assert [line for line in lines if line.startswith("event")] == []


@pytest.mark.req("OWN-09")
def test_a_key_that_was_used_to_repeat_a_run_repeats_no_other(alone: Stage) -> None:
    alone.post("/jobs", NEW, code=201)
    path, key = "/jobs/api~2Fmail/runs", {"Idempotency-Key": "again"}
    runs = []
    for user in (1, 2):
        runs.append(alone.post(path, {"payload": {"user": user}}, code=202)["id"])
        alone.run_due()
    first = alone.post(f"/runs/{runs[0]}/rerun", code=202, headers=key)
    for is_over in (False, True):
        if is_over:
            alone.run_due()
        again = alone.ask("POST", f"/runs/{runs[0]}/rerun", json={}, headers=key)
        assert (again.status_code, again.headers["idempotency-replayed"]) == (202, "true")
        assert again.json()["id"] == first["id"]
        assert alone.post(f"/runs/{runs[1]}/rerun", code=422, headers=key)["code"] == "KEY_REUSED"


@pytest.mark.req("OWN-09")
@pytest.mark.parametrize("name", ["If-Match", "Idempotency-Key", "Content-Type", "Content-Encoding"])
def test_two_headers_that_contradict_are_refused(alone: Stage, name: str) -> None:
    """A proxy may have looked at the one, and we at the other."""
    before = alone.everything()
    values = {"If-Match": '"v1"', "Content-Type": "application/json"}
    headers = [
        ("Authorization", f"Bearer {alone.tokens['admin']}"),
        (name, values.get(name, "identity")),
        (name, "x"),
    ]
    answer = alone.client.request("PUT", "/api/v1/jobs/api~2Fx", headers=headers, content=b"{}")
    assert (answer.status_code, answer.json()["code"]) == (400, "MALFORMED")
    assert name.lower() in answer.json()["detail"]
    assert alone.everything() == before


@pytest.mark.req("OWN-10")
def test_a_stream_of_all_sources_is_not_for_a_token_of_some(alone: Stage) -> None:
    for topics in ("nodes", "jobs,overview"):
        assert alone.get(f"/events?topics={topics}", "elsewhere", code=403)["code"] == "LIMITED_TOKEN"


@pytest.mark.req("OWN-09")
@pytest.mark.parametrize(
    ("kind", "payload", "pointer"),
    [
        (":", {}, "/action/kind"),
        ("python:", {}, "/action/kind"),
        (" http", {}, "/action/kind"),
        ("k ", {}, "/action/kind"),
        ("shell", {}, "/action/payload/run"),
        ("shell", {"run": " "}, "/action/payload/run"),
        ("shell", {"run": ["true"]}, "/action/payload/run"),
    ],
)
def test_an_action_that_no_node_could_carry_out_is_refused(
    alone: Stage, kind: str, payload: dict[str, Any], pointer: str
) -> None:
    action = {"kind": kind, "payload": payload}
    problem = alone.post("/jobs", {**NEW, "action": action}, "rights", code=422)
    assert problem["errors"][0]["pointer"] == pointer
    assert problem["hint"]
