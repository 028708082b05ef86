"""What an attacker tried, and must not succeed with any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from api.stage import BACKUP, Stage, declare, staged
from dashboard.conftest import furnish
from dashboard.visitor import SAME, Visitor
from foliot.api.ids import id_of
from foliot.api.limits import Limits
from foliot.errors import StoreUnavailableError
from foliot.operations import Operations
from foliot.schedules import Cron

pytestmark = pytest.mark.req("OWN-12")


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(None, tmp_path_factory.mktemp("attacks")) as stage:
        furnish(stage)
        yield stage


@pytest.fixture
def ada(stage: Stage) -> Visitor:
    return Visitor(stage)


async def _away(*_: object) -> None:
    raise StoreUnavailableError("postgresql://secret@host", "it does not answer")


def _store_is_away(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    service = stage.server.application.service
    for verb in ("jobs", "now", "tokens", "audit", "end_session"):
        monkeypatch.setattr(service.store, verb, _away)
    for memory in (service.authority._tokens, service.authority._sessions):
        monkeypatch.setattr(memory, "_ask", _away)  # they have kept the verbs of the store


@pytest.mark.parametrize("name", ["a~3Fb", "a?b", "p#q", "x y", "50%25", "é"])
def test_what_is_confirmed_is_what_the_preview_named(stage: Stage, ada: Visitor, name: str) -> None:
    for source in ("a~3Fb", "a?b", name):
        stage.act(lambda ops, s=source: declare(ops, replace(BACKUP, source=s)))  # type: ignore[misc] # its own value
    assert f"/sources/{id_of(name)}" in ada.get("/sources").links
    preview = ada.press(ada.get(f"/sources/{id_of(name)}"), "Remove")
    assert f"Remove {name}" in preview.text
    assert f"{name} was removed, with 1 jobs." in ada.press(preview, "Confirm").text
    left = {one["source"] for one in stage.get("/sources")["sources"] if one["jobs"]}
    assert name not in left
    assert {"a~3Fb", "a?b"} - {name} <= left


def test_who_has_logged_out_sees_no_page_of_a_store_that_is_away(
    stage: Stage, ada: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.get("/jobs")
    cookies = dict(ada.client.cookies)
    ada.press(ada.get("/jobs"), "Log out")
    _store_is_away(stage, monkeypatch)
    ada.client.cookies.update(cookies)
    assert "backup" not in ada.client.get("/jobs", follow_redirects=True).text


def test_whose_token_is_revoked_sees_no_page_of_a_store_that_is_away(
    stage: Stage, ada: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = Visitor(stage, "operate")
    assert "backup" in bob.get("/jobs").text
    [token] = [one for one in stage.get("/tokens")["tokens"] if one["name"] == "operate"]
    stage.expect(200, "DELETE", f"/tokens/{token['id']}")
    _store_is_away(stage, monkeypatch)
    assert "backup" not in bob.client.get("/jobs", follow_redirects=True).text
    assert ada.client.get("/tokens").status_code == 503


def test_pages_for_administrators_are_not_kept(
    stage: Stage, ada: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("/tokens", "/audit"):
        ada.get(path)
    _store_is_away(stage, monkeypatch)
    for path in ("/tokens", "/audit"):
        assert "This page is" not in ada.get(path, code=503).text


def test_a_form_is_not_answered_with_an_old_page(
    stage: Stage, ada: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ada.get("/jobs/api~2Fmail/edit")
    _store_is_away(stage, monkeypatch)
    answer = ada.press(page, "Preview", code=503, schedule="0 9 * * *")
    assert "This page is" not in answer.text


def test_a_backfill_starts_what_its_preview_has_shown_or_nothing(stage: Stage, ada: Visitor) -> None:
    async def age(ops: Operations, rule: str) -> None:
        old = replace(BACKUP, name="old", schedule=Cron(rule))
        await declare(ops, old, at=await ops.store.now() - timedelta(days=9))

    stage.act(lambda ops: age(ops, "0 0 * * *"))
    stage.run_due()
    before = len(stage.get("/jobs/ops~2Fold/runs")["runs"])
    page = ada.press(ada.get("/jobs/ops~2Fold"), "Backfill")
    now = stage.act(lambda ops: ops.store.now())
    span: dict[str, Any] = {
        "from": (now - timedelta(days=3)).isoformat(), "to": (now - timedelta(hours=1)).isoformat(),
        "which": "all",
    }  # fmt: skip
    preview = ada.press(page, "Preview", **span)
    stage.act(lambda ops: age(ops, "*/30 * * * *"))
    refused = ada.press(preview, "Confirm", code=409)
    assert "the preview that you have seen is older" in refused.text
    ada.press(preview, "Confirm", code=409, count="9" * 5000)
    ada.press(preview, "Confirm", code=409, count="0")
    assert len(stage.get("/jobs/ops~2Fold/runs")["runs"]) == before


def test_another_site_cannot_lock_people_out(tmp_path: Path) -> None:
    with staged(None, tmp_path, limits=Limits(failed_logins=3)) as stage:
        foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
        for _ in range(5):
            assert stage.client.post("/login", headers=foreign).status_code == 403
            assert stage.client.post("/login", json={"token": "x"}, headers=foreign).status_code == 403
        assert "backup" in Visitor(stage).get("/jobs").text


def test_json_without_end_is_a_fault_of_its_field(ada: Visitor) -> None:
    for text in ("[" * 5000, '{"a": 1, "a": 2}'):
        page = ada.press(ada.get("/jobs/new"), "Preview", code=422, kind="python:x", payload=text)
        assert "payload is no JSON" in page.text


def test_a_session_that_ended_on_a_page_with_a_long_address_can_begin_again(
    stage: Stage, ada: Visitor
) -> None:
    ada.client.cookies.clear()
    page = ada.get(f"/jobs?search=a&trail={'x' * 2500}")
    assert "Overview" in ada.press(page, "Log in", token=stage.tokens["read"]).text


def test_another_program_of_the_host_cannot_tell_something_in_our_name(ada: Visitor) -> None:
    ada.client.cookies.set("told", quote("Call this number"), domain="127.0.0.1")
    assert "Call this number" not in ada.get("/jobs").text


@pytest.mark.parametrize("aim", ["/cron/../evil", "/cron/./x", "/cron/.."])
def test_a_switch_leads_to_no_path_outside_the_prefix(tmp_path: Path, aim: str) -> None:
    with staged(None, tmp_path, proxy="http://127.0.0.1/cron") as stage:
        answer = Visitor(stage).client.post("/cron/theme", data={"theme": "dark", "back": aim}, headers=SAME)
        assert answer.headers["location"] == "/cron/"
