"""`foliot serve --celery`: a daemon whose jobs, declared over the API, send Celery tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from celery import Celery

from daemon.harness import Host, daemons_on, eventually
from executors.celery.stage import taken
from foliot.testing.servers.process import free_port
from real_redis import redis_url_of

pytestmark = pytest.mark.prove
TOKEN = "Tm90aGluZy1zZWNyZXQtaGVyZS1vZi1jb3Vyc2U"  # noqa: S105 - of this test alone


def site(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "rollcron.yaml").write_text("jobs: {}\n")
    return folder


def ended(client: httpx.Client, run: str) -> Any:
    found = client.get(f"/runs/{run}").json()
    return found if found["status"] not in ("pending", "running") else None


def test_a_job_of_the_api_sends_a_task(tmp_path: Path) -> None:
    url, port, queue = redis_url_of("redis"), free_port(), f"q{tmp_path.name}-{tmp_path.parent.name}"
    (tmp_path / "shop_celery.py").write_text(
        f"from celery import Celery\napp = Celery('shop', broker={url!r})\n"
    )
    with daemons_on(Host(tmp_path / "host")) as daemons:
        daemon = daemons.serve(
            site(tmp_path), "--listen", str(port), "--celery", "shop_celery:app",
            FOLIOT_API_TOKEN=TOKEN, PYTHONPATH=str(tmp_path),
        )  # fmt: skip
        base, headers = f"http://127.0.0.1:{port}/api/v1", {"Authorization": f"Bearer {TOKEN}"}
        body = {"name": "w", "scope": "write", "rights": ["celery"]}
        token = httpx.post(f"{base}/tokens", headers=headers, json=body).json()["token"]
        with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
            payload = {"task": "shop.note", "args": [7], "options": {"queue": queue}}
            action = {"kind": "celery", "payload": payload}
            job = {"schedule": "@yearly", "action": action}
            assert client.put("/jobs/api~2Fnote", json=job).status_code == 201
            run = client.post("/jobs/api~2Fnote/runs").json()["id"]
            found = eventually(lambda: ended(client, run), "the end of the run")
            assert found["status"] == "success"
        assert daemon.stop() == 0
    [message] = taken(Celery("shop", broker=url, set_as_current=False), queue)
    assert (message.headers["task"], message.payload[0]) == ("shop.note", [7])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere.at_all:app", "nowhere.at_all:app cannot be loaded"),
        ("json:loads", "is no Celery application"),
    ],
)
def test_what_is_no_celery_application_ends_the_start(tmp_path: Path, name: str, words: str) -> None:
    with daemons_on(Host(tmp_path / "host")) as daemons:
        daemon = daemons.start("foliot serve", str(site(tmp_path)), "--celery", name)
        assert daemon.wait() == 3
        assert words in daemon.told
