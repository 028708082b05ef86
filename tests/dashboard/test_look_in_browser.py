"""How pages look in a real Chromium: nothing runs out of the page, and what is drawn can be seen and used."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from api.stage import Stage
from dashboard.watched import PHONE, watched

pytestmark = pytest.mark.prove
PATHS = (
    "", "jobs", "jobs/ops~2Fbackup", "jobs/ops~2Fbackup?tab=runs", "jobs/ops~2Fbackup?tab=definition",
    "runs/ops~2Fbackup~21first", "journal", "journal?what=skips", "calendar", "lab?expr=30+2+*+*+*",
    "sources", "sources/ops", "nodes", "pipelines", "audit", "tokens", "about", "jobs/new",
)  # fmt: skip
# Tables that are wider than what is around them, and do not scroll in it.
OUTSIDE = """() => [...document.querySelectorAll("main table")].filter(table => {
  const box = table.closest(".scroll, #attempts") || table.parentElement;
  const scrolls = getComputedStyle(box).overflowX === "auto";
  return !scrolls && table.getBoundingClientRect().right > box.getBoundingClientRect().right + 1;
}).length"""
INVERSE = """() => {
  const log = Object.assign(document.createElement("pre"), { className: "log" });
  document.querySelector("main").append(log);
  return ["a7", "a7 a31", "a7 a41", "a7 a32 a44", "a31"].map(name => {
    const piece = Object.assign(document.createElement("span"), { className: name, textContent: "x" });
    log.append(piece);
    const look = getComputedStyle(piece);
    return [name, look.color, look.backgroundColor];
  });
}"""


@pytest.mark.parametrize("wide", [1280, 900])
def test_no_table_runs_out_of_the_page(browser: Browser, stage: Stage, wide: int) -> None:
    given = {"viewport": {"width": wide, "height": 800}}
    with watched(browser, stage.base, stage.tokens["admin"], **given) as window:
        for path in PATHS:
            window.page.goto(path)
            assert window.page.evaluate("document.scrollingElement.scrollWidth") <= wide, path
            assert window.page.evaluate(OUTSIDE) == 0, path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_inverse_text_of_a_log_differs_from_its_ground(browser: Browser, stage: Stage, scheme: str) -> None:
    with watched(browser, stage.base, stage.tokens["admin"], color_scheme=scheme) as window:
        window.page.goto("runs/ops~2Fbackup~21first")
        for name, ink, ground in window.page.evaluate(INVERSE):
            assert ink != ground, (name, ink, ground)


def test_rows_of_jobs_have_one_height_and_the_bar_waits_for_a_choice(browser: Browser, stage: Stage) -> None:
    with watched(browser, stage.base, stage.tokens["admin"]) as window:
        page = window.page
        page.goto("jobs")
        tall = page.eval_on_selector_all(".jobs tbody tr", "all => all.map(row => row.offsetHeight)")
        assert max(tall) - min(tall) <= 2, tall
        expect(page.locator(".bulkbar")).to_be_hidden()
        page.locator("[name=id]").first.check()
        expect(page.locator(".bulkbar")).to_be_visible()


def test_a_phone_has_state_time_and_duration_of_a_run_in_one_line(browser: Browser, stage: Stage) -> None:
    with watched(browser, stage.base, stage.tokens["admin"], viewport=PHONE, has_touch=True) as window:
        page = window.page
        page.goto("journal")
        row = page.locator("#list tbody tr", has_text="succeeded").first
        tops = [row.locator(f"[data-label={name}]").bounding_box() for name in ("State", "For", "Took")]
        middles = [box["y"] + box["height"] / 2 for box in tops if box]
        assert len(middles) == 3
        assert max(middles) - min(middles) < 8, middles
        page.goto("jobs")
        page.locator("[name=id]").first.check()  # nothing lies over it
        heights = [page.locator(one).bounding_box() for one in (".headtools .button", ".search input")]
        assert len({(box["y"], box["height"]) for box in heights if box}) == 1, heights
