"""A real Chromium, in which any dialog, console error or report of the content policy fails a test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, sync_playwright

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
PATIENCE = 30_000  # milliseconds: a loaded machine is slow
PHONE = {"width": 390, "height": 844}


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's browser. A laptop may lack it; CI may not."""
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("there is no chromium: apt install chromium")
        pytest.skip("there is no chromium: apt install chromium")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


class Watched:
    """A window of a browser, and all that it complains of."""

    def __init__(self, browser: Browser, base: str, **given: Any) -> None:
        self.base = base
        self.context: BrowserContext = browser.new_context(base_url=base, **given)
        self.context.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.context.on("console", self._on_console)
        self.context.on("dialog", self._on_dialog)
        self.context.on("weberror", lambda error: self.complaints.append(f"error: {error.error}"))
        self.page = self.context.new_page()

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text} {message.location.get('url')}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def log_in(self, token: str, page: Page | None = None) -> None:
        """Log in as a person does."""
        shown = page or self.page
        shown.goto("login")
        shown.get_by_label("Token").fill(token)
        shown.get_by_role("button", name="Log in").click()
        shown.get_by_role("heading", level=1, name="Overview").wait_for()

    def press(self, name: str) -> None:
        """Press a button of the page itself, not of the rail."""
        self.page.locator("main").get_by_role("button", name=name, exact=True).click()

    def close(self) -> None:
        """Close the window; what it has complained of fails the test."""
        self.context.close()
        assert not self.complaints, "\n".join(self.complaints[:20])


@contextmanager
def watched(browser: Browser, base: str, token: str | None = None, **given: Any) -> Iterator[Watched]:
    """A window, for a while."""
    window = Watched(browser, base, **given)
    if token is not None:
        window.log_in(token)
    try:
        yield window
    except BaseException:
        window.context.close()
        raise
    window.close()
