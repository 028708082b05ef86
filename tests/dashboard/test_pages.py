"""Pages as a person without JavaScript meets them: every link leads somewhere, every text is a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from api.stage import BACKUP, Stage, staged
from dashboard.conftest import furnish
from dashboard.hostile import MARK, TEXTS, plant
from dashboard.visitor import HTML, SAME, Reader, Visitor
from foliot.dashboard.view import CSP
from foliot.errors import StoreUnavailableError
from foliot.schedules import Cron

PLAIN = (
    "/", "/jobs", "/journal", "/journal?what=skips", "/calendar", "/lab", "/sources", "/nodes", "/pipelines",
    "/audit", "/tokens", "/about", "/docs",
)  # fmt: skip


@pytest.mark.req("OWN-12", "BAN-16")
@pytest.mark.parametrize("path", PLAIN)
def test_each_page_has_a_heading_a_way_to_all_others_and_the_same_in_the_shell(
    ada: Visitor, path: str
) -> None:
    page = ada.get(path)
    assert [tag for tag, _ in page.tags].count("h1") == 1
    assert {"/", "/jobs", "/journal", "/calendar", "/sources", "/nodes", "/audit"} <= set(page.links)
    if path != "/docs":
        told = re.search(r"The same in the shell: (foliot|curl) .*", page.text)
        assert told, path
        if told[1] == "curl":
            address = told[0].partition('$TOKEN" ')[2].split()[0].strip("'")
            assert ada.client.get(address).status_code == 200
    assert ("html", "en") in [(tag, found.get("lang")) for tag, found in page.tags]


@pytest.mark.req("OWN-12")
def test_every_link_leads_somewhere(stage: Stage, ada: Visitor) -> None:
    count, downloads = 0, 0
    for path, answer in ada.walk(most=150):
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:500])
        if "text/html" in answer.headers["content-type"]:
            assert answer.headers["content-security-policy"] == CSP
            loads = [found for tag, found in Reader(answer.text).tags if tag == "a" and "download" in found]
            assert all((found.get("href") or "").startswith("/api/v1/") for found in loads), path
            downloads += len(loads)
        else:
            assert path.startswith("/api/v1/"), path
        count += 1
    assert count >= 50
    assert downloads
    assert stage.address.url


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(None, tmp_path_factory.mktemp("hostile")) as stage:
        furnish(stage)
        plant(stage)
        yield stage


@pytest.mark.req("OWN-12")
def test_no_text_becomes_a_tag_an_attribute_or_a_link(hostile: Stage) -> None:
    seen = 0
    for path, answer in Visitor(hostile).walk(most=250):
        assert answer.status_code == 200, (path, answer.status_code, Reader(answer.text).text)
        if "text/html" not in answer.headers["content-type"]:
            continue
        for tag, found in Reader(answer.text).tags:
            assert tag not in ("b>x", "raw")
            assert not [name for name in found if name.startswith("on")], (path, tag, found)
            assert not (found.get("href") or "").lower().startswith("javascript:"), (path, tag)
            assert tag != "script" or (found.get("src") or "").startswith("/static/"), path
            assert tag != "img" or (found.get("src") or "").startswith("/static/"), path
        assert f"<script>{MARK}" not in answer.text
        assert "49" not in Reader(answer.text).form("Light")["action"]
        seen += MARK in answer.text
    assert seen > 30


def test_each_hostile_job_has_a_page_of_its_own(hostile: Stage) -> None:
    visitor = Visitor(hostile)
    page = visitor.get("/jobs?source=ops")
    links = [link for link in page.links if link.startswith("/jobs/ops~2F") and "?" not in link]
    assert len(set(links)) == len(TEXTS) + 1
    for link in set(links):
        assert "ops/" in visitor.get(link).text


def test_a_page_links_under_the_prefix_of_a_proxy(tmp_path: Path) -> None:
    with staged(None, tmp_path, proxy="http://127.0.0.1/cron") as stage:
        furnish(stage)
        client = Visitor(stage).client
        assert client.cookies.jar
        for path in (
            *PLAIN,
            "/jobs/ops~2Fbackup",
            "/jobs/ops~2Fbackup/backfill",
            "/runs/ops~2Fbackup~21first",
        ):
            text = client.get(f"/cron{path}").text
            page = Reader(text)
            inner = [link for link in page.links if not link.startswith("#")]
            assert inner
            assert all(link.startswith("/cron/") for link in inner), [
                i for i in inner if not i.startswith("/cron/")
            ]
            assert all(form["action"].startswith("/cron/") for form in page.forms)
            assert all((found.get("src") or found.get("href") or "/cron/").startswith("/cron/")
                       for tag, found in page.tags if tag in ("script", "link", "img"))  # fmt: skip


def test_a_wrong_token_brings_the_form_back_and_the_right_one_leads_on(stage: Stage) -> None:
    visitor = Visitor(stage)
    visitor.client.cookies.clear()
    answer = visitor.client.get("/jobs?state=failing")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=%2Fjobs%3Fstate%3Dfailing")
    page = visitor.get("/jobs?state=failing")
    refused = visitor.press(page, "Log in", code=401, token="wrong")  # noqa: S106 - that it is none
    assert "no valid token" in refused.text
    assert "Jobs" in visitor.press(refused, "Log in", token=stage.tokens["read"]).text


@pytest.mark.parametrize("aim", ["//evil.example/", "https://evil.example/", "/\\evil.example", "jobs"])
def test_a_login_leads_to_no_other_site(stage: Stage, aim: str) -> None:
    client = Visitor(stage).client
    answer = client.post("/login", params={"next": aim}, data={"token": stage.tokens["read"]}, headers=SAME)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_the_switch_of_light_and_dark_is_kept_in_a_cookie(stage: Stage) -> None:
    visitor = Visitor(stage)
    page = visitor.press(visitor.get("/jobs"), "Dark")
    assert visitor.client.cookies["theme"] == "dark"
    assert ("html", "dark") in [(tag, found.get("data-theme")) for tag, found in page.tags]
    visitor.press(page, "Auto")
    assert "theme" not in visitor.client.cookies


def test_what_is_not_there_is_a_page_for_people_and_a_problem_for_programs(
    stage: Stage, ada: Visitor
) -> None:
    assert "There is no job" in ada.get("/jobs/ops~2Fnothing", code=404).text
    answer = stage.ask("GET", "//jobs/ops~2Fnothing")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.req("OWN-12")
def test_a_store_that_is_away_shows_the_last_page_with_its_age(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, other = Visitor(stage), Visitor(stage, "read")
    visitor.get("/jobs")

    async def away(*_: object) -> None:
        raise StoreUnavailableError("postgresql://secret@host", "it does not answer")

    monkeypatch.setattr(stage.server.application.service.store, "jobs", away)
    page = visitor.get("/jobs", code=503)
    assert "The store does not answer. This page is" in page.text
    assert "ops/ backup" in page.text
    assert "secret" not in visitor.page
    nothing = other.get("/jobs", code=503)  # what another one was shown is not hers
    assert "backup" not in nothing.text
    assert "does not answer" in nothing.text


def test_static_files_are_kept_by_browsers_and_compressed(stage: Stage) -> None:
    page = Reader(stage.client.get("/login", headers=HTML).text)
    [style] = [
        str(found["href"]) for tag, found in page.tags if tag == "link" and found.get("rel") == "stylesheet"
    ]
    answer = stage.client.get(style)
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert stage.client.get("/favicon.ico").headers["content-type"] == "image/svg+xml"


def test_every_wall_time_of_the_overview_and_of_the_list_names_its_zone(ada: Visitor) -> None:
    for path in ("/", "/jobs", "/jobs?order=soonest"):
        text = ada.get(path).text
        times = re.findall(r"[A-Z][a-z]{2} \d{1,2} [A-Z][a-z]{2}(?: \d{4})? \d\d:\d\d(?::\d\d)? \S+", text)
        assert times, path
        assert {time.split()[-1].strip(".:,") for time in times} <= {"UTC", "CET", "CEST"}, (path, times)


def test_the_timeline_has_no_mark_of_a_time_before_the_job_or_its_rule_was_there(tmp_path: Path) -> None:
    with staged(None, tmp_path) as stage:
        stage.declare(replace(BACKUP, name="new", schedule=Cron("* * * * *")), BACKUP)
        ada = Visitor(stage)
        for _ in range(2):
            page = ada.get("/jobs/ops~2Fnew?zoom=hour")
            links = [link for link in page.links if "why=true" in link and "zoom=hour" in link]
            assert 58 <= len(links) <= 61  # the hour to come
            assert "unknown" not in page.text
            stage.declare(
                replace(BACKUP, name="new", schedule=Cron("* * * * *", timezone="Asia/Tokyo")), BACKUP
            )
