"""An open page in a real Chromium: it is renewed, and what its reader does stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from api.stage import Stage, staged
from dashboard.conftest import furnish
from dashboard.watched import PHONE, Watched, watched
from foliot.model.attempt import Attempt
from foliot.operations import Operations
from foliot.protocols import Output

pytestmark = pytest.mark.prove
JOB = "jobs/ops~2Fbackup"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(None, tmp_path_factory.mktemp("renewal")) as stage:
        furnish(stage, with_open=False)
        yield stage


@pytest.fixture
def window(browser: Browser, stage: Stage) -> Iterator[Watched]:
    with watched(browser, stage.base, stage.tokens["admin"]) as window:
        yield window
    stage.post("/jobs/ops~2Fbackup/resume")


def rereads(page: Page) -> list[str]:
    """The pages that the script reads from now on."""
    found: list[str] = []
    page.on("request", lambda one: found.append(one.url) if _is_reread(one.url, one.resource_type) else None)
    return found


def _is_reread(url: str, kind: str) -> bool:
    return kind == "fetch" and "/api/" not in url and "/livez" not in url


def pass_by(page: Page, seconds: float) -> None:
    """Let time pass in the browser; all that it asks for then has been asked."""
    page.clock.fast_forward(int(seconds * 1000))
    page.evaluate("fetch('/livez').then(answer => answer.text())")


def open_still(window: Watched, path: str) -> list[str]:
    """A page on which nothing happens unless time passes; what the script reads of it from then on."""
    page = window.page
    page.clock.install()
    with page.expect_request(lambda one: _is_reread(one.url, one.resource_type)):
        page.goto(path)  # a stream begins with a resync
    found = rereads(page)
    page.clock.pause_at(page.evaluate("Date.now() + 2000"))
    pass_by(page, 3)
    found.clear()
    return found


@pytest.mark.req("OWN-12")
def test_a_page_is_read_again_though_no_hint_comes(window: Watched) -> None:
    found = open_still(window, "nodes")
    pass_by(window.page, 8)
    assert not found
    pass_by(window.page, 15)
    assert len(found) == 1
    for _ in range(4):
        pass_by(window.page, 25)
    assert 2 <= len(found) <= 5


@pytest.mark.req("OWN-12")
def test_a_page_is_not_read_again_while_it_is_hidden_or_typed_in_or_has_a_dialog(window: Watched) -> None:
    page = window.page
    found = open_still(window, "nodes")
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    found.clear()  # the help is read, too
    pass_by(page, 25)
    assert not found
    page.keyboard.press("?")
    pass_by(page, 14)
    page.get_by_label("Search jobs").press("a")
    found.clear()
    pass_by(page, 9)
    assert not found
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    for _ in range(8):
        pass_by(page, 25)
    assert not found


@pytest.mark.req("OWN-12")
def test_a_live_log_stays_as_its_reader_has_it(window: Watched, stage: Stage) -> None:
    stage.post("/jobs/ops~2Fbackup/runs", code=202, headers={"Idempotency-Key": "live"})
    (attempt,) = stage.claim()
    lines = "".join(f"line {number}\n" for number in range(200))
    _write(stage, attempt, lines)
    page = window.page
    page.goto("runs/ops~2Fbackup~21live")
    log = page.locator("#log-text")
    expect(log).to_contain_text("line 199")
    assert log.evaluate("log => log.scrollTop") > 0  # it follows
    page.get_by_label("wrap").uncheck()
    page.get_by_label("follow").uncheck()
    log.evaluate("log => { log.scrollTop = 40; getSelection().setBaseAndExtent(log, 0, log.firstChild, 6); }")
    _write(stage, attempt, lines + "one more\n")
    expect(log).to_contain_text("one more")
    expect(page.get_by_label("wrap")).not_to_be_checked()
    expect(page.get_by_label("follow")).not_to_be_checked()
    expect(page.locator("#log")).to_contain_class("nowrap")
    assert log.evaluate("log => log.scrollTop") == 40
    assert page.evaluate("String(getSelection())") == "line 0"
    page.get_by_label("follow").check()
    assert log.evaluate("log => log.scrollTop") > 40
    log.evaluate("log => { log.scrollTop = 0; }")  # who scrolls back does not follow
    expect(page.get_by_label("follow")).not_to_be_checked()


def _write(stage: Stage, attempt: Attempt, text: str) -> None:
    async def write(ops: Operations) -> None:
        await ops.store.write_outputs([Output(attempt.job, *attempt.key, text)])

    stage.act(write)


@pytest.mark.req("OWN-12")
def test_completions_and_the_mark_of_a_row_survive_a_renewal(window: Watched, stage: Stage) -> None:
    page = window.page
    page.goto("jobs")
    page.get_by_label("Search jobs").press_sequentially("back")
    expect(page.locator("#keys option")).to_have_count(1)
    page.get_by_label("Search jobs").blur()
    row = page.locator("#job-ops\\~2Fbackup")
    while not row.evaluate("row => row.matches('.at')"):
        page.keyboard.press("j")
    place = page.evaluate("[...document.querySelectorAll('tbody tr')].findIndex(row => row.matches('.at'))")
    stage.post("/jobs/ops~2Fbackup/pause", {"reason": "live"})
    expect(row).to_contain_text("paused")
    expect(row).to_contain_class("at")
    expect(row.locator("a").first).to_be_focused()
    expect(page.locator("#keys option")).to_have_count(1)
    assert page.get_by_label("Search jobs").input_value() == "back"
    page.keyboard.press("j")
    expect(page.locator("tbody tr").nth(place + 1)).to_contain_class("at")


@pytest.mark.req("OWN-12")
def test_what_is_typed_and_what_is_open_survive_a_renewal(window: Watched, stage: Stage) -> None:
    page = window.page
    page.goto(f"{JOB}?why=true&tab=policies")
    page.get_by_label("Any instant").fill("2026-11-15T07:00")
    page.get_by_label("Any instant").blur()
    page.locator("#tab summary").click()
    stage.post("/jobs/ops~2Fbackup/pause", {"reason": "live"})
    expect(page.locator("#state")).to_contain_text("paused")
    assert page.get_by_label("Any instant").input_value() == "2026-11-15T07:00"
    expect(page.locator("#tab details pre")).to_be_visible()


@pytest.mark.req("OWN-12")
def test_rows_that_wait_are_counted_and_shown_by_a_button(window: Watched, stage: Stage) -> None:
    page = window.page
    page.goto("jobs")
    row = page.locator("tr", has_text="ops/backup")
    row.get_by_role("checkbox").check()
    page.mouse.move(1, 1)
    stage.post("/jobs/ops~2Fbackup/pause", {"reason": "live"})
    button = page.locator("[role=status]").get_by_role("button", name="1 new or changed")
    expect(button).to_be_in_viewport()
    expect(row).not_to_contain_text("paused")
    button.click()
    expect(row).to_contain_text("paused")
    expect(button).to_have_count(0)
    expect(row.get_by_role("checkbox")).to_be_checked()
    expect(page.locator("[data-count]")).to_have_text("1 chosen:")


@pytest.mark.req("OWN-12")
def test_a_tap_on_a_row_does_not_hold_it(browser: Browser, stage: Stage) -> None:
    given = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    with watched(browser, stage.base, stage.tokens["admin"], **given) as window:
        window.page.goto("jobs")
        row = window.page.locator("tr", has_text="ops/backup")
        row.locator("td[data-label=State]").tap()
        stage.post("/jobs/ops~2Fbackup/pause", {"reason": "live"})
        expect(row).to_contain_text("paused")
    stage.post("/jobs/ops~2Fbackup/resume")


@pytest.mark.req("OWN-12")
def test_a_list_that_was_empty_fills_and_an_error_does_not_blank_it(window: Watched, stage: Stage) -> None:
    page = window.page
    page.goto("jobs?state=paused")
    expect(page.locator("main")).to_contain_text("No job fits")
    page.clock.install()
    page.reload()
    stage.post("/jobs/ops~2Fbackup/pause", {"reason": "live"})
    page.clock.fast_forward(30_000)
    expect(page.locator("tbody tr")).to_have_count(1)
    page.route("**/jobs?state=paused", lambda route: _refuse(route, 503))
    page.clock.fast_forward(30_000)
    expect(page.locator("#lost")).to_contain_text("The server answers 503")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.unroute_all()
    page.clock.fast_forward(90_000)
    expect(page.locator("#lost")).to_be_hidden()
    window.complaints[:] = [one for one in window.complaints if "503" not in one]


def _refuse(route: Route, status: int) -> None:
    route.fulfill(status=status, body="<h1>no</h1>", content_type="text/html")


@pytest.mark.req("OWN-12")
@pytest.mark.parametrize("status", [401, 429, 503])
def test_a_stream_that_is_refused_is_not_asked_for_in_a_storm(window: Watched, status: int) -> None:
    page, asked = window.page, list[str]()

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        _refuse(route, status)

    page.route("**/api/v1/events*", refuse)
    page.clock.install()
    page.goto("jobs")
    for _ in range(60):
        pass_by(page, 1)
    assert 3 <= len(asked) <= 12
    expect(page.locator("#lost")).to_contain_text("Hints do not come")
    page.unroute_all()
    page.clock.fast_forward(31_000)
    expect(page.locator("#lost")).to_be_hidden()
    window.complaints[:] = [one for one in window.complaints if str(status) not in one]


@pytest.mark.req("OWN-12")
def test_a_flood_of_hints_is_one_reading_a_second(window: Watched) -> None:
    page, found = window.page, open_still(window, "jobs")
    page.evaluate("window.other = new BroadcastChannel('foliot')")
    for _ in range(50):
        for topic in ("jobs", "", 'job:"]<x>\\'):
            page.evaluate("topic => { for (let n = 0; n < 5; n += 1) other.postMessage({ topic }) }", topic)
        pass_by(page, 0.1)
    assert 1 <= len(found) <= 6
