"""Commands to all jobs that fit a filter: previewed, page by page, and stopped in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from api.stage import BACKUP, Stage, staged
from dashboard.visitor import SAME, Visitor
from dashboard.watched import chromium, watched

MANY = [replace(BACKUP, source="many", name=f"j{n}") for n in range(7)]
LIST = "/jobs?source=many&limit=2"


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr("foliot.dashboard.bulk._AT_ONCE", 3)
    monkeypatch.setattr("foliot.dashboard.bulk._COUNTED", 2)
    with staged(None, tmp_path) as stage:
        stage.declare(*MANY)
        yield stage


def paused(stage: Stage) -> list[str]:
    return [job["key"] for job in stage.get("/jobs?state=paused&limit=100")["jobs"]]


def test_all_that_fit_are_paused_page_by_page_after_a_preview(stage: Stage) -> None:
    ada = Visitor(stage)
    preview = ada.press(ada.get(LIST), "Pause all", reason="a move")
    assert "Nothing is done yet. Pause would reach 7 jobs ." in preview.text
    assert "many/j0" in preview.text
    assert paused(stage) == []
    page = ada.press(preview, "Confirm")
    assert "3 paused. 3 of 7 jobs so far." in page.text
    assert len(paused(stage)) == 3
    page = ada.press(page, "Continue")
    page = ada.press(page, "Continue")
    assert "Done. 7 paused." in page.text
    assert paused(stage) == [f"many/j{n}" for n in range(7)]
    assert stage.get("/jobs/many~2Fj6")["paused_reason"] == "a move"


def test_what_was_done_before_a_stop_stays_and_a_filter_finds_it_again(stage: Stage) -> None:
    ada = Visitor(stage)
    page = ada.press(ada.press(ada.get(LIST), "Pause all"), "Confirm")
    page = ada.press(page, "Stop")
    assert "Stopped. 3 paused." in page.text
    assert len(paused(stage)) == 3
    preview = ada.press(ada.get("/jobs?state=paused&limit=2"), "Resume all")
    assert "Resume would reach 3 jobs" in preview.text
    assert "Done. 3 resumed." in ada.press(preview, "Confirm").text
    assert paused(stage) == []


def test_a_form_that_is_sent_twice_runs_each_job_once(stage: Stage) -> None:
    ada = Visitor(stage)
    preview = ada.press(ada.get(LIST), "Run all now")
    first = ada.press(preview, "Confirm")
    ada.press(preview, "Confirm")
    ada.press(first, "Continue")
    runs = [run["job"] for run in stage.get("/runs?source=many&limit=100")["runs"]]
    assert sorted(runs) == [f"many/j{n}" for n in range(6)]


def test_more_jobs_than_the_preview_has_counted_are_left_alone(stage: Stage) -> None:
    ada = Visitor(stage)
    preview = ada.press(ada.get("/jobs?search=many&limit=2"), "Pause all")
    stage.declare(*MANY, *(replace(BACKUP, source="many", name=f"late{n}") for n in range(4)))
    page = ada.press(ada.press(ada.press(preview, "Confirm"), "Continue"), "Continue")
    assert "More jobs fit now than the preview has counted." in page.text
    assert len(paused(stage)) == 7


@pytest.mark.parametrize(
    "form",
    [
        {"reason": "x"},
        {"action": "remove"},
        {"action": "pause", "expect": "-1"},
        {"action": "pause", "done": "x"},
    ],
)
def test_a_form_that_no_page_has_written_is_refused(stage: Stage, form: dict[str, str]) -> None:
    answer = Visitor(stage).client.post("/jobs/bulk/all", data=form, headers=SAME)
    assert answer.status_code == 422
    assert paused(stage) == []


@pytest.mark.prove
def test_a_browser_goes_on_by_itself_until_stop_is_pressed(stage: Stage) -> None:
    with chromium() as browser, watched(browser, stage.base, stage.tokens["admin"]) as window:
        page = window.page
        page.goto(LIST.removeprefix("/"))
        page.get_by_text("All jobs that fit this filter").click()
        page.get_by_role("button", name="Pause all").click()
        expect(page.locator("#progress")).to_contain_text("Pause would reach 7 jobs")
        page.get_by_role("button", name="Confirm").click()
        expect(page.locator(".told")).to_contain_text("Done. 7 paused.")
        assert len(paused(stage)) == 7
        page.add_init_script("window.setTimeout = () => 0;")  # it waits for ever, and the test has its time
        page.goto(LIST.removeprefix("/"))
        page.get_by_text("All jobs that fit this filter").click()
        page.get_by_role("button", name="Resume all").click()
        page.get_by_role("button", name="Confirm").click()
        expect(page.get_by_role("progressbar")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".told")).to_contain_text("Stopped. 3 resumed.")
    assert len(paused(stage)) == 4
