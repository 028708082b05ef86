"""What does not happen is told, too: by a node that lives, to a real web server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.scene import NEVER, play
from foliot import Every, Expect, Foliot
from foliot.alerts.webhook import Webhook
from foliot.clock import SystemClock
from web_server import WebServer, web_server

HOUR = timedelta(hours=1)
SOON = timedelta(milliseconds=200)


class LaterClock(SystemClock):
    """The clock of a host, so much later."""

    def __init__(self, later: timedelta) -> None:
        self._later = later

    def now(self) -> datetime:
        return super().now() + self._later


@pytest.fixture
def server() -> Iterator[WebServer]:
    with web_server() as server:
        yield server


def channels(server: WebServer) -> dict[str, Webhook]:
    return {"ops": Webhook(f"http://127.0.0.1:{server.port}/hook")}


def told(server: WebServer) -> list[dict[str, Any]]:
    return [json.loads(asked.body) for asked in list(server.asked)]


async def until_told(server: WebServer, kind: str) -> dict[str, Any]:
    """The first message of a kind, as soon as it has come."""
    while True:
        for message in told(server):
            if message["type"] == f"job.{kind}":
                return message
        await SystemClock().wait(timedelta(milliseconds=10))


@pytest.mark.req("OWN-03")
@pytest.mark.parametrize(
    ("expect", "kind"),
    [
        (Expect(start_within=timedelta(minutes=10)), "late"),
        (Expect(success_every=timedelta(minutes=90)), "silent"),
    ],
)
def test_a_job_whose_program_is_gone_is_told_by_another_program(
    server: WebServer, tmp_path: Path, expect: Expect, kind: str
) -> None:
    async def scene() -> None:
        url = f"sqlite:///{tmp_path}/jobs.db"
        reports = Foliot(url, name="reports")

        @reports.job(Every("1h"), notify="ops", expect=expect)
        def report() -> None:
            raise AssertionError("no node serves it")

        async with reports:
            pass
        watch = Foliot(url, name="watch", channels=channels(server), clock=LaterClock(3 * HOUR))
        async with watch:
            message = await until_told(server, kind)
        assert message["job"] == "reports/report"
        assert message["why"]

    play(scene)


@pytest.mark.req("OWN-03")
def test_a_run_that_takes_too_long_is_told_while_it_runs(server: WebServer, url: str) -> None:
    async def scene() -> None:
        app, may_end = Foliot(url, name="test", channels=channels(server), notify="ops"), asyncio.Event()

        @app.job(NEVER, expect=Expect(finish_within=SOON))
        async def backup() -> None:
            await may_end.wait()

        async with app:
            run = await app.trigger("backup")
            message = await until_told(server, "slow")
            may_end.set()
            recovery = await until_told(server, "recovery")
        assert message["run"] == str(run)
        assert message["outcome"] is None
        assert recovery["episode"] == message["episode"]

    play(scene)


@pytest.mark.req("OWN-03")
def test_a_job_that_does_not_succeed_in_time_is_told_by_its_own_node(server: WebServer, url: str) -> None:
    async def scene() -> None:
        app = Foliot(url, name="test", channels=channels(server), notify="ops")

        @app.job(NEVER, expect=Expect(success_every=SOON))
        async def backup() -> None: ...

        async with app:
            message = await until_told(server, "silent")
            await app.trigger("backup")
            recovery = await until_told(server, "recovery")
        assert "no run has succeeded" in message["why"]
        assert recovery["episode"] == message["episode"]

    play(scene)
