from __future__ import annotations

import os
from pathlib import Path

import pytest

from foliot.errors import InvalidChannelError
from foliot.network.secrets import Secret, SecretMissingError, check_literal_url, mask


def test_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Secret.read("env:OPS_KEY", "secret")
    monkeypatch.delenv("OPS_KEY", raising=False)
    assert secret.missing() == "env:OPS_KEY is not set on this node"

    monkeypatch.setenv("OPS_KEY", " c4nary\n")
    assert secret.value() == "c4nary"
    assert secret.missing() is None
    assert "c4nary" not in repr(secret)


def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "ops.key"
    secret = Secret.read(f"file:{file}", "secret")
    assert secret.missing() == f"file:{file} is no file on this node"
    file.write_text("c4nary\n")
    assert secret.value() == "c4nary"
    file.write_text("other")
    assert secret.value() == "other"
    file.write_text("\n")
    assert secret.missing() == f"file:{file} is empty on this node"
    file.write_bytes(b"\xff\xfe")
    assert secret.missing() == f"file:{file} cannot be read on this node: it is no text"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(SecretMissingError):
        Secret.read(f"file:{tmp_path}/pipe", "secret").value()


def test_a_credential_of_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Secret.read("credential:ops", "secret")
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert secret.missing() == "credential:ops is not there: systemd hands this process none"

    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / "ops").write_text("c4nary")
    assert secret.value() == "c4nary"


@pytest.mark.parametrize(
    "text", ["c4nary", "whsec_c4nary", "env:", "env:A B", "env:A=B", "file:", "file:relative",
             "credential:../x",
             "credential:", "credential:a/b", "https://c4nary@example.org/c4nary", 5, None, ["c4nary"]]
)  # fmt: skip
def test_what_is_no_reference(text: object) -> None:
    with pytest.raises(InvalidChannelError) as caught:
        Secret.read(text, "channels.ops.secret")

    assert "channels.ops.secret" in str(caught.value)
    assert caught.value.hint
    assert "c4nary" not in f"{caught.value}{caught.value.details}"


@pytest.mark.parametrize(
    ("url", "is_secret"),
    [
        ("https://hooks.slack.com/services/T0/B0/XXXX", True),
        ("https://HOOKS.slack.com/services/T0/B0/XXXX", True),
        ("https://discord.com/api/webhooks/1/x", True),
        ("https://contoso.webhook.office.com/x", True),
        ("https://hc-ping.com/x", True),
        ("https://example.org/x?sig=1", True),
        ("https://example.org/x?api_key=1", True),
        ("https://u:p@example.org/", True),
        ("https://example.org/hook/550e8400-e29b-41d4-a716-446655440000", True),
        ("https://example.org/hook", False),
        ("https://alertmanager.example.org/api/v2/alerts", False),
        ("https://example.org/teams/operations-and-infrastructure", False),
        ("https://notslack.com/x", False),
    ],
)
def test_urls_that_look_like_secrets(url: str, is_secret: bool) -> None:  # noqa: FBT001
    if is_secret:
        with pytest.raises(InvalidChannelError, match="URL with a secret in it"):
            check_literal_url(url, "webhook")
    else:
        check_literal_url(url, "webhook")


def test_masking() -> None:
    assert mask("a c4nary b", "c4nary") == "a *** b"
    assert mask("c4nary-long c4nary", "c4nary", "c4nary-long") == "*** ***"
    assert mask("a short one", "a", "") == "a short one"
