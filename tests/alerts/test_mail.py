from __future__ import annotations

import asyncio
import email
import email.policy
import socket
import stat
import threading
from collections.abc import Iterator
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult, LoginPassword
from hypothesis import given
from hypothesis import strategies as st

from alerts.sample import FAILURE, HOSTILE, RECOVERY, many
from foliot.alerts.channel import SENT, Fate, Sent
from foliot.alerts.mail import Mail
from foliot.alerts.mail_message import mail_of
from foliot.alerts.message import Alert, as_message
from foliot.alerts.smtp import MailServer
from foliot.errors import InvalidChannelError
from mail_server import Inbox, mail_server
from web_server import Certificate, make_certificate


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


def check_login(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
    is_right = isinstance(data, LoginPassword) and (data.login, data.password) == (b"me", b"p@ss/c4nary")
    return AuthResult(success=is_right, handled=False)


@pytest.fixture
def starttls(inbox: Inbox, certificate: Certificate) -> Iterator[int]:
    login: dict[str, Any] = {"authenticator": check_login, "auth_required": True}
    with mail_server(inbox, tls_context=certificate.server, require_starttls=True, **login) as port:
        yield port


@pytest.fixture
def plain(inbox: Inbox) -> Iterator[int]:
    with mail_server(inbox) as port:
        yield port


def send(channel: Mail, *alerts: Alert) -> Sent:
    said = asyncio.run(channel.send(alerts or [FAILURE]))
    assert "c4nary" not in f"{said}{channel!r}{channel.describe()}"
    return said


def test_mail_by_starttls_and_login(
    inbox: Inbox, starttls: int, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP", f"smtp://me:p%40ss%2Fc4nary@localhost:{starttls}")
    channel = Mail(
        "ops@example.org", "root", server="env:SMTP", sender="cron@example.org", tls=certificate.client
    )

    assert send(channel) == SENT

    ((sender, to, mail),) = inbox.mails
    assert (sender, to) == ("cron@example.org", ["ops@example.org", "root"])
    assert mail["Subject"] == "Backup failed (2 in a row)"
    assert mail["From"] == "Foliot <cron@example.org>"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert "all 3 attempts failed" in mail.get_content()
    assert "foliot run logs ops/backup@2026-11-16T02:00:00Z" in mail.get_content()


def test_a_wrong_password_is_refused(
    starttls: int, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP", f"smtp://me:wrong-c4nary@localhost:{starttls}")

    said = send(Mail("ops@example.org", server="env:SMTP", tls=certificate.client))

    assert said.fate is Fate.REFUSED
    assert "535" in said.reason


def test_a_certificate_that_is_not_trusted(starttls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP", f"smtp://me:p%40ss%2Fc4nary@localhost:{starttls}")

    said = send(Mail("ops@example.org", server="env:SMTP"))

    assert said.fate is Fate.AGAIN
    assert "certificate cannot be trusted" in said.reason


def test_the_host_of_a_certificate_is_checked(
    starttls: int, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP", f"smtp://127.0.0.1:{starttls}")

    said = send(Mail("ops@example.org", server="env:SMTP", tls=certificate.client))

    assert "certificate cannot be trusted" in said.reason


def test_without_starttls_nothing_is_sent_unless_the_url_says_so(
    inbox: Inbox, plain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP", f"smtp://localhost:{plain}")
    said = send(Mail("ops@example.org", server="env:SMTP"))
    assert said.fate is Fate.REFUSED
    assert "STARTTLS" in said.reason
    assert inbox.mails == []

    monkeypatch.setenv("SMTP", f"smtp://localhost:{plain}?tls=none")
    assert send(Mail("ops@example.org", server="env:SMTP")) == SENT


def test_tls_from_the_first_byte(
    inbox: Inbox, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mail_server(inbox, tls=certificate.server) as port:
        monkeypatch.setenv("SMTP", f"smtps://localhost:{port}")
        assert send(Mail("ops@example.org", server="env:SMTP", tls=certificate.client)) == SENT
    assert len(inbox.mails) == 1


@pytest.mark.parametrize(
    ("answer", "fate"), [("451 later", Fate.AGAIN), ("554 never", Fate.REFUSED), ("250 OK", Fate.SENT)]
)
def test_the_servers_answer_decides(
    answer: str, fate: Fate, inbox: Inbox, plain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox.answer = answer
    monkeypatch.setenv("FOLIOT_SMTP_URL", f"smtp://localhost:{plain}?tls=none")

    assert send(Mail("ops@example.org")).fate is fate


@pytest.mark.parametrize(
    ("to", "answer", "fate"),
    [
        (["bad@example.org"], "550 no such user", Fate.REFUSED),
        (["bad@example.org"], "450 greylisted", Fate.AGAIN),
        (["bad@example.org", "ops@example.org"], "550 no such user", Fate.SENT),
    ],
)
def test_recipients_that_the_server_refuses(
    to: list[str], answer: str, fate: Fate, *, inbox: Inbox, plain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox.answer_to_bad = answer
    monkeypatch.setenv("SMTP", f"smtp://localhost:{plain}?tls=none")

    said = send(Mail(*to, server="env:SMTP"))

    assert said.fate is fate
    assert "bad@example.org" in said.reason or "user" in said.reason or "grey" in said.reason


def test_a_server_that_hangs_and_one_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setenv("SMTP", f"smtp://127.0.0.1:{port}")
        said = send(Mail("ops@example.org", server="env:SMTP", deadline=timedelta(seconds=0.3)))
        assert said == Sent.again("the mail server gives no answer within 0.3 s")

    assert send(Mail("ops@example.org", server="env:SMTP")).fate is Fate.AGAIN
    for thread in threading.enumerate():
        if thread.name == "foliot-mail":
            thread.join(60)


@pytest.mark.parametrize(
    "url",
    [
        "c4nary",
        "http://c4nary",
        "smtp://",
        "smtp://h:99999",
        "smtp://h/c4nary",
        "smtp://h?a=b",
        "smtp://[::1",
    ],
)
def test_what_is_no_mail_server(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidChannelError):
        MailServer.read(url, "env:SMTP")
    monkeypatch.setenv("SMTP", url)

    assert send(Mail("ops@example.org", server="env:SMTP")).fate is Fate.REFUSED


def make_sendmail(folder: Path, exit_code: int = 0, then: str = "") -> str:
    program = folder / "sendmail"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {folder}/args\ncat > {folder}/mail\n{then}\nexit {exit_code}\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOLIOT_SMTP_URL", raising=False)


@pytest.mark.usefixtures("no_server")
def test_mail_by_sendmail(tmp_path: Path) -> None:
    channel = Mail("root", "ops@example.org", sender="cron@example.org", sendmail=make_sendmail(tmp_path))

    assert send(channel) == SENT
    assert channel.describe() == "mail to root, ops@example.org by sendmail"
    assert (tmp_path / "args").read_text() == "-i -f cron@example.org -- root ops@example.org\n"
    content = (tmp_path / "mail").read_bytes()
    assert b"\r" not in content
    mail = email.message_from_bytes(content, policy=email.policy.default)
    assert mail["To"] == "root, ops@example.org"


@pytest.mark.usefixtures("no_server")
@pytest.mark.parametrize(("code", "fate"), [(75, Fate.AGAIN), (1, Fate.AGAIN), (67, Fate.REFUSED)])
def test_a_sendmail_that_fails(code: int, fate: Fate, tmp_path: Path) -> None:
    assert send(Mail("root", sendmail=make_sendmail(tmp_path, code))).fate is fate


@pytest.mark.usefixtures("no_server")
def test_a_sendmail_that_hangs_is_ended(tmp_path: Path) -> None:
    channel = Mail("root", sendmail=make_sendmail(tmp_path, then="sleep 600"), deadline=timedelta(seconds=1))

    assert send(channel) == Sent.again("sendmail did not end within 1 s")


@pytest.mark.usefixtures("no_server")
def test_a_host_without_sendmail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    channel = Mail("root", sendmail="/nonexistent/sendmail")

    assert "there is no sendmail on this node" in (channel.missing() or "")
    assert send(channel).fate is Fate.AGAIN


def test_the_mails_of_an_episode_belong_together() -> None:
    def mail(alert: Alert) -> EmailMessage:
        return mail_of(alert, "a@b", ["c@d"])

    first = mail(FAILURE)
    reminder = mail(FAILURE._replace(id="al-9", reminder=1))
    recovery = mail(RECOVERY)
    other = mail(FAILURE._replace(id="al-5", episode="e2"))

    assert first["In-Reply-To"] is None
    assert reminder["In-Reply-To"] == recovery["In-Reply-To"] == first["Message-ID"]
    assert len({m["Message-ID"] for m in (first, reminder, recovery, other)}) == 4
    assert mail(FAILURE).as_bytes().splitlines()[:8] == first.as_bytes().splitlines()[:8]
    digest = mail_of(as_message(many(7)), "a@b", ["c@d"])
    assert digest["Subject"] == "7 alerts since 2026-11-16 02:00 UTC: 7 failure"
    assert digest["In-Reply-To"] is None


def test_hostile_values_stay_in_their_place() -> None:
    raw = mail_of(HOSTILE, "a@b", ["c@d"]).as_bytes()
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(mail, EmailMessage)

    assert mail["Bcc"] is None
    assert len(raw) < 100_000
    assert max(map(len, raw.splitlines())) < 999
    content = mail.get_content()
    assert "\x1b" not in content
    assert "\x00" not in content


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_value_adds_a_header_or_breaks_a_line(title: str, output: str) -> None:
    alert = FAILURE._replace(title=title, why=title, error=title, output=output, run=title, id=title)

    raw = mail_of(alert, "a@example.org", ["c@example.org"]).as_bytes()

    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert sorted(mail.keys()) == sorted([
        "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "X-Auto-Response-Suppress",
        "MIME-Version", "Content-Type", "Content-Transfer-Encoding",
    ])  # fmt: skip
    assert b"\r" not in raw.replace(b"\r\n", b"")
    assert max(map(len, raw.split(b"\r\n"))) < 999


def test_of_an_output_the_last_50_lines_are_shown() -> None:
    output = "\n".join(f"line {n}" for n in range(1000))
    content = mail_of(FAILURE._replace(output=output), "a@b", ["c@d"]).get_content()

    assert "line 950\n" in content
    assert "line 999\n" in content
    assert "line 949\n" not in content


@pytest.mark.parametrize(
    "address", ["", "a b@c", "a@b\r\nBcc: x", "a@b,c@d", "<a@b>", "-oQ/tmp", "a@b@c", "ö@b", "a@" + "b" * 300]
)
def test_addresses_that_are_refused(address: str) -> None:
    for fields in ({}, {"sender": address}):
        with pytest.raises(InvalidChannelError, match="is no mail address"):
            Mail(*(["ops@example.org"] if fields else [address]), **fields)  # type: ignore[arg-type]


def test_recipients_are_needed_and_bounded() -> None:
    for count in (0, 51):
        with pytest.raises(InvalidChannelError):
            Mail(*["a@b"] * count)
