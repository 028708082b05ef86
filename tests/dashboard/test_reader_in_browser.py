"""What the script does for a reader in a real Chromium: keys, the search, notes that are read aloud."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from api.stage import Stage
from dashboard.watched import Watched, watched
from foliot.dashboard.view import HERE

pytestmark = pytest.mark.prove
MARKED = "tbody tr.at"


@pytest.fixture
def window(browser: Browser, stage: Stage) -> Iterator[Watched]:
    with watched(browser, stage.base, stage.tokens["admin"]) as window:
        yield window


@pytest.mark.req("OWN-12")
def test_w_explains_a_job_and_leaves_other_rows_alone(window: Watched) -> None:
    page = window.page
    for path in ("journal", "sources"):
        page.goto(path)
        page.keyboard.press("j")
        expect(page.locator(MARKED)).to_have_count(1)
        page.keyboard.press("w")
        page.keyboard.press("k")  # nothing of the page was left
        expect(page.locator(MARKED)).to_have_count(1)
        assert page.url.endswith(path)
    page.goto("jobs?search=backup")
    page.keyboard.press("j")
    page.keyboard.press("w")
    expect(page.locator("#why")).to_contain_text("Rule")
    page.keyboard.press("j")  # an occurrence, or a run, of the job
    page.keyboard.press("w")
    expect(page.locator("#why")).to_be_visible()
    page.goto("runs/ops~2Fbackup~21first")
    page.keyboard.press("w")
    expect(page.locator("#why")).to_be_visible()


@pytest.mark.req("OWN-12")
def test_p_pauses_the_job_of_the_marked_row(window: Watched) -> None:
    page = window.page
    page.goto("jobs?search=backup")
    page.keyboard.press("j")
    page.keyboard.press("p")
    expect(page.locator("main")).to_contain_text("Nothing is done yet")
    expect(page.locator("tbody")).to_contain_text("ops/backup")


@pytest.mark.req("OWN-12")
def test_rows_do_not_move_behind_the_help(window: Watched) -> None:
    page = window.page
    page.goto("jobs")
    page.keyboard.press("j")
    first = page.locator(MARKED).get_attribute("id")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    for key in ("j", "x", "g", "n"):
        page.keyboard.press(key)
    page.keyboard.press("?")
    expect(dialog).to_have_count(0)
    assert page.locator(MARKED).get_attribute("id") == first
    expect(page.locator("[data-count]")).to_have_text("Chosen jobs:")


@pytest.mark.req("OWN-12")
def test_the_help_lists_every_key(window: Watched) -> None:
    script = (HERE / "static" / "script.js").read_text()
    (keys,) = re.findall(r"const KEYS = \{(.*)\};", script)
    names = {one.strip('"') for one in re.findall(r'("."|\w+):', keys)}
    assert {"j", "/", "?", "Enter"} < names
    page = window.page
    page.goto("jobs")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    shown = page.locator("dialog kbd").all_inner_texts()
    listed = {key.strip() for text in shown for key in text.split(",")}
    goes = page.locator("[data-go]").evaluate_all("all => all.map(one => one.dataset.go)")
    assert names | {"g", "Esc", *goes} <= listed
    page.keyboard.press("Escape")


@pytest.mark.req("OWN-12")
def test_a_key_that_the_search_completes_leads_to_its_job(window: Watched) -> None:
    page = window.page
    page.goto("journal")
    search = page.get_by_label("Search jobs")
    search.press_sequentially("ops/back")
    expect(page.locator("#keys option")).to_have_count(1)
    search.fill("ops/backup")  # as if it were chosen
    search.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("ops/backup")
    assert page.url.endswith("/jobs/ops~2Fbackup")
    page.get_by_label("Search jobs").fill("back")
    page.get_by_label("Search jobs").press("Enter")
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()


@pytest.mark.req("OWN-12")
def test_a_note_comes_into_a_live_region_stays_over_a_renewal_and_goes(window: Watched, stage: Stage) -> None:
    page = window.page
    page.clock.install()
    page.goto("jobs/other~2Fhidden")
    window.press("Pause")
    note = page.locator("#toast[role=status] .told")
    expect(note).to_contain_text("is paused")
    stage.post("/jobs/other~2Fhidden/resume")
    expect(page.locator("#state")).not_to_contain_text("paused")
    expect(note).to_contain_text("is paused")
    note.hover()
    page.clock.fast_forward(11_000)
    expect(note).to_be_visible()  # somebody reads it
    page.mouse.move(1, 1)
    page.clock.fast_forward(11_000)
    expect(note).to_have_count(0)
    window.press("Pause")
    note.get_by_role("button", name="Dismiss").click()
    expect(note).to_have_count(0)
    stage.post("/jobs/other~2Fhidden/resume")


@pytest.mark.req("OWN-12")
def test_a_note_is_there_without_javascript_and_the_live_region_is_empty(
    browser: Browser, stage: Stage
) -> None:
    with watched(browser, stage.base, stage.tokens["admin"], java_script_enabled=False) as window:
        window.page.goto("jobs/other~2Fhidden")
        window.press("Pause")
        expect(window.page.locator(".told")).to_contain_text("is paused")
        expect(window.page.locator("#toast")).to_be_empty()
        window.press("Resume")


@pytest.mark.req("OWN-12")
def test_a_link_of_another_person_logs_nobody_in(window: Watched, stage: Stage) -> None:
    page = window.page
    for lure in (stage.tokens["read"], "%", "%E0%A4%A"):
        page.goto("about:blank")
        page.goto(f"{stage.base}/login#{lure}")
        expect(page.get_by_label("Token")).to_have_value("")
        page.goto("about")
        expect(page.locator(".who b")).to_have_text("admin")
