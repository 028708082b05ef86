"""Jobs that call a URL: what is sent, and what the answer means."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import socket
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from executors.http_stage import KEY, LOCALHOST, NOON, OLD_KEY, as_secret, call, execute, run_of
from foliot.executors.http import HttpExecutor
from foliot.model.attempt import Outcome
from foliot.protocols import Result
from foliot.testing.clock import ManualClock
from web_server import Answering, Certificate, make_certificate, reply, web_server

# -- what is sent ----------------------------------------------------------------------------------


def test_a_url_alone_is_a_get_that_names_its_run() -> None:
    with web_server(reply(200, b"fine")) as server:
        result = call(server)

    assert (result.outcome, result.error) == (Outcome.SUCCEEDED, None)
    assert result.output == "HTTP 200 OK\n\nfine\n"
    asked = server.asked[0]
    assert asked.line == "GET /hook/s3cret?token=c4nary HTTP/1.1"
    assert asked.body == b""
    named = {name: value for name, value in asked.headers.items() if name.startswith(("foliot", "idem"))}
    assert named == {
        "idempotency-key": "app/reindex@2026-11-16T12:00:00Z",
        "foliot-job": "app/reindex",
        "foliot-run": "app/reindex@2026-11-16T12:00:00Z",
        "foliot-attempt": "2",
        "foliot-scheduled-for": "2026-11-16T12:00:00Z",
        "foliot-token": "7",
    }
    assert asked.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("data", "method", "body", "content_type"),
    [
        ({"body": "hello"}, "POST", b"hello", "text/plain; charset=utf-8"),
        (
            {"body": {"a": [1, {"b": None}], "ü": True}},
            "POST",
            '{"a":[1,{"b":null}],"ü":true}'.encode(),
            "json",
        ),
        ({"body": [1, 2], "method": "put"}, "PUT", b"[1,2]", "application/json"),
        ({"body": "<a/>", "headers": {"content-type": "text/xml"}}, "POST", b"<a/>", "text/xml"),
        ({"method": "DELETE"}, "DELETE", b"", ""),
        ({"body": False}, "POST", b"false", "application/json"),
        ({"method": "POST"}, "POST", b"", ""),
    ],
)
def test_bodies_and_methods(data: dict[str, Any], method: str, body: bytes, content_type: str) -> None:
    with web_server() as server:
        assert call(server, **data).outcome is Outcome.SUCCEEDED

    asked = server.asked[0]
    assert asked.line.startswith(f"{method} /hook")
    assert asked.body == body
    assert asked.headers.get("content-type", "").endswith(content_type)


def test_what_is_given_with_a_trigger_is_the_body() -> None:
    with web_server() as server:
        execute(run_of({"url": server.url, "body": "usual"}, payload='{"only":7}', request="r1"))

    assert json.loads(server.asked[0].body) == {"only": 7}
    assert server.asked[0].headers["content-type"] == "application/json"
    assert server.asked[0].headers["idempotency-key"] == "app/reindex!r1"


def test_headers_of_a_job_are_sent_and_count_more_than_the_usual_ones() -> None:
    with web_server() as server:
        call(server, headers={"user-agent": "Shop", "Authorization": "Bearer t"})

    assert server.asked[0].headers["user-agent"] == "Shop"
    assert server.asked[0].headers["authorization"] == "Bearer t"


def test_a_name_that_no_header_can_carry_is_escaped() -> None:
    with web_server() as server:
        execute(run_of({"url": server.url}, name="Müll 100% ☂"))

    assert server.asked[0].headers["foliot-job"] == "app/M%C3%BCll%20100%25%20%E2%98%82"


def is_signed(headers: dict[str, str], body: bytes, key: bytes) -> bool:
    """As Standard Webhooks says, written for this test alone."""
    content = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    wanted = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return f"v1,{wanted}" in headers["webhook-signature"].split(" ")


def test_a_secret_signs_the_request_and_two_of_them_do_while_they_are_exchanged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHOP", f"{as_secret(KEY)} {as_secret(OLD_KEY)}")
    (tmp_path / "key").write_text(as_secret(KEY) + "\n")
    with web_server() as server:
        call(server, body={"a": 1}, secret="env:SHOP")  # noqa: S106 - a reference
        call(server, method="POST", secret=f"file:{tmp_path}/key")
        call(server)

    both, empty, unsigned = server.asked
    assert is_signed(both.headers, both.body, KEY)
    assert is_signed(both.headers, both.body, OLD_KEY)
    assert not is_signed(both.headers, both.body + b" ", KEY)
    assert not is_signed(both.headers, both.body, bytes(32))
    assert both.headers["webhook-timestamp"] == str(int(NOON.timestamp()))
    assert is_signed(empty.headers, b"", KEY)
    assert not is_signed(empty.headers, b"", OLD_KEY)
    assert "webhook-signature" not in unsigned.headers
    assert both.headers["webhook-id"] == unsigned.headers["webhook-id"], "the id is the run's"
    assert re.fullmatch("run_[0-9a-f]{32}", both.headers["webhook-id"])


def test_without_its_secret_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAD", "c4nary-and-no-key")
    with web_server() as server:
        missing = call(server, secret="env:MISSING_SECRET")  # noqa: S106 - a reference
        bad = call(server, secret="env:BAD")  # noqa: S106 - a reference

    assert server.connections == 0
    assert (missing.outcome, missing.is_final) == (Outcome.FAILED, False), "another node may have it"
    assert missing.error == "env:MISSING_SECRET is not set on this node"
    assert (bad.outcome, bad.is_final) == (Outcome.FAILED, True)
    assert "c4nary" not in str(bad)


def test_a_node_signs_for_jobs_of_the_api_only_with_secrets_that_are_named_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SHOP", "FOLIOT_SECRET_SHOP"):
        monkeypatch.setenv(name, as_secret(KEY))
    with web_server() as server:
        # Whatever checked the job when it was written, the node decides: it may have been an older release.
        refused = execute(run_of({"url": server.url, "secret": "env:SHOP"}, source="api"))
        signed = execute(run_of({"url": server.url, "secret": "env:FOLIOT_SECRET_SHOP"}, source="api"))

    assert (refused.outcome, refused.is_final) == (Outcome.FAILED, True)
    assert "is not for jobs of the API" in str(refused.error)
    assert signed.outcome is Outcome.SUCCEEDED
    [asked] = server.asked
    assert is_signed(asked.headers, asked.body, KEY)


# -- what the answer means -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "expect", "outcome", "is_final"),
    [
        (200, None, Outcome.SUCCEEDED, False),
        (299, None, Outcome.SUCCEEDED, False),
        (404, 404, Outcome.SUCCEEDED, False),
        (302, ["2xx", 302], Outcome.SUCCEEDED, False),
        (503, "5xx", Outcome.SUCCEEDED, False),
        (202, 200, Outcome.FAILED, False),
        (302, None, Outcome.FAILED, True),
        (400, None, Outcome.FAILED, True),
        (404, None, Outcome.FAILED, True),
        (408, None, Outcome.FAILED, False),
        (425, None, Outcome.FAILED, False),
        (429, None, Outcome.FAILED, False),
        (500, None, Outcome.FAILED, False),
        (503, None, Outcome.FAILED, False),
        (599, None, Outcome.FAILED, False),
    ],
)
def test_the_status_decides(status: int, expect: Any, outcome: Outcome, is_final: bool) -> None:  # noqa: FBT001
    with web_server(reply(status, b"so")) as server:
        result = call(server, expect=expect)

    assert (result.outcome, result.is_final, result.retry_after) == (outcome, is_final, None)
    assert result.output.startswith(f"HTTP {status}")
    assert result.output.endswith("\nso\n")
    if outcome is Outcome.FAILED:
        assert result.error is not None
        assert result.error.startswith(f"http://localhost:{server.port}/… answers {status}")
        assert "c4nary" not in result.error


@pytest.mark.parametrize(
    ("status", "told", "seconds"),
    [
        (503, "7", 7),
        (429, "Mon, 16 Nov 2026 12:01:00 GMT", 60),
        (503, "Mon, 16 Nov 2026 11:00:00 GMT", 0),
        (503, "99999999", 600),
        (503, "Fri, 31 Dec 9999 23:59:59 GMT", 600),
        (503, "soon", None),
        (503, "-5", None),
        (404, "7", None),
    ],
)
def test_retry_after_is_heeded_up_to_the_longest_delay(status: int, told: str, seconds: int | None) -> None:
    with web_server(reply(status, Retry_After=told)) as server:
        result = call(server)

    assert result.retry_after == (None if seconds is None else timedelta(seconds=seconds))


def huge(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while connection.send(b"."):
        connection.settimeout(0.01)
        try:
            if not connection.recv(1):
                return
        except TimeoutError:
            pass


def hang(connection: socket.socket) -> None:
    connection.recv(1)


def test_of_a_huge_body_so_much_is_kept_as_the_job_says() -> None:
    with web_server(huge) as server:
        result = call(server, max_output="1k")

    assert result.outcome is Outcome.SUCCEEDED
    assert (
        result.output == f"HTTP 200 OK\n\n{'x' * 1024}\n… the answer goes on; 1,024 bytes of it are kept …\n"
    )


def test_a_body_of_just_the_size_that_is_kept_is_whole() -> None:
    with web_server(reply(200, b"x" * 10)) as server:
        assert call(server, max_output=10).output == f"HTTP 200 OK\n\n{'x' * 10}\n"
        assert "goes on" in call(server, max_output=9).output


def test_a_body_that_is_packed_or_is_no_text_is_kept_as_far_as_it_can_be_shown() -> None:
    with web_server(reply(200, b"\x1f\x8b", Content_Encoding="gzip"), reply(200, b"a\xff\x00b")) as server:
        assert "(2 bytes, packed as 'gzip')" in call(server).output
        assert "a�\0b" in call(server).output


@pytest.mark.parametrize("answer", [drip, hang])
def test_one_deadline_counts_for_all(answer: Answering) -> None:
    with web_server(answer) as server:
        result = call(server, timeout="300ms")

    assert (result.outcome, result.is_final) == (Outcome.FAILED, False)
    assert result.error is not None
    assert re.search(r"localhost:\d+/… gives no answer within (300ms|0\.3 s)", result.error)


def test_a_server_that_is_not_there_and_one_that_speaks_no_http_are_tried_again() -> None:
    with web_server(b"SSH-2.0\r\n") as server:
        strange = call(server)
    away = call(server)

    assert (strange.outcome, strange.is_final) == (Outcome.FAILED, False)
    assert (away.outcome, away.is_final) == (Outcome.FAILED, False)
    assert away.error is not None
    assert "refused" in away.error


def test_an_attempt_that_is_asked_to_end_ends_its_request() -> None:
    async def scene() -> Result:
        ended: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        executor = HttpExecutor(LOCALHOST, ManualClock(NOON))
        ask = executor.start(run_of({"url": server.url}), lambda _, result: ended.set_result(result))
        await asyncio.to_thread(is_asked.wait, 60)
        ask()
        return await asyncio.wait_for(ended, 60)

    is_asked = threading.Event()

    def hang_on(connection: socket.socket) -> None:
        is_asked.set()
        hang(connection)

    with web_server(hang_on) as server:
        assert asyncio.run(scene()).outcome is Outcome.CANCELLED


@pytest.mark.parametrize(
    ("kind", "data"), [("http", {}), ("http", {"url": "ftp://x/"}), ("http:get", {"url": "https://x.org/"})]
)
def test_an_action_that_another_program_wrote_wrongly_fails_for_good(kind: str, data: dict[str, Any]) -> None:
    result = execute(run_of(data, kind=kind))

    assert (result.outcome, result.is_final) == (Outcome.FAILED, True)


def test_the_certificate_must_be_trusted(tmp_path: Path) -> None:
    certificate: Certificate = make_certificate(tmp_path)
    with web_server(tls=certificate.server) as server:
        run = run_of({"url": server.url})
        refused = execute(run)
        assert server.asked == []
        taken = execute(run, tls=certificate.client)

    assert refused.error is not None
    assert "certificate that cannot be trusted" in refused.error
    assert taken.outcome is Outcome.SUCCEEDED
