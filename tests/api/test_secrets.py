"""No secret is in an answer, a page, a document, the audit or the log."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from api.stage import Stage

CANARY = "canary7f3a9c"


@pytest.mark.req("OWN-10")
def test_canaries_are_nowhere(alone: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    payload: dict[str, Any] = {
        "password": f"{CANARY}-1", "nested": {"api_key": f"{CANARY}-2", "list": [{"token": f"{CANARY}-3"}]},
        "url": f"postgresql://user:{CANARY}-4@host/db", "header": f"Bearer {CANARY}-5-abcdef",
    }  # fmt: skip
    body = {"name": "secretive", "schedule": "@daily", "action": {"kind": "python:x", "payload": payload}}
    alone.post("/jobs", body, code=201)
    alone.expect(200, "PATCH", "/jobs/api~2Fsecretive", json={"timezone": "Europe/Berlin"})
    run = alone.post("/jobs/api~2Fsecretive/runs", {"payload": payload}, code=202)
    alone.post("/tokens", {"name": "ci", "scope": "read"}, code=201)
    alone.act(lambda ops: ops.store.write_source_status("ops", f'{{"error": "https://u:{CANARY}@git/x"}}'))
    before = len(alone.seen)
    job = "/jobs/api~2Fsecretive"
    paths = [
        "/jobs", job, f"{job}/versions", f"{job}/versions/1/diff", f"{job}/why", f"{job}/occurrences",
        f"{job}/runs", "/runs", f"/runs/{run['id']}", "/audit", "/tokens", "/whoami", "/sources",
        "/sources/ops",
        "/nodes", "/overview", "/scheduler", "//openapi.json", "//docs", "//metrics", "///", "//login",
        "//readyz?verbose=true",
    ]  # fmt: skip
    for path in paths:
        assert alone.ask("GET", path).status_code in (200, 303), path
    alone.ask("POST", "//login", None, json={"token": alone.tokens["admin"] + CANARY})
    alone.ask("GET", "/jobs", None, headers={"Authorization": f"Bearer {CANARY}"})
    alone.ask("GET", f"/jobs/{CANARY}~zz", "read", headers={"Cookie": f"foliot_session={CANARY}"})
    told = "\n".join(alone.seen)
    own = [line for line in alone.seen if f"/jobs/{CANARY}" not in line]
    assert not [line[:200] for line in own if CANARY in line]
    assert len(alone.seen) > before
    secrets = [text.split("_", 2)[2] for name, text in alone.tokens.items() if name != "wrong"]
    assert not [secret for secret in secrets if secret in told]
    ours = [
        record for record in caplog.records if not record.name.startswith("http")
    ]  # the client logs its own
    logged = "\n".join(record.getMessage() for record in ours)
    assert CANARY not in logged
    assert not [secret for secret in secrets if secret in logged]
