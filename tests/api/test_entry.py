"""Who gets in: tokens, cookies and codes; what other sites and hosts may not; and how much is too much."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from api.stage import WIDE, Stage, staged
from foliot.api.limits import Limits, read_limits
from foliot.api.server import Listening, options_of
from foliot.errors import FoliotError, StoreUnavailableError


@pytest.fixture
def browser(alone: Stage) -> Iterator[httpx.Client]:
    """A browser that has logged in by the link that the server has printed."""
    with httpx.Client(base_url=alone.base) as client:
        code = (alone.address.login or "").partition("#")[2]
        answer = client.post("/login", data={"token": code}, headers={"Sec-Fetch-Site": "same-origin"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        yield client


def test_a_login_link_works_once(alone: Stage, browser: httpx.Client) -> None:
    assert "Overview" in browser.get("/").text
    code = (alone.address.login or "").partition("#")[2]
    again = httpx.post(f"{alone.base}/login", json={"token": code})
    assert (again.status_code, again.json()["code"]) == (401, "NO_TOKEN")
    with_token = httpx.post(f"{alone.base}/login", json={"token": alone.tokens["read"]})
    cookie = with_token.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
    assert "no valid token" in alone.get("/audit?actor=anybody")["audit"][0]["detail"]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "OWN"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "OWN"}, 200),
    ],
)
def test_a_change_by_cookie_comes_from_our_own_pages(
    alone: Stage, browser: httpx.Client, headers: dict[str, str], code: int
) -> None:
    sent = {name: value.replace("OWN", alone.base) for name, value in headers.items()}
    answer = browser.post("/api/v1/jobs/ops~2Fbackup/pause", json={}, headers=sent)
    assert answer.status_code == code, answer.text
    assert browser.get("/api/v1/jobs").status_code == 200


def test_a_logout_ends_the_session(browser: httpx.Client) -> None:
    assert browser.post("/logout").status_code == 403
    assert browser.post("/logout", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303
    assert browser.get("/api/v1/jobs").status_code == 401
    page = browser.get("/", headers={"Accept": "text/html"}, follow_redirects=False)
    assert (page.status_code, page.headers["location"]) == (303, "/login")


def test_every_answer_forbids_to_be_framed_kept_or_guessed(alone: Stage) -> None:
    for path in ("/api/v1/jobs", "/login", "/nothing", "/livez", "/static/script.js"):
        headers = alone.ask("GET", f"/{path}").headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert not [name for name in headers if name.startswith("access-control")]
        assert "server" not in headers
        assert len(headers["request-id"]) == 32
    page = alone.client.get("login").text
    assert not re.search(r"<script>|style=|onclick|javascript:", page)


def test_too_many_wrong_logins_are_refused_for_a_while(alone: Stage) -> None:
    codes = [alone.client.post("login", json={"token": "wrong"}).status_code for _ in range(12)]
    assert codes == [401] * 10 + [429] * 2
    answer = alone.client.post("login", json={"token": alone.tokens["read"]})
    assert (answer.status_code, answer.json()["code"]) == (429, "TOO_MANY")
    assert int(answer.headers["retry-after"]) >= 1


def test_a_token_that_asks_too_often_waits_and_others_do_not(tmp_path: Path) -> None:
    limits = WIDE.__class__(rate=0.001, burst=3)
    with staged(None, tmp_path, limits) as stage:
        codes = [stage.ask("GET", "/whoami", "read").status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        assert stage.ask("GET", "/whoami", "admin").status_code == 200


def _unknown() -> dict[str, str]:
    """A token as it could be, of an id that no other has."""
    return {"Authorization": f"Bearer flt_{uuid4().hex[:10]}_{'a' * 43}"}


def test_an_address_that_guesses_tokens_is_refused_and_the_store_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with staged(None, tmp_path, replace(WIDE, failed_tokens=5)) as stage:
        assert {stage.ask("GET", "/whoami", who).status_code for who in ("read", "admin")} == {200}
        tokens = stage.server.application.service.authority._tokens
        asked: list[str] = []
        ask = tokens._ask

        async def noted(token_id: str) -> Any:
            asked.append(token_id)
            return await ask(token_id)

        monkeypatch.setattr(tokens, "_ask", noted)
        answers = [stage.ask("GET", "/whoami", None, headers=_unknown()) for _ in range(9)]
        assert [answer.status_code for answer in answers] == [401] * 5 + [429] * 4
        assert len(asked) == 5
        assert (answers[-1].json()["code"], int(answers[-1].headers["retry-after"])) == ("TOO_MANY", 12)
        cookie = {"Cookie": "foliot_session=guess"}
        assert stage.ask("GET", "/whoami", None, headers=cookie).status_code == 429
        assert stage.ask("GET", "/whoami", "wrong").status_code == 429
        assert stage.ask("GET", "/whoami", "read").status_code == 200, "what is in use goes on working"
        assert stage.ask("GET", "/whoami", None).status_code == 429, "nothing is told to who guesses"
        session = stage.client.post("login", json={"token": stage.tokens["read"]})
        assert session.status_code == 200
        assert stage.client.get("api/v1/whoami").status_code == 200, "a person can still log in"
        assert refused_by(stage)["failed_tokens"] == 7


def test_requests_without_a_token_shut_nobody_out(tmp_path: Path) -> None:
    with staged(None, tmp_path, replace(WIDE, failed_tokens=2)) as stage:
        assert {stage.ask("GET", "/whoami", None).status_code for _ in range(9)} == {401}
        assert stage.ask("GET", "/whoami", "read").status_code == 200


def test_limits_of_an_address_are_those_of_a_client_behind_its_proxy(tmp_path: Path) -> None:
    limits = replace(WIDE, failed_tokens=2, connections_of_address=1)
    with staged(None, tmp_path, limits, proxy="http://cron.example.org") as stage:

        def status(address: str) -> int:
            return stage.ask(
                "GET", "/whoami", None, headers=_unknown() | {"X-Forwarded-For": address}
            ).status_code

        assert [status("198.51.100.7") for _ in range(3)] == [401, 401, 429]
        assert status("198.51.100.8") == 401
        # One client may have a whole network of IPv6 addresses.
        assert [status(f"2001:db8:0:1::{n}") for n in range(3)] == [401, 401, 429]
        assert status("2001:db8:0:2::1") == 401
        # The proxy may have many connections open: they are those of many clients.
        with httpx.Client(base_url=stage.base, timeout=60) as other:
            assert other.get("/livez").status_code == 200


def refused_by(stage: Stage) -> dict[str, int]:
    """How many requests and connections each limit has refused, as the metrics tell."""
    text = stage.ask("GET", "//metrics", "admin").text
    found = re.findall(r'^foliot_api_refused_total{limit="(\w+)"} (\d+)', text, re.MULTILINE)
    return {limit: int(count) for limit, count in found}


def test_what_a_limit_refuses_is_counted_by_its_name(tmp_path: Path) -> None:
    texts = [
        "body=100",
        "batch_body=200",
        "header=4000",
        "failed_logins=1",
        "rate=0.001",
        "burst=3",
        "receive=0.3",
    ]
    with staged(None, tmp_path, read_limits(texts)) as stage:
        for _ in range(5):
            stage.ask("GET", "/whoami", "read")
        long = {"name": "x" * 150, "schedule": "@daily", "action": {"kind": "k"}}
        stage.post("/jobs", long, "write", 413)
        stage.post("/jobs/batch", {"jobs": [long]}, "write", 413)
        stage.expect(431, "GET", "/whoami", "operate", headers={"X": "x" * 4000})
        assert [stage.client.post("/login", json={"token": "x"}).status_code for _ in range(2)] == [401, 429]
        with socket.create_connection(("127.0.0.1", int(stage.base.rpartition(":")[2])), timeout=30) as slow:
            assert slow.recv(12) == b"HTTP/1.1 408"
        assert refused_by(stage) == {
            "rate": 2, "body": 1, "batch_body": 1, "header": 1, "failed_logins": 1, "receive": 1,
        }  # fmt: skip


def test_every_limit_can_be_set_and_is_told_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/rest-api.md").read_text()
    for name, usual in asdict(Limits()).items():
        assert f"| `{name}` | {usual:.0f} |" in page
        assert getattr(read_limits([f"{name}=7", f"{name}=8"]), name) == 8
    for text in ("rate", "rate=", "rate=x", "rate=0", "rate=-1", "rate=nan", "rate=inf", "body=1.5"):
        with pytest.raises(FoliotError, match="cannot be"):
            read_limits([text])
    with pytest.raises(FoliotError, match="no limit 'colour'") as caught:
        read_limits(["rate=1", "colour=7"])
    assert "rate, burst, failed_logins" in str(caught.value.hint)


def test_too_many_streams_and_connections_are_refused(tmp_path: Path) -> None:
    limits = WIDE.__class__(rate=1e6, burst=1000, streams_of_token=2, connections_of_address=4)
    with staged(None, tmp_path, limits) as stage:
        headers = {"Authorization": f"Bearer {stage.tokens['read']}"}
        with (
            stage.client.stream("GET", "api/v1/events", headers=headers) as first,
            stage.client.stream("GET", "api/v1/events", headers=headers) as second,
        ):
            streams = first.iter_lines(), second.iter_lines()  # a stream that is let go of is closed
            assert [next(stream) for stream in streams] == ["retry: 3000"] * 2
            assert stage.ask("GET", "/events", "read").json()["code"] == "TOO_MANY"
            assert refused_by(stage) == {"streams_of_token": 1}
            port = int(stage.base.rpartition(":")[2])
            others = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(4)]
            try:
                refused = [one.recv(12) for one in others[1:]]
                assert b"HTTP/1.1 503" in refused
            finally:
                for one in others:
                    one.close()


@pytest.mark.parametrize(
    "sent", [b"", b"GET /livez HT", b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"]
)
def test_a_request_that_does_not_come_in_time_is_ended(tmp_path: Path, sent: bytes) -> None:
    with staged(None, tmp_path, WIDE.__class__(receive=0.3)) as stage:
        port = int(stage.base.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(sent)
            answer = b""
            while part := connection.recv(65536):
                answer += part
    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"code":"TOO_SLOW"' in answer


def test_a_store_that_is_away_is_told_and_comes_back(alone: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:

        async def away(*_: Any) -> Any:
            raise StoreUnavailableError("jobs", "connection to server at db.internal, user=canary failed")

        for verb in ("jobs", "update", "now", "write_audit"):
            broken.setattr(alone._memory, verb, away)
        for verb, path in (("GET", "/jobs"), ("POST", "/jobs/ops~2Fbackup/pause"), ("GET", "//readyz")):
            answer = alone.ask(verb, path, json={} if verb == "POST" else None)
            assert (answer.status_code, answer.json()["code"]) == (503, "STORE_UNAVAILABLE")
            assert answer.headers["retry-after"] == "2"
            assert "canary" not in answer.text
        assert alone.client.get("livez").status_code == 200

        async def full(*_: Any) -> Any:
            raise StoreUnavailableError("jobs", "database or disk is full")

        broken.setattr(alone._memory, "jobs", full)
        assert alone.ask("GET", "/jobs").status_code == 507
    assert alone.ask("GET", "/jobs").status_code == 200


def test_a_mistake_of_ours_is_told_without_a_traceback(alone: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> Any:
        raise ZeroDivisionError("canary")

    monkeypatch.setattr(alone._memory, "jobs", fail)
    problem = alone.get("/jobs", code=500)
    assert problem["code"] == "INTERNAL"
    assert "canary" not in str(problem)
    assert problem["instance"].rpartition(":")[2] in problem["hint"]


def test_without_tls_only_loopback_is_listened_on() -> None:
    for host in ("0.0.0.0", "192.0.2.7", "::", "example.org", ""):  # noqa: S104 - refused
        with pytest.raises(FoliotError, match="cannot be served"):
            options_of(Listening(host=host, port=1))
    for host in ("127.0.0.1", "::1", "localhost"):
        assert options_of(Listening(host=host, port=1)).hosts
    for proxy in ("ftp://x", "nonsense", "https://", "https://u:p@x", "https://x?y"):
        with pytest.raises(FoliotError, match="is no address of a proxy"):
            options_of(Listening(host="127.0.0.1", port=1, proxy=proxy))
    with pytest.raises(FoliotError, match="is no network"):
        options_of(Listening(host="127.0.0.1", port=1, proxy="https://x", proxies=("here",)))


def test_behind_a_proxy_links_lead_through_it(tmp_path: Path) -> None:
    with staged(None, tmp_path, proxy="https://cron.example.org/cron/") as stage:
        assert (stage.address.login or "").startswith("https://cron.example.org/cron/login#")
        headers = {"Host": "cron.example.org", "X-Forwarded-For": "198.51.100.7"}
        for path in ("/api/v1/jobs/ops~2Fbackup", "//cron/api/v1/jobs/ops~2Fbackup"):
            shown = stage.ask("GET", path, headers=headers).json()
            assert shown["links"]["self"] == "/cron/api/v1/jobs/ops~2Fbackup"
        stage.ask("POST", "/jobs/ops~2Fbackup/pause", headers=headers, json={})
        assert stage.get("/audit")["audit"][0]["address"] == "198.51.100.7"
        cookie = stage.client.post("login", json={"token": stage.tokens["read"]}).headers["set-cookie"]
        assert "Secure" in cookie
        assert "Path=/cron" in cookie
        assert stage.ask("GET", "//openapi.json").json()["servers"] == [{"url": "/cron"}]
        assert stage.ask("GET", "/jobs", headers={"Host": "evil.example"}).status_code == 421


def test_forwarded_headers_are_not_believed_without_a_proxy(alone: Stage) -> None:
    alone.ask("POST", "/jobs/ops~2Fbackup/pause", headers={"X-Forwarded-For": "198.51.100.7"}, json={})
    assert alone.get("/audit")["audit"][0]["address"] == "127.0.0.1"


def test_a_server_may_demand_preconditions(tmp_path: Path) -> None:
    with staged(None, tmp_path, demands_match=True) as stage:
        stage.post("/jobs", {"name": "x", "schedule": "@daily", "action": {"kind": "k"}}, code=201)
        problem = stage.expect(428, "PATCH", "/jobs/api~2Fx", json={"queue": "y"})
        assert problem["code"] == "MATCH_REQUIRED"
        stage.expect(200, "PATCH", "/jobs/api~2Fx", json={"queue": "y"}, headers={"If-Match": '"v1"'})
