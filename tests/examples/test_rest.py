"""The examples of the REST API: a server, and clients with curl and httpx."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx

from foliot.testing.servers.process import free_port
from programs import EXAMPLES, PATIENCE, eventually

TOKEN = "K7s9" * 2 + "qWz4xCv8bNm2aSd6fGh1jKl3"  # a random text, for tests


def test_jobs_are_declared_by_curl_and_by_httpx(tmp_path: Path) -> None:
    port = free_port()
    base = f"http://127.0.0.1:{port}/cron"
    environment = {**os.environ, "FOLIOT_API_TOKEN": TOKEN, "BASE": base}

    def is_up() -> bool:
        try:
            return httpx.get(f"{base}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    server = [sys.executable, str(EXAMPLES / "fastapi_rest.py"), str(port)]
    with subprocess.Popen(server, cwd=tmp_path, env=environment) as process:  # noqa: S603 - our own example
        try:
            eventually(is_up)
            curl = run("sh", str(EXAMPLES / "rest_curl.sh"), environment=environment)
            told = run(sys.executable, str(EXAMPLES / "rest_httpx.py"), environment=environment)
        finally:
            process.terminate()
            process.wait(PATIENCE)
    assert '"dry_run":true' in curl
    assert '"version":2' in curl
    assert "hello, curl" in curl
    assert '"status":"success"' in curl
    assert told.splitlines()[0].startswith("INVALID - ")
    assert told.splitlines()[1] == "success - hello, httpx"


def run(*words: str, environment: dict[str, str]) -> str:
    done = subprocess.run(  # noqa: S603 - our own examples
        words, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
