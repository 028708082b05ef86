"""Forms as they are sent without JavaScript: commands, previews, faults, and two who edit the same job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from api.stage import BACKUP, Stage, declare, staged
from dashboard.conftest import furnish
from dashboard.visitor import HTML, SAME, Visitor
from foliot.engine.planner import plan_ended
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.shape import DATA
from foliot.operations import Operations
from foliot.protocols import JobQuery
from foliot.schedules import Cron

JOB = "/jobs/ops~2Fbackup"


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(None, tmp_path_factory.mktemp("forms")) as stage:
        furnish(stage)
        yield stage


@pytest.fixture
def ada(stage: Stage) -> Visitor:
    return Visitor(stage)


def test_a_job_is_paused_and_resumed_and_the_audit_tells_it(stage: Stage, ada: Visitor) -> None:
    page = ada.press(ada.get(JOB), "Pause")
    assert "ops/backup is paused. Resume undoes it." in page.text
    assert stage.get(JOB)["state"][-1] == "paused" or "paused" in stage.get(JOB)["state"]
    page = ada.press(page, "Resume")
    assert "paused" not in stage.get(JOB)["state"]
    entries = ada.get("/audit?object=job:ops/backup").text
    assert "pause ops/backup" in entries
    assert "resume ops/backup" in entries
    assert "told" not in ada.client.cookies, "what was told once is not told again"


def test_a_form_that_is_sent_twice_runs_the_job_once(stage: Stage, ada: Visitor) -> None:
    page = ada.get(JOB)
    before = len(stage.get("/jobs/ops~2Fbackup/runs")["runs"])
    assert "ops/backup runs now." in ada.press(page, "Run now").text
    assert "Why it exists: triggered manually" in ada.press(page, "Run now").text
    assert len(stage.get("/jobs/ops~2Fbackup/runs")["runs"]) == before + 1


def test_the_list_shows_each_attempt_as_it_starts_and_ends(tmp_path: Path) -> None:
    with staged(f"sqlite:///{tmp_path}/jobs.db", tmp_path) as stage:
        ada, told = Visitor(stage), "Last attempts, the newest first: "
        for outcomes in (["succeeded"], ["failed", "succeeded"], ["succeeded", "failed", "succeeded"]):
            stage.post("/jobs/ops~2Fbackup/runs", code=202)
            ada.get("/jobs")
            assert f"{told}pending" in ada.page
            [attempt] = stage.claim()
            ada.get("/jobs")
            assert f"{told}running" in ada.page
            stage.act(lambda ops, a=attempt, o=outcomes: end(ops, a, o[0]))  # type: ignore[misc] # its own values
            ada.get("/jobs")
            assert f"{told}{', '.join(outcomes)}" in ada.page


async def end(ops: Operations, attempt: Attempt, outcome: str) -> None:
    now, (run, number) = await ops.store.now(), attempt.key
    ending = Ending(attempt.job, run, number, attempt.token, Outcome(outcome), now, now)
    await ops.store.finish("n1", [ending], now, plan_ended)


def test_why_is_told_for_any_instant_in_the_zone_of_the_job(ada: Visitor) -> None:
    page = ada.press(ada.get(JOB), "Why")
    assert "Why" in page.text
    assert "0 4 * * * (Europe/Berlin)" in page.text
    page = ada.press(page, "Explain", at="2031-03-02T04:00")
    assert "will run" in page.text
    assert "Sun 2 Mar 2031 04:00 CET is an occurrence" in page.text
    gap = ada.get(f"{JOB}?why=true&at=2031-03-30T02:30").text
    assert "2031" in gap
    wrong = ada.get(f"{JOB}?why=true&at=yesterday", code=422)
    assert "'yesterday' is no time" in wrong.text


def test_a_cancel_tells_its_effect_before_it_is_done(stage: Stage, ada: Visitor) -> None:
    run = "/runs/ops~2Fbackup~21open"
    page = ada.press(ada.get(run), "Cancel")
    assert "It runs, and is asked to stop." in page.text
    assert stage.get(run)["attempts"][0]["state"] == "running"
    ada.press(page, "Confirm")
    assert stage.get(run)["attempts"][0]["state"] == "cancelling"


def test_a_backfill_shows_what_would_run_and_comes_back_with_what_was_typed(
    stage: Stage, ada: Visitor
) -> None:
    async def age(ops: Operations) -> None:
        old = replace(BACKUP, name="old", schedule=Cron("0 * * * *"))
        await declare(ops, old, at=await ops.store.now() - timedelta(days=9))

    stage.act(age)
    stage.run_due()
    before = len(stage.get("/jobs/ops~2Fold/runs")["runs"])
    page = ada.press(ada.get("/jobs/ops~2Fold"), "Backfill")
    wrong = ada.press(page, "Preview", code=422, **{"from": "next week", "to": "2026-01-01"})
    assert "'next week' is no time" in wrong.text
    assert dict(wrong.form("Preview")["fields"])["from"] == "next week"
    now = stage.act(lambda ops: ops.store.now())
    span: dict[str, Any] = {
        "from": (now - timedelta(hours=80)).isoformat(),
        "to": (now - timedelta(hours=2)).isoformat(),
    }
    preview = ada.press(wrong, "Preview", **span, which="missed")
    assert "78 runs would start. Nothing is done yet." in preview.text
    refused = ada.press(preview, "Confirm", code=422, typed="7")
    assert "Type 78 to start 78 runs" in refused.text
    assert len(stage.get("/jobs/ops~2Fold/runs")["runs"]) == before
    ada.press(preview, "Confirm", typed="78")
    assert len(stage.get("/jobs/ops~2Fold/runs?limit=200")["runs"]) == before + 78


def test_a_job_is_made_with_a_preview_and_all_that_is_wrong_is_told(stage: Stage, ada: Visitor) -> None:
    page = ada.get("/jobs/new")
    given: dict[str, Any] = {"name": "teller", "kind": "python:x", "payload": '{"a": 1}'}
    wrong = ada.press(page, "Preview", code=422, schedule="99 * * * *", timezone="Mars", **given)
    typed = dict(wrong.form("Preview")["fields"])
    assert (typed["schedule"], typed["timezone"], typed["name"]) == ("99 * * * *", "Mars", "teller")
    assert "99" in wrong.text
    broken = ada.press(
        wrong, "Preview", code=422, schedule="0 7 * * *", timezone="UTC", kind="python:x", payload="{"
    )
    assert "payload is no JSON" in broken.text
    preview = ada.press(broken, "Preview", kind="python:x", payload='{"a": 1}')
    assert "Next occurrences" in preview.text
    assert stage.ask("GET", "/jobs/api~2Fteller").status_code == 404
    ada.press(preview, "Confirm", payload='{"a": 1}')
    assert stage.get("/jobs/api~2Fteller")["action"]["payload"] == {"a": 1}


@pytest.mark.req("OWN-12")
def test_of_two_who_edit_a_job_the_second_is_shown_what_changed(stage: Stage, ada: Visitor) -> None:
    bob = Visitor(stage)
    hers, his = ada.get("/jobs/api~2Fmail/edit"), bob.get("/jobs/api~2Fmail/edit")
    same: dict[str, Any] = {"payload": '{"user": 7}', "policy": "{}"}
    ada.press(ada.press(hers, "Preview", schedule="0 8 * * *", **same), "Confirm", **same)
    stale = bob.press(his, "Preview", code=412, queue="mail", **same)
    assert "Another person has changed this job meanwhile" in stale.text
    assert '"0 7 * * *"' in stale.text.replace("&quot;", '"')
    assert '"0 8 * * *"' in stale.text
    assert dict(stale.form("Preview")["fields"])["queue"] == "mail", "what was typed is kept"
    assert stage.get("/jobs/api~2Fmail")["queue"] == "default"


def test_an_edit_keeps_the_secrets_that_it_does_not_show(stage: Stage, ada: Visitor) -> None:
    payload = {"user": 7, "mail": {"password": "s3cret-value", "name": "ada"}}
    stage.post(
        "/jobs",
        {"name": "keep", "schedule": "0 7 * * *", "action": {"kind": "k", "payload": payload}},
        code=201,
    )
    page = ada.get("/jobs/api~2Fkeep/edit")
    shown = next(text for text in page.texts if '"mail"' in text)
    assert "s3cret-value" not in ada.page
    same: dict[str, Any] = {"payload": shown, "policy": "{}"}
    ada.press(ada.press(page, "Preview", queue="mail", **same), "Confirm", **same)
    assert payload_of(stage, "api/keep") == payload
    assert stage.get("/jobs/api~2Fkeep")["queue"] == "mail"


def payload_of(stage: Stage, key: str) -> Any:
    async def stored(ops: Operations) -> Any:
        [view] = await ops.store.jobs(JobQuery(keys=frozenset((key,))))
        assert view.record is not None
        return DATA.write(view.record.job.action.data)

    return stage.act(stored)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [("here.example", "evil.example", "k"), ('"user": 7', '"user": 8', "k"), ("", "", "other")],
)
def test_an_edit_sends_no_secret_that_it_does_not_show_elsewhere(
    stage: Stage, ada: Visitor, before: str, after: str, kind: str
) -> None:
    payload = {"user": 7, "url": "https://here.example/x", "mail": {"password": "s3cret-value"}}
    action = {"kind": "k", "payload": payload}
    stage.post("/jobs", {"name": "send", "schedule": "0 7 * * *", "action": action}, code=201)
    page = ada.get("/jobs/api~2Fsend/edit")
    shown = next(text for text in page.texts if '"mail"' in text)
    typed = shown.replace(before, after)
    back = ada.press(page, "Preview", code=422, payload=typed, kind=kind, policy="{}")
    assert "mail.password is still masked" in back.text
    assert "type the value of mail.password again" in back.text
    assert payload_of(stage, "api/send") == payload
    whole = typed.replace("***", "typed-again")
    given: dict[str, Any] = {"payload": whole, "kind": kind, "policy": "{}"}
    ada.press(ada.press(back, "Preview", **given), "Confirm", **given)
    assert payload_of(stage, "api/send")["mail"] == {"password": "typed-again"}


def test_many_jobs_are_paused_after_a_preview_of_each(stage: Stage, ada: Visitor) -> None:
    ids = ["ops~2Fbackup", "other~2Fhidden"]
    preview = ada.press(ada.get("/jobs"), "Pause", id=ids, reason="a move")
    assert "Nothing is done yet" in preview.text
    assert "other/hidden would be paused: a move" in preview.text
    assert "paused" not in stage.get(JOB)["state"]
    page = ada.press(preview, "Confirm")
    assert "Pause: 2 done" in page.text
    assert stage.get(JOB)["paused_reason"] == "a move"
    assert "Choose jobs first" in ada.press(ada.get("/jobs"), "Pause").text


def test_a_token_is_shown_once_and_revoked_after_a_preview(stage: Stage, ada: Visitor) -> None:
    wrong = ada.press(ada.get("/tokens"), "Make a token", code=422, name="ci", expires="soon")
    assert dict(wrong.form("Make a token")["fields"])["name"] == "ci"
    page = ada.press(wrong, "Make a token", name="ci", scope="operate", expires="1d")
    [token] = [text.strip() for text in page.texts if text.strip().startswith("flt_")]
    assert token not in ada.get("/tokens").text
    stage.tokens["new"] = token
    assert stage.get("/whoami", "new")["scope"] == "operate"
    ask = ada.client.post(f"/tokens/{token.split('_')[1]}/revoke", data={"preview": "yes"}, headers=SAME)
    assert "It was used last at" in ask.text
    stage.get("/whoami", "new")
    ada.client.post(f"/tokens/{token.split('_')[1]}/revoke", data={"sure": "yes"}, headers=SAME)
    assert stage.ask("GET", "/whoami", "new").status_code == 401


def test_a_source_and_a_job_are_removed_after_a_preview(stage: Stage, ada: Visitor) -> None:
    preview = ada.press(ada.get("/jobs/api~2Fmail"), "Remove")
    assert "What would happen" in preview.text
    stage.get("/jobs/api~2Fmail")
    ada.press(preview, "Confirm")
    assert stage.ask("GET", "/jobs/api~2Fmail").status_code == 404
    preview = ada.press(ada.get("/sources/other"), "Remove though a node serves it")
    assert "Jobs that are removed: 1." in preview.text
    ada.press(preview, "Confirm")
    assert stage.ask("GET", "/jobs/other~2Fhidden").status_code == 404


def test_a_pipeline_runs_and_gets_a_schedule(stage: Stage, ada: Visitor) -> None:
    path = f"/pipelines/{stage.ids['pipeline']}"
    wrong = ada.press(ada.get(path), "Add", code=422, cron="never")
    assert dict(wrong.form("Add")["fields"])["cron"] == "never"
    page = ada.press(wrong, "Add", cron="15 9 * * *")
    assert "15 9 * * *" in page.text
    assert "runs now" in ada.press(page, "Run now").text
    off = ada.press(ada.get(path), "Switch off")
    assert "The schedule is off." in off.text


@pytest.mark.parametrize(
    "headers", [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}]
)
def test_a_form_of_another_site_changes_nothing(stage: Stage, ada: Visitor, headers: dict[str, str]) -> None:
    for path in (f"{JOB}/pause", f"{JOB}/run", "/tokens", "/theme", "/logout", "/jobs/bulk"):
        answer = ada.client.post(path, data={"name": "x", "scope": "admin"}, headers={**HTML, **headers})
        assert answer.status_code == 403, path
    assert "paused" not in stage.get(JOB)["state"]
    assert ada.client.get(f"{JOB}/pause").status_code == 405
