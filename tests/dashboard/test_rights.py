"""Every page × every kind of identity, as in tests/api/test_rights.py. A page without a row here fails.

A row says who may: n no token is needed, r read, o operate, w write, a admin; with *, a token that is limited
to some sources may not at all.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from api.stage import Stage
from dashboard.visitor import HTML
from foliot.dashboard.application import PAGES
from foliot.model.access import Scope


class Row(NamedTuple):
    who: str
    path: str
    form: dict[str, str] | None = None
    code: int = 200  # of one who may


JOB, MAIL = "/jobs/ops~2Fbackup", "/jobs/api~2Fmail"
RUN = "/runs/ops~2Fbackup~21first"
ASK = {"preview": "yes"}
SPAN = ASK | {"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z", "which": "missed"}
EDIT = ASK | {"schedule": "0 8 * * *", "kind": "python:send", "payload": "{}", "policy": "{}"}
ROWS = {
    "login_page": Row("n", "/login"),
    "log_in": Row("n", "/login", {"token": "wrong"}, 403),
    "log_out": Row("n", "/logout", {}, 403),
    "switch_theme": Row("n", "/theme", {"theme": "dark"}, 403),
    "static_file": Row("n", "/static/style.css"),
    "favicon": Row("n", "/favicon.ico"),
    "docs_page": Row("r", "/docs"),
    "overview_page": Row("r", "/"),
    "jobs_page": Row("r", "/jobs"),
    "bulk_jobs": Row("o", "/jobs/bulk", ASK | {"action": "pause", "id": "ops~2Fbackup"}),
    "bulk_all": Row("o", "/jobs/bulk/all", ASK | {"action": "pause", "source": "ops"}),
    "job_page": Row("r", JOB),
    "version_page": Row("r", f"{JOB}/versions/1"),
    "trigger": Row("o", f"{JOB}/run", ASK, 303),
    "pause": Row("o", f"{JOB}/pause", ASK, 303),
    "resume": Row("o", f"{JOB}/resume", ASK, 303),
    "remove_job": Row("w", f"{MAIL}/remove", ASK),
    "new_job_page": Row("w", "/jobs/new"),
    "create_job": Row("w", "/jobs/new", EDIT | {"name": "other"}),
    "edit_job_page": Row("w", f"{MAIL}/edit"),
    "patch_job": Row("w", f"{MAIL}/edit", EDIT),
    "backfill_page": Row("o", f"{JOB}/backfill"),
    "backfill": Row("o", f"{JOB}/backfill", SPAN),
    "run_page": Row("r", RUN),
    "cancel": Row("o", f"{RUN}/cancel", ASK, 409),
    "rerun": Row("o", f"{RUN}/rerun", ASK, 303),
    "journal_page": Row("r", "/journal"),
    "runs_page": Row("r", "/runs", None, 303),
    "calendar_page": Row("r", "/calendar"),
    "lab_page": Row("r", "/lab?expr=@daily"),
    "sources_page": Row("r", "/sources"),
    "source_page": Row("r", "/sources/ops"),
    "revision_page": Row("r", "/sources/ops/revisions/1"),
    "pull": Row("o", "/sources/ops/pull", ASK, 409),
    "remove": Row("a", "/sources/ops/remove", ASK),
    "nodes_page": Row("r*", "/nodes"),
    "pipelines_page": Row("r", "/pipelines"),
    "pipeline_page": Row("r", "/pipelines/{pipeline}"),
    "run_pipeline": Row("o", "/pipelines/{pipeline}/run", ASK, 303),
    "create_schedule": Row("w", "/pipelines/{pipeline}/schedules", ASK | {"cron": "0 9 * * *"}, 303),
    "patch_schedule": Row("w", "/schedules/{schedule}/switch", ASK, 303),
    "remove_schedule": Row("w", "/schedules/{schedule}/remove", ASK),
    "tokens_page": Row("a*", "/tokens"),
    "create_token": Row("a*", "/tokens", ASK | {"name": "x", "scope": "read"}),
    "revoke_token": Row("a*", "/tokens/{read}/revoke", ASK),
    "audit_page": Row("a*", "/audit"),
    "about_page": Row("r", "/about"),
}
ROUTES = {route.name: route for group in PAGES for route in group.routes}
IDENTITIES = (None, "wrong", "expired", "read", "operate", "write", "admin", "elsewhere")
SCOPES = dict(zip("rowa", Scope, strict=True))


def test_every_page_has_a_row() -> None:
    assert sorted(ROWS) == sorted(ROUTES)
    assert len(ROUTES) == sum(len(group.routes) for group in PAGES), "two pages have one name"


@pytest.mark.req("OWN-10", "OWN-12")
@pytest.mark.parametrize("who", IDENTITIES)
def test_no_identity_gets_more_than_its_scope(stage: Stage, who: str | None) -> None:
    before = stage.everything()
    for name, row in ROWS.items():
        path = row.path.format(read=stage.tokens["read"].split("_")[1], **stage.ids)
        given = {} if row.form is None else {"data": row.form}
        answer = stage.ask(ROUTES[name].verb, f"/{path}", who, headers=HTML, **given)
        check(name, row, who, answer.status_code, answer.text)
    assert stage.everything() == before


def check(name: str, row: Row, who: str | None, code: int, text: str) -> None:
    if row.who == "n":
        assert code == row.code, name
    elif who in (None, "wrong", "expired"):
        assert code == (303 if ROUTES[name].verb == "GET" else 401), name
    elif who == "elsewhere":
        hidden = any(word in row.path for word in ("ops", "api~2F", "/pipelines/", "/schedules/"))
        is_new = name in ("new_job_page", "create_job")
        expected = 403 if row.who.endswith("*") or is_new else 404 if hidden else row.code
        assert code == expected, (name, text)
        assert "/srv" not in text
        if code < 400 and name != "bulk_jobs":  # other answers repeat what was asked for
            assert "ops/backup" not in text.replace("job:ops/backup", "").replace(
                "the job `ops/backup` is", ""
            ), name
    else:
        may = Scope(who).includes(SCOPES[row.who[0]])
        assert code == (row.code if may else 403), (name, text)
