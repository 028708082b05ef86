"""What only real processes show: two nodes of which one is killed, and a proxy with a path prefix."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from api.stage import Stage, staged
from api.test_life import said
from daemon.harness import Daemon, Host, daemons_on, eventually
from dashboard.conftest import furnish
from dashboard.watched import watched
from foliot.testing.servers.process import free_port

pytestmark = pytest.mark.prove
SLOW = 60_000
COMMAND = "for n in 1 2 3; do echo line $n; sleep 1; done"
JOBS = f'jobs:\n  hello:\n    schedule: {{cron: "* * * * *"}}\n    run: {COMMAND}\n'
_NGINX = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port};
    location /cron/ {{
      proxy_pass http://127.0.0.1:{aim}/;
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_http_version 1.1;
    }}
  }}
}}
"""


@pytest.mark.req("OWN-12")
def test_a_node_is_killed_while_a_person_looks(browser: Browser, tmp_path: Path) -> None:
    host, ports = Host(tmp_path / "host"), (free_port(), free_port())
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "rollcron.yaml").write_text(JOBS)
    with daemons_on(host) as daemons:
        nodes: list[Daemon] = []
        for port in ports:
            words = (folder, "--listen", f"127.0.0.1:{port}", "--lease", "3s", "--log-format", "json")
            nodes.append(daemons.serve(*words))
        token = Path(said(nodes[0], r"A token is in (\S+)")).read_text().strip()
        with watched(browser, f"http://127.0.0.1:{ports[0]}", token) as window:
            page = window.page
            page.goto("nodes")
            expect(page.locator("#list tbody tr")).to_have_count(2, timeout=SLOW)
            nodes[1].kill()
            alive = page.locator("#list tbody tr", has_text="alive")  # it is silent, then buried
            expect(alive).to_have_count(1, timeout=SLOW)
            page.goto("jobs")
            page.get_by_role("link", name="hello").click()
            page.locator("main").get_by_role("button", name="Run now").click()
            expect(page.locator("#log-text")).to_contain_text("line 1", timeout=SLOW)  # while it runs
            expect(page.locator("#state")).to_contain_text("succeeded", timeout=SLOW)
            expect(page.locator("#log-text")).to_contain_text("line 3")
            with page.expect_download() as download:
                page.get_by_role("link", name="Download").click()
            assert Path(download.value.path()).read_text().startswith("line 1\n")
            nodes[0].kill()
            expect(page.locator("#lost")).to_contain_text("The connection is lost", timeout=SLOW)
            window.complaints[:] = [one for one in window.complaints if "ERR_" not in one]


@contextmanager
def behind_nginx(aim: int, port: int, folder: Path) -> Iterator[None]:
    """A real nginx before the server, which cuts a prefix off."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("there is no nginx: apt install nginx-light")
        pytest.skip("there is no nginx: apt install nginx-light")
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(folder=folder, port=port, aim=aim))
    process = subprocess.Popen([program, "-c", str(config), "-p", str(folder)])  # noqa: S603 - our own configuration
    try:
        eventually(lambda: _answers(port), "nginx")
        yield
    finally:
        process.terminate()
        process.wait(10)


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/cron/livez").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.req("OWN-12")
def test_everything_works_behind_a_proxy_with_a_path_prefix(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    with staged(None, tmp_path, proxy=f"http://127.0.0.1:{port}/cron") as stage:
        furnish(stage, with_open=False)
        aim = int(stage.base.rpartition(":")[2])
        with (
            behind_nginx(aim, port, tmp_path),
            watched(browser, f"http://127.0.0.1:{port}/cron/", stage.tokens["admin"]) as window,
        ):
            _look_around(window.page, stage)


def _look_around(page: Page, stage: Stage) -> None:
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.get_by_role("link", name="ops/backup").click()
    page.locator("main").get_by_role("button", name="Run now").click()
    expect(page.locator("#state")).to_contain_text("pending")
    stage.run_due(text="behind a proxy")
    expect(page.locator("#state")).to_contain_text("succeeded")  # a hint came through the proxy
    expect(page.locator("#log-text")).to_contain_text("behind a proxy")
    assert "/cron/runs/" in page.url
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    assert "/cron/login" in page.url
