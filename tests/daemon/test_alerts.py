"""Alerts of a repository's jobs, from the file to the people: real daemons, servers, programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.harness import Daemons, Host, eventually
from daemon.repositories import Repository, job
from daemon.test_secrets import assert_nowhere
from mail_server import Inbox, mail_server
from web_server import WebServer, reply, web_server

TOKEN = "s3cret"  # noqa: S105 - a part of the test server's URL
CANARY = "c4nary"


@pytest.fixture
def server() -> Iterator[WebServer]:
    with web_server() as one:
        yield one


def channels_file(folder: Path, text: str) -> Path:
    file = folder / "channels.yaml"
    file.write_text(text)
    return file


@pytest.mark.req("OWN-05")
def test_a_failure_is_told_to_the_operators_channel_and_its_url_is_nowhere(
    daemons: Daemons, repository: Repository, host: Host, server: WebServer, tmp_path: Path
) -> None:
    repository.push(one=job("echo last words; exit 3", notify="ops"))
    file = channels_file(tmp_path, "channels:\n  ops: {webhook: env:OPS_WEBHOOK}\n")
    daemon = daemons.serve(repository.remote, "--channels", file, OPS_WEBHOOK=server.url)
    seen: set[str] = set()

    def is_told() -> bool:
        seen.update(host.processes().values())
        return bool(server.asked)

    eventually(is_told, "an alert")
    body = json.loads(server.asked[0].body)
    assert (body["type"], body["exit_code"]) == ("job.failure", 3)
    told = eventually(lambda: host.foliot("alert", "list", "--state", "sent")["alerts"])
    daemon.stop()
    assert told[0]["channel"] == "ops"
    for secret in (TOKEN, CANARY):
        assert_nowhere(secret, host, daemon.told, str(told), str(body))
        assert not [words for words in seen if secret in words]
