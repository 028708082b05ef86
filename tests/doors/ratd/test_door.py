"""`Ratd` itself: started and stopped, with and without an executor, beside an API that is never blocked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from foliot.app.thread import LoopThread
from foliot.doors.ratd import Ratd
from foliot.errors import AppStateError, InvalidPolicyError
from foliot.executors.python import JobRun
from foliot.protocols_access import Pipeline
from programs import eventually

PATIENCE = 60
TOKEN = "a-token-of-forty-characters-for-the-tests"  # noqa: S105 - of the tests
SALES = {
    "namespace": "shop",
    "layer": "gold",
    "name": "sales",
    "action": {"kind": "sql", "payload": {"n": 7}},
}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FOLIOT_API_TOKEN", TOKEN)
    return f"sqlite:///{tmp_path}/ratd.db"


@contextmanager
def served(ratd: Ratd) -> Iterator[httpx.Client]:
    """The API of a ratd, as uvicorn serves it, on a thread of its own."""
    server = uvicorn.Server(uvicorn.Config(ratd.asgi(), port=0, ws="none", log_config=None))
    thread = LoopThread("api")
    serving = thread.submit(server.serve())
    eventually(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", headers=headers, timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        serving.result(PATIENCE)
        thread.close()


def made(client: httpx.Client, cron: str = "@every 1s") -> str:
    """A schedule for a new pipeline; its path."""
    answer = client.post("/pipelines", json=SALES)
    assert answer.status_code == 201, answer.text
    body = {"pipeline_id": answer.json()["id"], "cron": cron}
    return f"/schedules/{client.post('/schedules', json=body).json()['id']}"


def outcomes(client: httpx.Client) -> list[str]:
    return [run["status"] for run in client.get("/runs").json()["runs"]]


@pytest.mark.req("RAT-17")
@pytest.mark.parametrize("is_async", [False, True], ids=["plain code", "a coroutine"])
def test_it_runs_from_start_to_stop(url: str, is_async: bool) -> None:  # noqa: FBT001 - both ways
    ran: list[tuple[Pipeline, JobRun]] = []

    async def execute(pipeline: Pipeline, run: JobRun) -> None:
        ran.append((pipeline, run))
        run.log("done")

    ratd = Ratd(url, executor=execute, interval="1s")

    def look(client: httpx.Client) -> None:
        eventually(lambda: "success" in outcomes(client))
        assert client.get("/scheduler").json()["nodes"] == 1

    async def with_a_loop(client: httpx.Client) -> None:
        await ratd.start()
        with pytest.raises(AppStateError, match="running already"):
            await ratd.start()
        await asyncio.to_thread(look, client)
        await ratd.stop()
        await ratd.stop()

    with served(ratd) as client:
        schedule = made(client)
        if is_async:
            asyncio.run(with_a_loop(client))
        else:
            ratd.start()
            look(client)
            ratd.stop()
        count, told = len(ran), client.get(schedule).json()
        assert told["last_run_id"] is not None
        assert client.get(f"/runs/{told['last_run_id']}").json()["trigger"] == "schedule:@every 1s"
        assert {pipeline.action.data["n"] for pipeline, _ in ran} == {7}
        assert set(outcomes(client)) == {"success"}
        assert len(outcomes(client)) == count, "stopped is stopped, and what ran has ended"


@pytest.mark.req("RAT-11")
def test_without_an_executor_the_api_serves_and_the_scheduler_is_off(url: str) -> None:
    ratd = Ratd(url)
    ratd.start()
    with served(ratd) as client:
        schedule = made(client, "0 7 * * *")
        assert client.get(schedule).json()["next_run_at"] is not None
        told = client.get("/scheduler").json()
        assert (told["engine"], told["nodes"]) == (False, 0)
        refused = client.post("/runs", json={"namespace": "shop", "layer": "gold", "pipeline": "sales"})
        assert (refused.status_code, refused.json()["code"]) == (503, "NO_EXECUTOR")
        assert outcomes(client) == []
    ratd.stop()


@pytest.mark.req("RAT-10")
def test_an_executor_that_blocks_its_loop_blocks_neither_api_nor_scheduler(url: str) -> None:
    is_blocked, may_go = threading.Event(), threading.Event()

    async def execute(_: Pipeline, __: JobRun) -> None:
        is_blocked.set()
        may_go.wait(PATIENCE)

    ratd = Ratd(url, executor=execute, interval="1s", lease="2s")
    with served(ratd) as client:
        schedule = made(client)
        ratd.start()
        assert is_blocked.wait(PATIENCE)
        eventually(lambda: len(outcomes(client)) > 1)
        assert set(outcomes(client)) == {"running"}
        assert client.patch(schedule, json={"enabled": False}).json()["next_run_at"] is None
        may_go.set()
        eventually(lambda: set(outcomes(client)) == {"success"})
        ratd.stop()


@pytest.mark.req("RAT-15")
def test_the_safety_poll_is_set_in_the_constructor() -> None:
    def poll(**options: Any) -> object:
        return Ratd("memory://", **options)._app._core.settings.poll

    assert [poll(), poll(interval="7s")] == [timedelta(seconds=30), timedelta(seconds=7)]


@pytest.mark.parametrize(
    ("options", "field"),
    [({"executor": 7}, "pipelines"), ({"interval": "soon"}, "poll"), ({"slot": 7}, "slot")],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], field: str) -> None:
    make: Callable[[], Ratd] = lambda: Ratd("memory://", **options)  # noqa: E731 - raised where it is called
    with pytest.raises(InvalidPolicyError, match=field):
        make()
