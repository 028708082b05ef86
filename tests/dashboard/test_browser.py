"""The dashboard in a real Chromium: a person's day, hostile data, a phone, dark, keys, a screen reader."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, expect

from api.stage import BACKUP, Stage, declare, staged
from dashboard.conftest import furnish
from dashboard.hostile import plant
from dashboard.watched import PHONE, watched
from foliot.operations import Operations
from foliot.schedules import Cron

pytestmark = pytest.mark.prove
PAGES = (
    "", "jobs", "jobs?state=failing", "jobs/ops~2Fbackup", "jobs/ops~2Fbackup?why=true",
    "jobs/ops~2Fbackup?tab=runs",
    "jobs/ops~2Fbackup?zoom=year", "jobs/ops~2Fbackup?tab=definition", "jobs/ops~2Fbackup?tab=policies",
    "jobs/ops~2Fbackup/backfill", "jobs/ops~2Fbackup/versions/1", "jobs/new", "jobs/api~2Fmail/edit",
    "runs/ops~2Fbackup~21first", "runs/ops~2Fbackup~21open", "journal", "journal?what=skips", "calendar",
    "calendar?at=2026-11-20T03:00", "lab", "lab?expr=30+2+*+*+*&timezone=Europe/Berlin", "sources",
    "sources/ops", "sources/ops/revisions/1", "nodes", "pipelines", "audit", "tokens", "about", "docs",
)  # fmt: skip

HREFS = "all => all.map(one => new URL(one.getAttribute('href'), location).href.split('#')[0])"


@pytest.mark.req("OWN-12")
def test_a_day_from_the_login_to_the_audit(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with staged(None, tmp_path_factory.mktemp("day")) as stage:
        furnish(stage, with_open=False)
        stage.act(_age)
        with watched(browser, stage.base, stage.tokens["admin"]) as window:
            page = window.page
            page.get_by_role("link", name="Jobs", exact=True).click()
            page.get_by_label("Search jobs").fill("backup")
            page.get_by_label("Search jobs").press("Enter")
            page.get_by_role("link", name="ops/backup").click()
            window.press("Run now")
            expect(page.locator("#state")).to_contain_text("pending")
            stage.run_due(text="it was \x1b[32mgreen\x1b[0m")
            expect(page.locator("#state")).to_contain_text("succeeded")  # without a reload
            expect(page.locator("#log .a32")).to_have_text("green")
            page.locator("#actions").get_by_role("link", name="Why").click()
            expect(page.locator("#why")).to_contain_text("Rule")
            window.press("Pause")
            expect(page.locator("#state")).to_contain_text("paused")
            window.press("Resume")
            expect(page.locator("#state")).not_to_contain_text("paused")
            page.goto("jobs/ops~2Fold")
            window.press("Backfill")
            window.press("Preview")
            expect(page.locator("#effect")).to_contain_text("would start. Nothing is done yet.")
            window.press("Confirm")
            expect(page.locator("[role=status] .told")).to_contain_text("runs of the past are asked for")
            page.get_by_role("link", name="Audit").click()
            for verb in ("trigger", "pause", "resume", "backfill"):
                expect(page.locator("#list")).to_contain_text(verb)


async def _age(ops: Operations) -> None:
    old = replace(BACKUP, name="old", schedule=Cron("0 * * * *"))
    await declare(ops, old, at=await ops.store.now() - timedelta(days=3))
    await ops.store.renew("n1")


@pytest.mark.req("OWN-12")
def test_hostile_data_on_every_page_do_nothing(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with staged(None, tmp_path_factory.mktemp("hostile")) as stage:
        furnish(stage)
        plant(stage)
        with watched(browser, stage.base, stage.tokens["admin"]) as window:
            waiting, seen, visited = [f"{stage.base}/"], {f"{stage.base}/"}, list[str]()
            while waiting and len(visited) < 160:
                aim = waiting.pop(0)
                visited.append(aim)
                answer = window.page.goto(aim, wait_until="load")
                assert answer is not None
                assert answer.ok, (aim, answer.status)
                links = window.page.eval_on_selector_all("a[href]:not([download])", HREFS)
                # A page of each kind is enough: filters and instants make thousands of the rest.
                new = [link for link in links if link.startswith(stage.base) and link not in seen]
                kinds = {re.sub(r"[0-9a-f-]{8,}|=[^&]*|T[0-9:]+Z", "=", link): link for link in new}
                seen.update(new)
                waiting += kinds.values()
            assert len(visited) > 100


@pytest.mark.req("OWN-12")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_screen_reader_finds_nothing_serious_in_its_way(
    browser: Browser, stage: Stage, scheme: str
) -> None:
    given = {"color_scheme": scheme}
    with watched(browser, stage.base, stage.tokens["admin"], **given) as window:
        for path in ("login", *PAGES):
            window.page.goto(path)
            found = Axe().run(window.page).response["violations"]
            serious = [
                (one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"])
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert not serious, (path, serious)


@pytest.mark.req("OWN-12")
@pytest.mark.parametrize("has_script", [True, False])
def test_a_phone_shows_every_page_without_scrolling_sideways(
    browser: Browser, stage: Stage, *, has_script: bool
) -> None:
    given = {"viewport": PHONE, "java_script_enabled": has_script, "has_touch": True}
    with watched(browser, stage.base, stage.tokens["admin"], **given) as window:
        for path in PAGES:
            window.page.goto(path)
            expect(window.page.get_by_role("heading", level=1)).to_be_visible()
            if has_script:
                wide = window.page.evaluate("document.scrollingElement.scrollWidth")
                assert wide <= PHONE["width"], (path, wide)
        window.page.locator(".menu summary").click()
        window.page.get_by_role("link", name="Calendar").click()
        expect(window.page.get_by_role("heading", level=1, name="Calendar")).to_be_visible()


@pytest.mark.req("OWN-12")
def test_without_javascript_a_job_is_paused_explained_and_resumed(browser: Browser, stage: Stage) -> None:
    with watched(browser, stage.base, stage.tokens["admin"], java_script_enabled=False) as window:
        window.page.goto("jobs/other~2Fhidden")
        window.press("Pause")
        expect(window.page.locator(".told")).to_contain_text("is paused")
        window.press("Why")
        expect(window.page.locator("#why")).to_contain_text("it is paused since")
        window.press("Resume")
        expect(window.page.locator(".told")).to_contain_text("runs again")
        window.page.get_by_role("button", name="Dark").click()
        expect(window.page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.req("OWN-12")
def test_the_keyboard_reaches_everything(browser: Browser, stage: Stage) -> None:
    with watched(browser, stage.base, stage.tokens["admin"]) as window:
        page = window.page
        page.keyboard.press("g")
        page.keyboard.press("j")
        expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
        page.keyboard.press("/")
        expect(page.get_by_label("Search jobs")).to_be_focused()
        page.keyboard.press("?")  # off while one types
        expect(page.locator("dialog")).to_have_count(0)
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_contain_text("search jobs")
        page.keyboard.press("Escape")
        for key in ("j", "j", "k", "x"):
            page.keyboard.press(key)
        expect(page.locator("[data-count]")).to_have_text("1 chosen:")
        first = page.locator("tbody tr").first
        expect(first).to_have_class("at")
        page.keyboard.press("p")
        expect(page.locator("main")).to_contain_text("Nothing is done yet")
        page.go_back()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("#actions")).to_be_visible()
        page.keyboard.press("w")
        expect(page.locator("#why")).to_be_visible()
        page.keyboard.press("g")
        page.keyboard.press("r")
        expect(page.get_by_role("heading", level=1, name="Journal")).to_be_visible()
        page.keyboard.press("g")
        page.keyboard.press("c")
        expect(page.get_by_role("heading", level=1, name="Calendar")).to_be_visible()


@pytest.mark.req("OWN-12")
def test_tabs_share_one_stream_and_a_row_under_the_pointer_stays(browser: Browser, stage: Stage) -> None:
    with watched(browser, stage.base, stage.tokens["admin"]) as window:
        open_streams = stage.server.application.service.streams
        window.page.goto("jobs")
        window.page.wait_for_function("navigator.locks.query().then(found => found.held.length == 1)")
        others = [window.context.new_page() for _ in range(3)]
        for number, other in enumerate(others):
            other.goto(("jobs/ops~2Fbackup", "", "nodes")[number])
        expect(others[0].locator("#state")).to_be_visible()
        row = window.page.locator("tr", has_text="ops/backup")
        window.page.bring_to_front()
        row.hover()
        stage.post("/jobs/ops~2Fbackup/pause", {"reason": "live"})
        expect(others[0].locator("#state")).to_contain_text("paused")
        expect(window.page.locator("#news")).to_contain_text("1 new or changed")
        expect(row).not_to_contain_text("paused")
        window.page.mouse.move(1, 1)
        expect(row).to_contain_text("paused")
        assert open_streams.count == 1
        stage.post("/jobs/ops~2Fbackup/resume")


@pytest.mark.req("OWN-12")
def test_a_lost_connection_is_shown_and_mends(
    browser: Browser, stage: Stage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with staged(None, tmp_path_factory.mktemp("lost")) as other:
        window_of = watched(browser, other.base, other.tokens["admin"])
        with window_of as window:
            window.page.goto("jobs")
            window.page.wait_for_function("navigator.locks.query().then(found => found.held.length == 1)")
            expect(window.page.locator("#lost")).to_be_hidden()
            window.context.set_offline(offline=True)
            other.server.application.service.stopping.set()  # all streams end
            expect(window.page.locator("#lost")).to_contain_text("The connection is lost")
            other.server.application.service.stopping.clear()
            window.context.set_offline(offline=False)
            expect(window.page.locator("#lost")).to_be_hidden()
            window.complaints[:] = [one for one in window.complaints if "ERR_INTERNET" not in one]
    assert stage.base


def test_the_login_link_of_the_server_logs_in_by_itself(browser: Browser, stage: Stage) -> None:
    with watched(browser, stage.base) as window:
        link = (stage.address.login or "").replace(stage.address.url, stage.base)
        with suppress(Error):  # the page goes on by itself
            window.page.goto(link)
        expect(window.page.get_by_role("heading", level=1, name="Overview")).to_be_visible()
        assert "#" not in window.page.url


@pytest.mark.req("OWN-12")
def test_an_edit_is_previewed_while_it_is_typed(browser: Browser, stage: Stage) -> None:
    with watched(browser, stage.base, stage.tokens["admin"]) as window:
        window.page.goto("jobs/api~2Fmail/edit")
        window.page.get_by_label("Rule").fill("0 6 * * *")
        expect(window.page.locator("#preview")).to_contain_text("at 06:00 every day")
        expect(window.page.locator("#preview")).to_contain_text("new")
        window.page.get_by_label("Rule").fill("0 66 * * *")
        expect(window.page.locator("#preview")).to_contain_text("66")
        assert stage.get("/jobs/api~2Fmail")["schedule"] == "0 7 * * *"
        window.complaints[:] = [one for one in window.complaints if "422" not in one]  # the browser notes it
