"""Every route × every kind of identity. A route without a row here fails, and so does a row without a route.

A row says who may: n no token is needed, r read, o operate, w write, a admin; with *, a token that is limited
to some sources may not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from api.stage import NEW, PIPELINE, Stage, staged
from foliot.api.application import GROUPS
from foliot.model.access import Scope


class Row(NamedTuple):
    who: str
    path: str
    body: Any = None
    code: int = 200  # of one who may


JOB = "/jobs/ops~2Fbackup"
MAIL = "/jobs/api~2Fmail"
RUN = "/runs/ops~2Fbackup~21once"
BODY = {name: value for name, value in NEW.items() if name != "name"}
SPAN = {"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z", "which": "missed"}
NAMED = "/pipelines/shop/gold/sales"
SALES = {"namespace": "shop", "layer": "gold", "pipeline": "sales"}
OF_API = ("api~2F", "/pipelines/", "/schedules/")
ROWS = {
    "list_jobs": Row("r", "/jobs"),
    "show": Row("r", JOB),
    "create_job": Row("w", "/jobs", NEW | {"name": "new"}),
    "declare_jobs": Row("w", "/jobs/batch", {"jobs": [NEW]}),
    "replace_job": Row("w", MAIL, BODY),
    "patch_job": Row("w", MAIL, {"queue": "x"}),
    "remove_job": Row("w", MAIL),
    "pause": Row("o", f"{JOB}/pause"),
    "resume": Row("o", f"{JOB}/resume"),
    "trigger": Row("o", f"{JOB}/runs"),
    "backfill": Row("o", f"{JOB}/backfills", SPAN),
    "bulk": Row("o", "/jobs/bulk", {"action": "pause", "ids": ["ops~2Fbackup"]}),
    "occurrences": Row("r", f"{JOB}/occurrences"),
    "why": Row("r", f"{JOB}/why"),
    "versions": Row("r", f"{JOB}/versions"),
    "diff": Row("r", f"{JOB}/versions/1/diff?to=1"),
    "list_runs": Row("r", "/runs"),
    "list_runs_of_job": Row("r", f"{JOB}/runs"),
    "show_one_run": Row("r", RUN),
    "cancel": Row("o", f"{RUN}/cancel"),
    "rerun": Row("o", f"{RUN}/rerun", None, 409),
    "log": Row("r", f"{RUN}/attempts/1/log"),
    "last_log": Row("r", f"{RUN}/logs"),
    "list_skips": Row("r", "/skips"),
    "explain_cron": Row("r", "/cron?expr=@daily"),
    "show_forecast": Row("r", "/forecast"),
    "list_sources": Row("r", "/sources"),
    "show_source": Row("r", "/sources/ops"),
    "list_revisions": Row("r", "/sources/ops/revisions"),
    "revision_diff": Row("r", "/sources/ops/revisions/1/diff"),
    "pull": Row("o", "/sources/ops/pull", None, 409),
    "plan_a_change": Row("r", "/sources/ops/plan", {"config": "jobs: {}"}, 409),
    "remove": Row("a", "/sources/ops"),
    "list_nodes": Row("r*", "/nodes"),
    "list_queues": Row("r*", "/queues"),
    "overview": Row("r*", "/overview"),
    "scheduler": Row("r", "/scheduler"),
    "events": Row("r", "/events?topics=nowhere", None, 400),
    "list_tokens": Row("a*", "/tokens"),
    "create_token": Row("a*", "/tokens", {"name": "x", "scope": "read"}),
    "show_token": Row("a*", "/tokens/{read}"),
    "revoke_token": Row("a*", "/tokens/{read}"),
    "whoami": Row("r", "/whoami"),
    "audit": Row("a*", "/audit"),
    "list_pipelines": Row("r", "/pipelines"),
    "create_pipeline": Row("w", "/pipelines", PIPELINE | {"name": "new"}),
    "get_pipeline": Row("r", "/pipelines/{pipeline}"),
    "get_pipeline_by_name": Row("r", NAMED),
    "replace_pipeline": Row("w", "/pipelines/{pipeline}", PIPELINE),
    "replace_pipeline_by_name": Row("w", NAMED, PIPELINE),
    "patch_pipeline": Row("w", "/pipelines/{pipeline}", {"type": "x"}),
    "patch_pipeline_by_name": Row("w", NAMED, {"type": "x"}),
    "remove_pipeline": Row("w", "/pipelines/{pipeline}"),
    "remove_pipeline_by_name": Row("w", NAMED),
    "list_schedules": Row("r", "/schedules"),
    "create_schedule": Row("w", "/schedules", SALES | {"cron": "0 9 * * *"}),
    "get_schedule": Row("r", "/schedules/{schedule}"),
    "replace_schedule": Row("w", "/schedules/{schedule}", {"enabled": False}),
    "patch_schedule": Row("w", "/schedules/{schedule}", {"enabled": False}),
    "remove_schedule": Row("w", "/schedules/{schedule}"),
    "backfill_schedule": Row("o", "/schedules/{schedule}/backfills", SPAN),
    "run_pipeline": Row("o", "/runs", SALES),
    "metrics": Row("r*", "//metrics"),
    "openapi": Row("r", "//openapi.json"),
    "livez": Row("n", "//livez"),
    "readyz": Row("n", "//readyz"),
    "startupz": Row("n", "//startupz"),
    "login": Row("n", "//login", {"token": "wrong"}, 401),
    "logout": Row("n", "//logout", None, 403),
}
ROUTES = {route.name: route for group in GROUPS for route in group.routes}
IDENTITIES = (None, "wrong", "expired", "read", "operate", "write", "admin", "elsewhere")
SCOPES = dict(zip("rowa", Scope, strict=True))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(None, tmp_path_factory.mktemp("api")) as stage:
        stage.post("/jobs", NEW, code=201)
        pipeline = stage.post("/pipelines", PIPELINE, code=201)
        schedule = stage.post("/schedules", SALES | {"cron": "0 3 * * *"}, code=201)
        stage.ids |= {"pipeline": pipeline["id"], "schedule": schedule["id"]}
        stage.post(f"{JOB}/runs", code=202, headers={"Idempotency-Key": "once"})
        stage.post("/jobs/other~2Fhidden/runs", code=202)
        yield stage


def test_every_route_has_a_row() -> None:
    assert sorted(ROWS) == sorted(ROUTES)
    assert len(ROUTES) == sum(len(group.routes) for group in GROUPS), "two routes have one name"


def send(stage: Stage, name: str, who: str | None) -> Any:
    row, route = ROWS[name], ROUTES[name]
    path = row.path.format(read=stage.tokens["read"].split("_")[1], **stage.ids)
    if route.changes and route.scope is not None:
        path += f"{'&' if '?' in path else '?'}dry_run=true"
    given = {} if row.body is None and route.verb in ("GET", "DELETE") else {"json": row.body or {}}
    return stage.ask(route.verb, path, who, **given)


@pytest.mark.req("OWN-10")
@pytest.mark.parametrize("who", IDENTITIES)
@pytest.mark.parametrize("name", ROWS)
def test_no_identity_gets_more_than_its_scope(stage: Stage, name: str, who: str | None) -> None:
    row = ROWS[name]
    before = stage.everything()
    response = send(stage, name, who)
    code = response.status_code
    if row.who == "n":
        assert code == row.code
    elif who in (None, "wrong", "expired"):
        assert (code, response.json()["code"]) == (401, "NO_TOKEN")
        assert response.headers["www-authenticate"].startswith("Bearer")
    elif who == "elsewhere":
        check_limited(row, response)
    else:
        may = Scope(who).includes(SCOPES[row.who[0]])
        assert code == (row.code if may else 403), response.text
    assert stage.everything() == before


def check_limited(row: Row, response: Any) -> None:
    """A token of all scopes, limited to another source: it sees nothing of others."""
    text = response.text
    makes = row.body and row.path in ("/jobs", "/jobs/batch", "/pipelines", "/schedules", "/runs")
    if row.who.endswith("*") or makes:
        assert response.status_code == 403
    elif row.path != "/jobs/bulk" and any(word in row.path for word in ("ops", *OF_API)):
        assert response.status_code == 404, text
    else:
        assert response.status_code in (200, row.code)
    if response.status_code < 400 and not row.body:  # other answers repeat what was asked for
        assert "ops/backup" not in text.replace("the job `ops/backup` is", "")
    assert "/srv" not in text


def test_a_limited_token_sees_its_own_source_in_lists_and_streams(stage: Stage) -> None:
    assert {job["source"] for job in stage.get("/jobs", "elsewhere")["jobs"]} == {"other"}
    assert {run["job"] for run in stage.get("/runs", "elsewhere")["runs"]} == {"other/hidden"}
    assert {one["source"] for one in stage.get("/sources", "elsewhere")["sources"]} == {"other"}
    assert stage.get("/jobs?source=ops", "elsewhere")["jobs"] == []
    assert stage.get("/jobs?key=ops/backup", "elsewhere")["jobs"] == []
    assert stage.get("/runs?job=ops~2Fbackup", "elsewhere")["runs"] == []
    assert stage.get("/skips?job=ops~2Fbackup", "elsewhere")["skips"] == []
    assert stage.get("/jobs/other~2Fhidden", "elsewhere")["key"] == "other/hidden"
    [item] = stage.post("/jobs/bulk", {"action": "pause", "ids": ["ops~2Fbackup"]}, "elsewhere")["results"]
    assert item["status"] == 404
    done = stage.post("/jobs/bulk?dry_run=true", {"action": "pause", "filter": {}, "expect": 1}, "elsewhere")
    assert [one["id"] for one in done["results"]] == ["other~2Fhidden"]
    assert stage.get("/forecast", "elsewhere")["jobs"] == 1


def test_what_may_not_be_seen_is_not_told_apart_from_what_is_not_there(stage: Stage) -> None:
    hidden = stage.get("/jobs/ops~2Fbackup", "elsewhere", code=404)
    absent = stage.get("/jobs/ops~2Fnothing", "elsewhere", code=404)
    for problem in (hidden, absent):
        del problem["instance"], problem["detail"]
    assert hidden == absent
