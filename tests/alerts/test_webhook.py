from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from alerts.sample import FAILURE, HOSTILE, RECOVERY, many
from foliot.alerts.channel import SENT, Fate, Sent
from foliot.alerts.message import Alert
from foliot.alerts.webhook import Webhook
from foliot.errors import InvalidChannelError
from foliot.network.signature import read_keys, signed
from foliot.testing.clock import ManualClock
from web_server import Certificate, WebServer, make_certificate, reply, web_server

NOW = datetime(2026, 11, 16, 2, 0, 5, tzinfo=UTC)
KEY = bytes(range(32))
REFERENCE = "env:OPS_SECRET"
SECRET = "whsec_" + base64.b64encode(KEY).decode()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPS_SECRET", SECRET)


def send(
    server: WebServer, alerts: Sequence[Alert] = (FAILURE,), *, monkeypatch: pytest.MonkeyPatch, **fields: Any
) -> Sent:
    monkeypatch.setenv("OPS_WEBHOOK", server.url)
    channel = Webhook("env:OPS_WEBHOOK", clock=ManualClock(NOW), **fields)
    said = asyncio.run(channel.send(alerts))
    for shown in (repr(channel), channel.describe(), repr(said)):
        assert "s3cret" not in shown
        assert "c4nary" not in shown
        assert SECRET not in shown
    return said


def test_a_message_is_named_dated_and_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server() as server:
        assert send(server, monkeypatch=monkeypatch, secret=REFERENCE) == SENT

    asked = server.asked[0]
    assert asked.line.startswith("POST /hook/s3cret?token=c4nary ")
    assert asked.headers["webhook-id"] == "al-1"
    assert asked.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    content = f"al-1.{int(NOW.timestamp())}.".encode() + asked.body
    wanted = base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()
    assert asked.headers["webhook-signature"] == f"v1,{wanted}"
    body = json.loads(asked.body)
    assert body["type"] == "job.failure"
    assert (body["job"], body["exit_code"], body["error"]) == ("ops/backup", 3, "disk full")


def test_the_signature_is_that_of_the_standard() -> None:
    """The example of the Standard Webhooks libraries, as their tests have it."""
    keys = read_keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "secret")
    at = datetime.fromtimestamp(1614265330, UTC)
    headers = signed("msg_p5jXN8AQM9LWM0D4loKWxJek", at, b'{"test": 2432232314}', keys)

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_two_secrets_while_they_are_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPS_SECRET", f"{SECRET} whsec_{base64.b64encode(KEY[::-1]).decode()}")
    with web_server() as server:
        assert send(server, monkeypatch=monkeypatch, secret=REFERENCE) == SENT

    assert server.asked[0].headers["webhook-signature"].count("v1,") == 2


@pytest.mark.parametrize(
    "text", ["hunter2hunter2hunter2hunter2hunter2", "whsec_", "whsec_!!", "whsec_c2hvcnQ="]
)
def test_a_secret_that_is_no_key_is_refused_and_not_shown(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPS_SECRET", text)
    with web_server() as server:
        said = send(server, monkeypatch=monkeypatch, secret=REFERENCE)

    assert said.fate is Fate.REFUSED
    assert text not in said.reason or text == "whsec_"
    assert server.connections == 0


@pytest.mark.parametrize(
    ("answer", "fate", "after"),
    [
        (reply(200), Fate.SENT, None),
        (reply(204), Fate.SENT, None),
        (reply(301, Location="https://example.org/"), Fate.REFUSED, None),
        (reply(400), Fate.REFUSED, None),
        (reply(404), Fate.REFUSED, None),
        (reply(410), Fate.REFUSED, None),
        (reply(408), Fate.AGAIN, None),
        (reply(425), Fate.AGAIN, None),
        (reply(429, Retry_After="120"), Fate.AGAIN, timedelta(seconds=120)),
        (reply(429, Retry_After="0.65"), Fate.AGAIN, timedelta(seconds=0.65)),
        (reply(429, Retry_After="Mon, 16 Nov 2026 02:01:05 GMT"), Fate.AGAIN, timedelta(seconds=60)),
        (reply(429, Retry_After="Sun, 15 Nov 2026 02:01:05 GMT"), Fate.AGAIN, timedelta(0)),
        (reply(429, Retry_After="99999999999999"), Fate.AGAIN, timedelta(hours=1)),
        (reply(429, Retry_After="-5"), Fate.AGAIN, None),
        (reply(429, Retry_After="inf"), Fate.AGAIN, None),
        (reply(429, Retry_After="nan"), Fate.AGAIN, None),
        (reply(429, Retry_After="soon"), Fate.AGAIN, None),
        (reply(500), Fate.AGAIN, None),
        (reply(503, Retry_After="7"), Fate.AGAIN, timedelta(seconds=7)),
        (b"", Fate.AGAIN, None),
    ],
)
def test_what_the_server_says_decides(
    answer: bytes, fate: Fate, after: timedelta | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with web_server(answer) as server:
        said = send(server, monkeypatch=monkeypatch)

    assert (said.fate, said.after) == (fate, after)


def test_what_the_server_says_is_told_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    echo = f"no such hook /hook/s3cret?token=c4nary, {SECRET}\r\n\x1b[31m".encode()
    with web_server(reply(403, echo)) as server:
        said = send(server, monkeypatch=monkeypatch, secret=REFERENCE)

    assert said.reason == "env:OPS_WEBHOOK answers 403 (no such hook ***, *** [31m)"

    with web_server(reply(403, b"bad token c4nary for s3cret")) as server:
        said = send(server, monkeypatch=monkeypatch)
    assert said.reason == "env:OPS_WEBHOOK answers 403 (bad token *** for ***)"


def test_a_server_that_hangs_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(connection: socket.socket) -> None:
        connection.recv(1)

    with web_server(hang) as server:
        said = send(server, monkeypatch=monkeypatch, deadline=timedelta(seconds=0.2))

    assert said.fate is Fate.AGAIN
    assert said.reason == "env:OPS_WEBHOOK gives no answer within 0.2 s"


def test_only_an_operators_channel_reaches_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server() as server:
        said = send(server, monkeypatch=monkeypatch, trusted=False)
        assert said.fate is Fate.REFUSED
        assert "is not encrypted" in said.reason

        server.url = server.url.replace("http:", "https:")
        said = send(server, monkeypatch=monkeypatch, trusted=False)
        assert said.fate is Fate.REFUSED
        assert "127.0.0.1 leads to this host" in said.reason

    assert server.connections == 0


def test_tls_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate: Certificate = make_certificate(tmp_path)
    with web_server(tls=certificate.server) as server:
        said = send(server, monkeypatch=monkeypatch)
        assert said.fate is Fate.AGAIN
        assert "certificate that cannot be trusted" in said.reason
        assert server.asked == []
        assert send(server, monkeypatch=monkeypatch, tls=certificate.client) == SENT


def test_several_alerts_are_one_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server() as server:
        assert send(server, many(37), monkeypatch=monkeypatch) == SENT

    body = json.loads(server.asked[0].body)
    assert body["type"] == "digest"
    assert body["title"] == "37 alerts since 2026-11-16 02:00 UTC: 37 failure"
    assert [alert["id"] for alert in body["alerts"]] == [f"al-{n}" for n in range(37)]
    assert server.asked[0].headers["webhook-id"] == body["id"]


@pytest.mark.parametrize("format_", ["json", "slack", "discord", "alertmanager"])
@pytest.mark.parametrize("alerts", [[HOSTILE], [HOSTILE] * 100, [RECOVERY]])
def test_hostile_values_in_every_format(
    format_: str, alerts: list[Alert], monkeypatch: pytest.MonkeyPatch
) -> None:
    with web_server() as server:
        assert send(server, alerts, monkeypatch=monkeypatch, format=format_) == SENT

    asked = server.asked[0]
    assert len(asked.body) < 300_000
    assert "\\u0000" not in asked.body.decode()
    json.loads(asked.body)


def test_a_missing_url_is_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPS_WEBHOOK", raising=False)
    channel = Webhook("env:OPS_WEBHOOK")

    assert channel.missing() == "env:OPS_WEBHOOK is not set on this node"
    assert asyncio.run(channel.send([FAILURE])) == Sent.again("env:OPS_WEBHOOK is not set on this node")


def test_a_reference_that_holds_no_url_shows_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPS_WEBHOOK", "postgres://user:c4nary@db.intern/x")
    said = asyncio.run(Webhook("env:OPS_WEBHOOK").send([FAILURE]))

    assert said.fate is Fate.REFUSED
    assert said.reason == "env:OPS_WEBHOOK holds no URL that can be used: it is no address of the web"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"url": "https://hooks.slack.com/services/T0/B0/c4nary"}, "webhook"),
        ({"url": "https://example.org/hook?token=c4nary"}, "webhook"),
        ({"url": "https://user:c4nary@example.org/"}, "webhook"),
        ({"url": "https://example.org/c4naryc4naryc4nary0123"}, "webhook"),
        ({"url": "nonsense"}, "webhook"),
        ({"url": "http://example.org/", "trusted": False}, "webhook"),
        ({"url": "env:A", "secret": "whsec_c4nary"}, "secret"),
        ({"url": "env:A", "secret": "c4nary"}, "secret"),
        ({"url": "env:A", "format": "xml"}, "format"),
        ({"url": "env:A", "text": "$jobs"}, "text"),
        ({"url": "env:"}, "webhook"),
        ({"url": "file:ops.key"}, "webhook"),
        ({"url": "credential:../ops"}, "webhook"),
    ],
)
def test_what_cannot_be_right_is_refused_at_once(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidChannelError) as caught:
        Webhook(**fields)

    assert caught.value.details["field"] == field
    assert caught.value.hint
    assert "c4nary" not in f"{caught.value}{caught.value.details}"


def test_a_url_without_a_secret_may_stand_in_the_open() -> None:
    assert Webhook("https://example.org/hook").describe() == "webhook https://example.org/…, format json"
