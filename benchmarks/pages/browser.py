"""The first visit in a real Chromium: bytes and requests on the wire, first paint, shifts, long tasks."""

from __future__ import annotations

import shutil
from typing import Any

from playwright.async_api import async_playwright

from foliot.access import make_token
from foliot.api.backend import LEASE, StoreBackend
from foliot.api.limits import Limits
from foliot.api.server import ApiServer, Listening
from foliot.clock import SystemClock
from foliot.dashboard.application import make_pages
from foliot.model.access import Scope
from foliot.wiring import open_store

BUDGETS = {"bytes": 80_000, "requests": 8, "first_paint_ms": 300, "shift": 0.05, "longest_task_ms": 50}
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
_WATCH = """
window.seen = {shift: 0, task: 0};
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.seen.shift += one.value; })
  .observe({type: "layout-shift", buffered: true});
new PerformanceObserver((list) => { for (const one of list.getEntries())
  window.seen.task = Math.max(window.seen.task, one.duration); }).observe({type: "longtask", buffered: true});
"""
_TELL = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0, ...window.seen,
  bytes: [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .reduce((sum, one) => sum + one.transferSize, 0),
  requests: performance.getEntriesByType("resource").length + 1,
})"""


async def visit(url: str, path: str = "/jobs") -> dict[str, Any] | None:
    """What a first visit of a page costs; None if there is no browser."""
    program, clock = shutil.which("chromium"), SystemClock()
    if program is None:
        return None
    made = make_token("bench", Scope.ADMIN, clock.now())
    async with open_store(url, clock, lease=LEASE) as store:
        await store.add_token(made.token)
    where = Listening(host="127.0.0.1", port=0, limits=Limits(rate=1e6, burst=1_000_000))
    server = ApiServer(StoreBackend(url, clock), clock, where, {}, make_pages)
    address = server.start()
    try:
        async with async_playwright() as player:
            browser = await player.chromium.launch(executable_path=program, args=list(_ARGUMENTS))
            login = await browser.new_context()
            page = await login.new_page()
            await page.goto(f"{address.url}/login")
            await page.get_by_label("Token").fill(made.text)
            await page.get_by_role("button", name="Log in").click()
            await page.wait_for_url(f"{address.url}/")
            state = await login.storage_state()
            fresh = await browser.new_context(storage_state=state)  # with an empty cache
            await fresh.add_init_script(_WATCH)
            page = await fresh.new_page()
            await page.goto(address.url + path, wait_until="load")
            await page.get_by_role("heading", level=1).wait_for()
            told = await page.evaluate(_TELL)
            await browser.close()
    finally:
        server.stop()
    found = {
        "bytes": told["bytes"], "requests": told["requests"], "first_paint_ms": round(told["paint"], 1),
        "shift": round(told["shift"], 4), "longest_task_ms": round(told["task"], 1),
    }  # fmt: skip
    within = {name: found[name] <= most for name, most in BUDGETS.items()}
    return {"page": path, **found, "budgets": BUDGETS, "is_within": within}
