"""Make the pictures of the dashboard: `python tools/screenshots.py` writes docs/assets/dashboard-*.png.

It needs a Chromium (`apt install chromium`) and packages of the group `dev`. The data are those of demo_shop.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.sync_api import Browser, sync_playwright

from demo_shop import make_shop
from foliot.access import make_token
from foliot.api.limits import Limits
from foliot.api.server import Listening, serving
from foliot.dashboard.application import make_pages
from foliot.model.access import Scope

ASSETS = Path(__file__).parent.parent / "docs" / "assets"
LARGEST = 150_000  # bytes
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip


class Shot(NamedTuple):
    """A picture: its name, its page, the width of the window, light or dark."""

    name: str
    path: str
    wide: int = 1200
    high: int = 780
    scheme: Literal["light", "dark"] = "light"


CHARGE = "/jobs/billing~2Fcharge-cards"
SHOTS = (
    Shot("overview", "/"),
    Shot("overview-dark", "/", scheme="dark"),
    Shot("jobs", "/jobs", high=640),
    Shot("job", "/jobs/ops~2Fnight-report?zoom=day&why=true&at=2026-10-25T02:30"),
    Shot("job-dark", f"{CHARGE}?tab=runs", scheme="dark"),
    Shot("run", "RUN"),
    Shot("calendar", "/calendar?zone=Europe/Berlin"),
    Shot("jobs-phone", "/jobs", 390, 844),
    Shot("job-phone-dark", "/jobs/ops~2Fbackup", 390, 844, "dark"),
)


@contextmanager
def shop_served() -> Iterator[tuple[str, str]]:
    """The dashboard of the shop: its address, and a token."""
    home, clock, store = make_shop()
    made = make_token("ada", Scope.ADMIN, clock.now())
    asyncio.run(store.add_token(made.token))
    where = Listening(host="127.0.0.1", port=0, limits=Limits(rate=1000, burst=1000))
    with serving(home, clock, where, {}, make_pages) as address:
        yield address.url, made.text


def take(browser: Browser, url: str, token: str, shot: Shot, folder: Path) -> Path:
    """Log in as a person does, and take one picture."""
    context = browser.new_context(
        viewport={"width": shot.wide, "height": shot.high},
        color_scheme=shot.scheme,
        timezone_id="Europe/Berlin",
    )
    page = context.new_page()
    page.goto(f"{url}/login")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{url}/")
    path = shot.path
    if path == "RUN":
        page.goto(f"{url}/jobs/ops~2Fbackup?tab=runs")
        path = page.locator("#tab tbody a").first.get_attribute("href") or "/"
    page.goto(url + path)
    file = folder / f"dashboard-{shot.name}.png"
    page.screenshot(path=str(file))
    context.close()
    return file


def main() -> int:
    """Take all pictures, or those that are named."""
    program = shutil.which("chromium")
    if program is None:
        print("there is no chromium: apt install chromium", file=sys.stderr)
        return 1
    names = sys.argv[1:]
    with shop_served() as (url, token), sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        files = [take(browser, url, token, shot, ASSETS) for shot in SHOTS if not names or shot.name in names]
        browser.close()
    for file in files:
        print(f"{file.relative_to(ASSETS.parent.parent)}: {file.stat().st_size:,} bytes")
    too_large = [file for file in files if file.stat().st_size > LARGEST]
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
