from __future__ import annotations

import asyncio
import uuid
from urllib.parse import parse_qs, urlsplit

import pytest

from alerts.sample import FAILURE, HOSTILE, RECOVERY
from foliot.alerts.channel import SENT, Fate
from foliot.alerts.message import AlertKind
from foliot.alerts.ping import Ping, PingKind, Signal, signal_of
from foliot.errors import InvalidChannelError
from web_server import WebServer, reply, web_server

RUN = "ops/backup@2026-11-16T02:00:00Z"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> WebServer:  # type: ignore[misc]
    with web_server(reply(200, b"OK")) as server:
        server.url = f"http://localhost:{server.port}/c4nary-uuid"
        monkeypatch.setenv("HC", server.url)
        yield server


def asked(server: WebServer) -> tuple[str, str, dict[str, list[str]]]:
    method, target, _ = server.asked[-1].line.split()
    parts = urlsplit(target)
    return method, parts.path, parse_qs(parts.query)


@pytest.mark.parametrize(
    ("signal", "path"),
    [
        (Signal(PingKind.START, RUN), "/c4nary-uuid/start"),
        (Signal(PingKind.SUCCESS, RUN), "/c4nary-uuid"),
        (Signal(PingKind.FAILURE, RUN), "/c4nary-uuid/fail"),
        (Signal(PingKind.FAILURE, RUN, exit_code=3), "/c4nary-uuid/3"),
        (Signal(PingKind.FAILURE, RUN, exit_code=-9), "/c4nary-uuid/fail"),
        (Signal(PingKind.FAILURE, RUN, exit_code=0), "/c4nary-uuid/fail"),
        (Signal(PingKind.LOG, RUN), "/c4nary-uuid/log"),
    ],
)
def test_healthchecks(server: WebServer, signal: Signal, path: str) -> None:
    assert asyncio.run(Ping("env:HC").ping(signal)) == SENT

    method, found, query = asked(server)
    assert (method, found) == ("GET", path)
    assert uuid.UUID(query["rid"][0]).version == 5


def test_start_and_end_of_an_attempt_share_an_id() -> None:
    assert Signal(PingKind.START, RUN, 2).rid == Signal(PingKind.FAILURE, RUN, 2).rid
    assert Signal(PingKind.START, RUN, 2).rid != Signal(PingKind.START, RUN, 3).rid


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (PingKind.START, "run"),
        (PingKind.SUCCESS, "complete"),
        (PingKind.FAILURE, "fail"),
        (PingKind.LOG, "ok"),
    ],
)
def test_cronitor(server: WebServer, kind: PingKind, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HC", server.url + "?env=production")
    signal = Signal(kind, RUN, exit_code=3, text="a&b=c\r\n#d" + "x" * 9999)

    assert asyncio.run(Ping("env:HC", style="cronitor").ping(signal)) == SENT

    _, path, query = asked(server)
    assert path == "/c4nary-uuid"
    assert query["env"] == ["production"]
    assert (query["state"], query["status_code"], query["series"]) == ([state], ["3"], [signal.rid])
    assert query["message"][0].startswith("a&b=c #d")
    assert len(query["message"][0]) <= 2000


def test_a_plain_url_hears_of_successes_only(server: WebServer) -> None:
    channel = Ping("env:HC", style="plain")
    for kind in PingKind:
        assert asyncio.run(channel.ping(Signal(kind, RUN))) == SENT

    assert [line.line for line in server.asked] == ["GET /c4nary-uuid HTTP/1.1"]


def test_the_body_is_the_end_of_the_text_and_bounded(server: WebServer) -> None:
    text = "ä" * 50_000 + "the end"

    assert asyncio.run(Ping("env:HC").ping(Signal(PingKind.SUCCESS, RUN, text=text))) == SENT

    body = server.asked[-1].body
    assert len(body) <= 10_000
    assert body.decode(errors="replace").endswith("the end")


def test_the_service_says_how_long_a_body_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server(reply(200, Ping_Body_Limit="50"), reply(200, Ping_Body_Limit="nonsense")) as server:
        monkeypatch.setenv("HC", server.url)
        channel = Ping("env:HC")
        for _ in range(3):
            assert asyncio.run(channel.ping(Signal(PingKind.SUCCESS, RUN, text="x" * 999))) == SENT

    assert [len(line.body) for line in server.asked] == [999, 50, 50]


def test_alerts_as_pings(server: WebServer) -> None:
    channel = Ping("env:HC")

    assert asyncio.run(channel.send([FAILURE, RECOVERY, HOSTILE])) == SENT

    assert [line.line.split("?")[0] for line in server.asked] == [
        "POST /c4nary-uuid/3", "POST /c4nary-uuid", "POST /c4nary-uuid/3",
    ]  # fmt: skip
    assert b"all 3 attempts failed" in server.asked[0].body
    assert signal_of(FAILURE._replace(kind=AlertKind.LATE)).kind is PingKind.LOG
    assert channel.rate is None


def test_a_service_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server(reply(503), reply(404, b"c4nary-uuid not found")) as server:
        monkeypatch.setenv("HC", f"http://localhost:{server.port}/c4nary-uuid")
        channel = Ping("env:HC")
        first, second = (asyncio.run(channel.send([FAILURE])) for _ in range(2))

    assert first.fate is Fate.AGAIN
    assert second.fate is Fate.REFUSED
    assert second.reason == "env:HC answers 404 (*** not found)"
    assert "c4nary" not in repr(channel)


def test_what_cannot_be_right() -> None:
    with pytest.raises(InvalidChannelError, match="style nagios"):
        Ping("env:HC", style="nagios")
    with pytest.raises(InvalidChannelError, match="URL with a secret"):
        Ping("https://hc-ping.com/550e8400-e29b-41d4-a716-446655440000")
