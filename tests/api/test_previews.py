"""Every change has a preview: the same checks, the same answer, and nothing is written. Then the deed."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from api.stage import NEW, PIPELINE, Stage
from foliot.api.application import GROUPS
from foliot.model.job import Action, Job
from foliot.schedules import Cron

BODY = {name: value for name, value in NEW.items() if name != "name"}
CHANGES = {route.name for group in GROUPS for route in group.routes if route.changes and route.scope}
DIFFERENT = {
    "dry_run",
    "would",
    "plan",
    "text",
    "links",
    "last_attempt_at",
    "created_at",
    "id",
    "run_id",
    "key",
    "token",
}


def prepare(stage: Stage) -> dict[str, str]:
    name = uuid4().hex
    job = Job(source=f"s{name[:6]}", name=name, schedule=Cron("0 3 * * *"), action=Action(kind="k"))
    stage.declare(job)
    mine = stage.post("/jobs", NEW | {"name": name}, code=201)
    run = stage.post(f"/jobs/{job.source}~2F{name}/runs", code=202, headers={"Idempotency-Key": name})
    token = stage.post("/tokens", {"name": name, "scope": "read"}, code=201)
    pipeline = stage.post("/pipelines", PIPELINE | {"name": f"p{name}"}, code=201)
    schedule = stage.post("/schedules", {"pipeline_id": pipeline["id"], "cron": "0 3 * * *"}, code=201)
    of_pipeline = {"pipeline": pipeline["id"], "named": f"shop/gold/p{name}", "schedule": schedule["id"]}
    names = {"job": f"{job.source}~2F{name}", "mine": mine["id"], "run": run["id"], "source": job.source}
    return names | of_pipeline | {"token": token["id"], "new": f"api~2F{uuid4().hex}", "name": uuid4().hex}


ROWS: dict[str, tuple[str, str, Any]] = {
    "create_job": ("POST", "/jobs", NEW),
    "declare_jobs": ("POST", "/jobs/batch", {"jobs": [NEW]}),
    "replace_job": ("PUT", "/jobs/{new}", BODY),
    "patch_job": ("PATCH", "/jobs/{mine}", {"schedule": "0 9 * * *"}),
    "remove_job": ("DELETE", "/jobs/{mine}", None),
    "pause": ("POST", "/jobs/{job}/pause", {"reason": "because"}),
    "resume": ("POST", "/jobs/{job}/resume", {}),
    "trigger": ("POST", "/jobs/{job}/runs", {}),
    "backfill": (
        "POST",
        "/jobs/{job}/backfills",
        {"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z", "which": "missed"},
    ),
    "bulk": ("POST", "/jobs/bulk", {"action": "pause", "ids": ["{job}"]}),
    "cancel": ("POST", "/runs/{run}/cancel", {}),
    "rerun": ("POST", "/runs/{run}/rerun", {}),
    "pull": ("POST", "/sources/{source}/pull", {}),
    "remove": ("DELETE", "/sources/{source}", None),
    "create_token": ("POST", "/tokens", {"name": "x", "scope": "read"}),
    "revoke_token": ("DELETE", "/tokens/{token}", None),
    "create_pipeline": ("POST", "/pipelines", PIPELINE | {"name": "p{name}"}),
    "replace_pipeline": ("PUT", "/pipelines/{pipeline}", PIPELINE | {"name": "p{name}"}),
    "replace_pipeline_by_name": ("PUT", "/pipelines/{named}", PIPELINE | {"name": "p{name}"}),
    "patch_pipeline": ("PATCH", "/pipelines/{pipeline}", {"type": "x"}),
    "patch_pipeline_by_name": ("PATCH", "/pipelines/{named}", {"type": "x"}),
    "remove_pipeline": ("DELETE", "/pipelines/{pipeline}", None),
    "remove_pipeline_by_name": ("DELETE", "/pipelines/{named}", None),
    "run_pipeline": ("POST", "/runs", {"pipeline_id": "{pipeline}"}),
    "create_schedule": ("POST", "/schedules", {"pipeline_id": "{pipeline}", "cron": "0 9 * * *"}),
    "replace_schedule": ("PUT", "/schedules/{schedule}", {"cron": "0 9 * * *"}),
    "patch_schedule": ("PATCH", "/schedules/{schedule}", {"enabled": False}),
    "remove_schedule": ("DELETE", "/schedules/{schedule}", None),
    "backfill_schedule": (
        "POST",
        "/schedules/{schedule}/backfills",
        {"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"},
    ),
}


def filled(body: Any, names: dict[str, str]) -> Any:
    """A body with names in the place of braces."""
    if isinstance(body, dict):
        return {key: filled(value, names) for key, value in body.items()}
    return body.format(**names) if isinstance(body, str) and "{" in body else body


def test_every_change_is_here() -> None:
    assert ROWS.keys() == CHANGES


@pytest.mark.req("OWN-06")
@pytest.mark.parametrize("name", ROWS)
def test_a_preview_equals_the_deed_and_writes_nothing(stage: Stage, name: str) -> None:
    names = prepare(stage)
    verb, path, body = ROWS[name]
    path, body = path.format(**names), filled(body, names)
    if name == "bulk":
        body = body | {"ids": [names["job"]]}
    if name in ("create_job", "declare_jobs"):
        body = {"jobs": [NEW | {"name": names["name"]}]} if "jobs" in body else NEW | {"name": names["name"]}
    if name == "rerun":
        stage.run_due()
    key = {"Idempotency-Key": uuid4().hex} if name in ("trigger", "rerun", "run_pipeline") else {}
    given = {} if body is None else {"json": body}
    before = stage.everything()
    dry = stage.ask(verb, f"{path}?dry_run=true", headers=key, **given)
    assert stage.everything() == before
    done = stage.ask(verb, path, headers=key, **given)
    if name == "pull":  # nothing is followed here
        assert (dry.status_code, done.status_code) == (409, 409)
        return
    assert dry.status_code == 200, dry.text
    assert dry.json()["dry_run"] is True
    assert done.status_code in (200, 201, 202, 204), done.text
    if done.content:
        assert plain(dry.json()) == plain(done.json())
    if name not in ("resume", "backfill", "backfill_schedule"):
        assert stage.everything() != before


def plain(answer: Any) -> Any:
    """What does not depend on when it was asked."""
    if isinstance(answer, dict):
        return {
            key: plain(value) for key, value in answer.items() if key not in DIFFERENT and "_at" not in key
        }
    return [plain(one) for one in answer] if isinstance(answer, list) else answer
