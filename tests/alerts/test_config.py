from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot import alerts
from foliot.alerts import Rate, read_channels
from foliot.errors import InvalidChannelError

GOOD: dict[str, dict[str, Any]] = {
    "ops": {
        "webhook": "env:OPS_WEBHOOK",
        "format": "slack",
        "secret": "file:/etc/foliot/ops.key",
        "text": "$job: $why",
        "rate": {"messages": 5, "within": "1h30m"},
    },
    "admins": {"mail": ["ops@example.org", "root"], "from": "cron@example.org", "server": "credential:smtp"},
    "one": {"mail": "ops@example.org"},
    "script": {"command": "./notify.sh"},
    "hc": {"ping": "env:HC", "style": "cronitor"},
    "chat": {"apprise": "env:CHAT", "text": "$job", "rate": {"messages": 3}},
}


def test_every_kind_of_channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOLIOT_SMTP_URL", raising=False)
    channels = read_channels(GOOD, trusted=True, folder=tmp_path)

    assert {name: channel.describe() for name, channel in channels.items()} == {
        "ops": "webhook env:OPS_WEBHOOK, format slack, signed with file:/etc/foliot/ops.key",
        "admins": "mail to ops@example.org, root by credential:smtp",
        "one": "mail to ops@example.org by sendmail",
        "script": "command ./notify.sh",
        "hc": "ping env:HC, style cronitor",
        "chat": "apprise env:CHAT",
    }
    assert channels["ops"].rate == Rate(5, timedelta(hours=1, minutes=30))
    assert channels["chat"].rate == Rate(3)
    assert channels["one"].rate == Rate()
    assert channels["hc"].rate is None


@pytest.mark.parametrize(
    ("entry", "field", "words"),
    [
        ({}, "channels.ops", "one of: webhook, mail, command, ping, apprise"),
        ("env:X", "channels.ops", "mapping of fields"),
        ({"webhook": "env:A", "mail": "a@b"}, "channels.ops", "webhook and mail at once"),
        ({"webhook": "env:A", "fromat": "slack"}, "channels.ops.fromat", "did you mean format?"),
        ({"webhook": "env:A", "colour": "c4nary"}, "channels.ops.colour", "the fields are webhook, format"),
        ({"webhook": "env:A", "format": "xml"}, "channels.ops.format", "invalid channels.ops.format xml"),
        ({"webhook": "env:A", "format": ["slack"]}, "channels.ops.format", "must be a text"),
        ({"webhook": 5}, "channels.ops.webhook", "must be a text"),
        ({"webhook": "c4nary"}, "channels.ops.webhook", "is no address of the web"),
        ({"webhook": "c4nary://c4nary"}, "channels.ops.webhook", "is no address of the web"),
        ({"webhook": None}, "channels.ops.webhook", "must be a text"),
        ({"webhook": "https://hooks.slack.com/c4nary"}, "channels.ops.webhook", "env:NAME, file:/path"),
        ({"webhook": "env:A", "secret": "whsec_c4nary"}, "channels.ops.secret", "env:NAME, file:/path"),
        ({"webhook": "env:A", "text": "$nope"}, "channels.ops.text", "names $nope"),
        ({"webhook": "env:A", "rate": 5}, "channels.ops.rate", "messages: 20"),
        ({"webhook": "env:A", "rate": {"messages": 0}}, "channels.ops.rate.messages", "at least 1"),
        ({"webhook": "env:A", "rate": {"messages": True}}, "channels.ops.rate.messages", "at least 1"),
        (
            {"webhook": "env:A", "rate": {"within": "10 minutes"}},
            "channels.ops.rate.within",
            "cannot be read",
        ),
        ({"webhook": "env:A", "rate": {"within": 600}}, "channels.ops.rate.within", "such as 10m"),
        ({"webhook": "env:A", "rate": {"within": "0s"}}, "channels.ops.rate.within", "longer than nothing"),
        ({"mail": []}, "channels.ops.mail", "1 to 50 addresses"),
        ({"mail": [5]}, "channels.ops.mail", "is no mail address"),
        ({"mail": "a@b", "from": "x y"}, "channels.ops.from", "is no mail address"),
        ({"mail": "a@b", "server": "smtp://u:c4nary@h"}, "channels.ops.server", "env:NAME, file:/path"),
        ({"command": ""}, "channels.ops.command", "must be a text of"),
        ({"command": ["a"]}, "channels.ops.command", "must be a text"),
        ({"ping": "env:A", "style": "nagios"}, "channels.ops.style", "healthchecks, cronitor, plain"),
        ({"ping": "env:A", "rate": {}}, "channels.ops.rate", "no field"),
        ({"apprise": "tgram://c4nary"}, "channels.ops.apprise", "env:NAME, file:/path"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(entry: object, field: str, words: str) -> None:
    with pytest.raises(InvalidChannelError) as caught:
        read_channels({"ops": entry}, trusted=True)

    error = caught.value
    assert error.details["field"] == field
    assert words in f"{error} {error.hint}"
    assert "c4nary" not in f"{error}{error.details}{error.hint}"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"apprise": "env:A"}, "by the operator"),
        ({"mail": "a@b", "server": "env:A"}, "by the operator"),
        ({"webhook": "http://example.org/hook"}, "is not encrypted"),
        ({"ping": "http://example.org/hook"}, "is not encrypted"),
    ],
)
def test_what_only_the_operator_may_say(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidChannelError, match=words):
        read_channels({"ops": entry}, trusted=False)
    assert read_channels({"ops": entry}, trusted=True)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ö", "x" * 65, 5, None])
def test_names_that_are_refused(name: object) -> None:
    with pytest.raises(InvalidChannelError, match="cannot name a channel"):
        read_channels({name: {"command": "true"}}, trusted=True)


@pytest.mark.parametrize("channels", [None, [], "ops", {f"c{n}": {"command": "x"} for n in range(101)}])
def test_what_is_no_mapping_of_channels(channels: object) -> None:
    with pytest.raises(InvalidChannelError):
        read_channels(channels, trusted=True)


_WORDS = st.sampled_from(
    ["webhook", "mail", "command", "ping", "apprise", "format", "rate", "messages", "within", "text", "x"]
)
_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["env:A", "a@b", "$x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
)


@given(st.dictionaries(_WORDS, _PLAIN, max_size=3), st.booleans())
def test_plain_data_is_read_or_refused_and_never_crashes(entry: dict[str, Any], trusted: bool) -> None:  # noqa: FBT001
    try:
        channels = read_channels({"ops": entry}, trusted=trusted)
    except InvalidChannelError as error:
        assert error.details["field"].startswith("channels.ops")  # noqa: PT017 - either is right
    else:
        assert channels["ops"].describe()


def test_the_public_names() -> None:
    assert sorted(alerts.__all__) == [
        "Apprise", "Command", "Mail", "Ping", "Rate", "Webhook", "read_channels",
    ]  # fmt: skip
    assert all(hasattr(alerts, name) for name in alerts.__all__)
    with pytest.raises(AttributeError):
        alerts.Nonsense  # noqa: B018 - it is looked up


def test_the_value_of_an_alert_costs_no_mail_and_no_web() -> None:
    parts = "{'smtplib', 'http.client', 'foliot.network'}"
    code = f"import sys, foliot.alerts.message; print({parts} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.strip() == "set()"
