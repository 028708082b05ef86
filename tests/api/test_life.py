"""The API beside an engine, in other frameworks, and as a process of its own."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from daemon.harness import Daemon, Host, daemons_on, eventually
from foliot import Foliot
from foliot.access import make_token, token_in_file
from foliot.api.backend import AppBackend
from foliot.api.server import ApiServer, Listening
from foliot.app import hosted
from foliot.clock import SystemClock
from foliot.errors import AppStateError, FoliotError, InvalidJobError
from foliot.model.access import Scope
from foliot.testing.servers.process import free_port
from foliot.wiring import FullStore

TOKEN = "K7s9" * 2 + "qWz4xCv8bNm2aSd6fGh1jKl3"  # a random text, for tests
_clock = SystemClock()


@pytest.fixture(params=["memory", "sqlite"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Foliot:
    app = Foliot("memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/jobs.db", name="shop")

    @app.action
    async def greet(run: Any, who: str) -> None:
        run.log(f"hello {who}", threading.current_thread().name)

    return app


@contextmanager
def served(app: Foliot, folder: Path) -> Iterator[httpx.Client]:
    """The API of an application that runs."""
    server = ApiServer(AppBackend(app, _clock), _clock, Listening(host="127.0.0.1", port=0, state=folder), {})
    app.start()
    try:
        address = server.start()
        token = token_in_file(address.token_file or folder)
        with httpx.Client(
            base_url=f"{address.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60
        ) as client:
            yield client
    finally:
        server.stop()
        app.stop()


def until_ended(client: httpx.Client, run: str) -> Any:
    def look() -> Any:
        found = client.get(f"/runs/{run}").json()
        return found if found["status"] not in ("pending", "running") else None

    return eventually(look, "the end of the run")


def test_a_job_that_is_declared_over_http_is_run_by_the_engine(app: Foliot, tmp_path: Path) -> None:
    with served(app, tmp_path) as client:
        action = {"kind": "python:greet", "payload": {"who": "you"}}
        made = client.post("/jobs", json={"name": "hi", "schedule": "0 0 1 1 *", "action": action})
        assert made.status_code == 201, made.text
        run = client.post("/jobs/api~2Fhi/runs").json()["run_id"]
        assert until_ended(client, run)["status"] == "success"
        assert "hello you" in client.get(f"/runs/{run}/logs").json()["text"]
        assert client.get("/scheduler").json() | {"now": 0, "version": 0} == {
            "engine": True, "alive": True, "ready": True, "nodes": 1, "now": 0, "version": 0,
        }  # fmt: skip


@pytest.mark.req("OWN-11")
def test_an_api_that_stands_still_delays_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API has a thread, a loop and a store object of its own: while it is held up, jobs start and end."""
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db", name="shop")
    ran, is_held, go_on = threading.Event(), threading.Event(), threading.Event()

    @app.action
    async def note(run: Any) -> None:  # noqa: ARG001 - an action may take its run
        ran.set()

    def hold(*_: Any) -> Any:
        is_held.set()
        assert go_on.wait(60)
        return ()

    monkeypatch.setattr("foliot.api.jobs.show_job", hold)  # on the loop of the API, as a slow answer would
    with served(app, tmp_path) as client:
        app.wait(app.schedule("note", "0 0 1 1 *", note))
        held = threading.Thread(target=lambda: client.get("/jobs"))
        held.start()
        assert is_held.wait(60)
        run = app.wait(app.trigger("note"))
        assert app.wait(app.finished(run, timeout="60s")).outcome == "succeeded"
        assert ran.is_set()
        go_on.set()
        held.join(60)


def test_an_api_is_mounted_in_another_framework(app: Foliot) -> None:
    api = app.asgi()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with app, api:
            yield

    web = FastAPI(lifespan=lifespan)
    web.mount("/cron", api)

    async def play() -> None:
        async with lifespan(web):
            made = make_token("t", Scope.ADMIN, _clock.now())
            store: FullStore = api.service.store
            await store.add_token(made.token)
            transport = httpx.ASGITransport(web)
            headers = {"Authorization": f"Bearer {made.text}"}
            async with httpx.AsyncClient(transport=transport, base_url="http://x", headers=headers) as client:
                body = {"name": "hi", "schedule": "@daily", "action": {"kind": "python:greet"}}
                answer = await client.post("/cron/api/v1/jobs", json=body)
                assert answer.status_code == 201, answer.text
                assert answer.json()["links"]["self"] == "/cron/api/v1/jobs/api~2Fhi"
                assert (await client.get("/cron/api/v1/nothing")).json()["code"] == "NOT_FOUND"
                assert (await client.get("/cron/livez")).text == "ok"

    asyncio.run(play())
    with pytest.raises(InvalidJobError, match="is not known"):
        app.asgi(colour="red")
    with pytest.raises(FoliotError, match="is no network"):
        app.asgi(proxies=["here"])


def test_a_mounted_api_believes_the_proxies_that_it_is_told(app: Foliot) -> None:
    async def addresses(**options: Any) -> set[str | None]:
        async with app.asgi(**options) as api:
            made = make_token("t", Scope.ADMIN, _clock.now())
            await api.service.store.add_token(made.token)
            transport = httpx.ASGITransport(api, client=("10.1.2.3", 999))
            headers = {"Authorization": f"Bearer {made.text}", "X-Forwarded-For": "198.51.100.7"}
            async with httpx.AsyncClient(transport=transport, base_url="http://x", headers=headers) as client:
                body = {"schedule": "@daily", "action": {"kind": "python:greet"}}
                assert (await client.put("/api/v1/jobs/api~2Fhi", json=body)).status_code in (200, 201)
                found = await client.get(f"/api/v1/audit?actor=token:{made.token.id} t")
                return {entry["address"] for entry in found.json()["audit"]}

    assert asyncio.run(addresses()) == {"10.1.2.3"}
    assert asyncio.run(addresses(proxies=["10.0.0.0/8"])) == {"198.51.100.7"}


def test_who_has_not_installed_the_api_is_told_how(app: Foliot, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> Any:
        raise ModuleNotFoundError(name="starlette")

    monkeypatch.setattr(hosted, "import_module", missing)
    with pytest.raises(AppStateError, match=r"not installed \(starlette\)") as caught:
        app.asgi()
    assert caught.value.hint == "pip install 'foliot[api]'"


def test_the_name_of_the_jobs_of_the_api_is_taken() -> None:
    with pytest.raises(InvalidJobError, match="is that of the jobs of the REST API"):
        Foliot(name="api")


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        app = Foliot("memory://", name="shop")
        with pytest.raises(Exception, match=rf"cannot be served on 127.0.0.1:{port}"):
            ApiServer(
                AppBackend(app, _clock), _clock, Listening(host="127.0.0.1", port=port, state=tmp_path), {}
            )
        app.close()


# -- processes -------------------------------------------------------------------------------------


def said(daemon: Daemon, pattern: str) -> str:
    """What a line on stdout says."""
    for line in daemon.process.stdout or ():
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError(f"it ended without {pattern}: {daemon.told}")


def test_serve_listens_prints_a_login_link_and_ends_with_50_streams_at_once(tmp_path: Path) -> None:
    host, port = Host(tmp_path / "host"), free_port()
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "rollcron.yaml").write_text(
        'jobs:\n  hi:\n    schedule: {cron: "0 0 1 1 *"}\n    run: echo hi\n'
    )
    with daemons_on(host) as daemons:
        daemon = daemons.serve(folder, "--listen", f"127.0.0.1:{port}", "--log-format", "json")
        file = Path(said(daemon, r"A token is in (\S+)"))
        code = said(daemon, r"/login#(\S+)")
        assert file.stat().st_mode & 0o777 == 0o600
        assert code not in daemon.told
        token = file.read_text().strip()
        assert token not in daemon.told
        headers = {"Authorization": f"Bearer {token}"}
        base = f"http://127.0.0.1:{port}"
        assert httpx.post(f"{base}/login", json={"token": code}).status_code == 200
        [job] = httpx.get(f"{base}/api/v1/jobs", headers=headers).json()["jobs"]
        assert httpx.post(f"{base}/api/v1/sources/{job['source']}/pull", headers=headers).status_code == 202
        tokens = [
            httpx.post(
                f"{base}/api/v1/tokens", headers=headers, json={"name": f"t{n}", "scope": "read"}
            ).json()
            for n in range(10)
        ]
        streams = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(50)]
        for number, stream in enumerate(streams):
            bearer = tokens[number % 10]["token"]
            lines = ("GET /api/v1/events HTTP/1.1", "Host: localhost", f"Authorization: Bearer {bearer}")
            stream.sendall("\r\n".join((*lines, "", "")).encode())
        for stream in streams:
            assert stream.recv(12) == b"HTTP/1.1 200"
        asked_at = _clock.monotonic()
        assert daemon.stop() == 0
        took = _clock.monotonic() - asked_at
        assert took < 10
        for stream in streams:
            stream.close()


def test_a_command_of_the_api_runs_only_where_that_is_allowed(tmp_path: Path) -> None:
    host, port = Host(tmp_path / "host"), free_port()
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "rollcron.yaml").write_text("jobs: {}\n")
    with daemons_on(host) as daemons:
        daemon = daemons.serve(folder, "--listen", str(port), "--allow-api-shell", FOLIOT_API_TOKEN=TOKEN)
        base, headers = f"http://127.0.0.1:{port}/api/v1", {"Authorization": f"Bearer {TOKEN}"}
        body = {"name": "w", "scope": "write", "rights": ["shell"]}
        token = httpx.post(f"{base}/tokens", headers=headers, json=body).json()["token"]
        with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}) as client:
            action = {"kind": "shell", "payload": {"run": "echo $FOLIOT_JOB in $(basename $PWD)"}}
            assert (
                client.put("/jobs/api~2Fsay", json={"schedule": "@yearly", "action": action}).status_code
                == 201
            )
            run = client.post("/jobs/api~2Fsay/runs").json()["id"]
            assert until_ended(client, run)["status"] == "success"
            assert client.get(f"/runs/{run}/logs").json()["text"] == "say in api-shell\n"
            assert daemon.stop() == 0


def test_the_api_alone_serves_a_store_and_needs_one(tmp_path: Path) -> None:
    host, port = Host(tmp_path / "host"), free_port()
    with daemons_on(host) as daemons:
        daemon = daemons.start(
            "foliot api", "--listen", str(port), "--limit", "burst=3",
            FOLIOT_API_TOKEN=TOKEN, FOLIOT_API_LIMITS="rate=0.001 burst=9",
        )  # fmt: skip
        daemon.wait_for("api_serving")
        headers = {"Authorization": f"Bearer {TOKEN}"}
        base = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{base}/api/v1/whoami", headers=headers).json()["scope"] == "admin"
        assert httpx.get(f"{base}/api/v1/scheduler", headers=headers).json()["engine"] is False
        codes = [httpx.get(f"{base}/api/v1/whoami", headers=headers).status_code for _ in range(2)]
        assert codes == [200, 429]  # what the option says holds
        assert daemon.stop(signal.SIGINT) == 0
        for words, code in (
            (("--store", "memory://", "--listen", "1"), 3),
            (("--listen", "0.0.0.0:8080"), 1),
            (("--listen", "nowhere"), 2),
            (("--listen", "8080", "--behind-proxy", "nonsense"), 1),
            (("--listen", "8080", "--limit", "colour=7"), 1),
        ):
            assert daemons.start("foliot api", *words).wait() == code
        assert daemons.start("foliot api", "--listen", "1", FOLIOT_API_TOKEN=TOKEN[:9]).wait() != 0
