"""Mail: by a server (SMTP with STARTTLS), or by this host's own sendmail."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import ssl
from collections.abc import Sequence
from datetime import timedelta
from email.message import EmailMessage
from typing import NamedTuple

from foliot.alerts.channel import DEADLINE, SENT, Sent
from foliot.alerts.mail_message import mail_of
from foliot.alerts.message import Alert, as_message
from foliot.alerts.process import run_process
from foliot.alerts.rate import Rate
from foliot.alerts.smtp import MailServer, Session
from foliot.alerts.text import check_template, clean
from foliot.errors import InvalidChannelError
from foliot.network.secrets import Secret, SecretMissingError
from foliot.network.thread import in_thread

DEFAULT_SERVER = "FOLIOT_SMTP_URL"
_ADDRESS = re.compile(
    r"[A-Za-z0-9_+=.!#$%&'*/?^`{|}~][A-Za-z0-9_+=.!#$%&'*/?^`{|}~-]*(@[A-Za-z0-9.-]+)?", re.ASCII
)
_LONGEST_ADDRESS = 254
_MOST_RECIPIENTS = 50
_SENDMAIL = "/usr/sbin/sendmail"
_NEVER = frozenset((64, 65, 67, 68, 77, 78))  # of sysexits.h: usage, data, no user, no host, no right, config


class Mail:
    """A channel that sends mail.

    `server` is a reference to the server's URL, such as `env:SMTP_URL`, or a URL without a password. A URL
    looks like smtp://user:password@mail.example.org. Without `server`, the variable `FOLIOT_SMTP_URL` counts;
    without that, the sendmail of this host.
    """

    shows_output = True

    def __init__(  # noqa: PLR0913 - the fields of a configuration
        self,
        *to: str,
        sender: str | None = None,
        server: str | None = None,
        text: str | None = None,
        rate: Rate | None = None,
        sendmail: str | None = None,
        tls: ssl.SSLContext | None = None,
        deadline: timedelta = DEADLINE,
    ) -> None:
        if not 1 <= len(to) <= _MOST_RECIPIENTS:
            raise InvalidChannelError("mail", to, f"must be 1 to {_MOST_RECIPIENTS} addresses", hint=_HINT)
        self._to = tuple(check_address(address, "mail") for address in to)
        self._sender = None if sender is None else check_address(sender, "from")
        self._server = None if server is None else _read_server(server)
        self._text = None if text is None else check_template(text, "text")
        self._sendmail = sendmail
        self._tls = tls
        self._deadline = deadline
        self.rate = rate or Rate()

    def __repr__(self) -> str:
        return f"<Mail {self.describe()}>"

    def describe(self) -> str:
        secret = self._secret()
        return f"mail to {', '.join(self._to)} by {secret.reference if secret else 'sendmail'}"

    def missing(self) -> str | None:
        secret = self._secret()
        if secret is not None:
            return secret.missing()
        return (
            None if self._program() else "there is no sendmail on this node, and FOLIOT_SMTP_URL is not set"
        )

    async def send(self, messages: Sequence[Alert]) -> Sent:
        sender = self._sender or f"foliot@{socket.gethostname()}"
        mail = mail_of(as_message(messages), sender, self._to, self._text)
        secret = self._secret()
        if secret is None:
            return await self._by_sendmail(mail, sender)
        try:
            server = MailServer.read(secret.value(), secret.reference)
        except SecretMissingError as error:
            return Sent.again(str(error))
        except InvalidChannelError as error:
            return Sent.refused(error.message)
        session = Session(server, mail, sender, self._to, self._tls, self._deadline.total_seconds())
        try:
            async with asyncio.timeout(self._deadline.total_seconds()):
                return await in_thread(session.run, session.abandon, "foliot-mail")
        except TimeoutError:
            return Sent.again(f"the mail server gives no answer within {self._deadline.total_seconds():g} s")

    async def _by_sendmail(self, mail: EmailMessage, sender: str) -> Sent:
        program = self._program()
        if program is None:
            return Sent.again(self.missing() or "there is no sendmail")
        try:
            ended = await run_process(
                [program, "-i", "-f", sender, "--", *self._to], _local_lines(mail), self._deadline
            )
        except OSError as error:
            return Sent.again(f"sendmail cannot be started ({error.strerror})")
        if ended.code == 0:
            return SENT
        if ended.code is None:
            return Sent.again(f"sendmail did not end within {self._deadline.total_seconds():g} s")
        reason = f"sendmail ended with exit code {ended.code} ({clean(ended.output, 200)})"
        return Sent.refused(reason) if ended.code in _NEVER else Sent.again(reason)

    def _secret(self) -> Secret | _PlainServer | None:
        return self._server or (Secret(f"env:{DEFAULT_SERVER}") if os.environ.get(DEFAULT_SERVER) else None)

    def _program(self) -> str | None:
        return shutil.which(self._sendmail or _SENDMAIL) or shutil.which("sendmail")


_HINT = "such as ops@example.org"


class _PlainServer(NamedTuple):
    """A server whose URL is no secret."""

    reference: str

    def value(self) -> str:
        return self.reference

    def missing(self) -> None:
        return None


def _read_server(text: str) -> Secret | _PlainServer:
    is_url = str(text).startswith(("smtp://", "smtps://"))
    if is_url and MailServer.read(text, "***").user is None and "@" not in text:
        return _PlainServer(text)
    return Secret.read(text, "server")


def check_address(text: object, field: str) -> str:
    """An address, or the name of a local user. InvalidChannelError if it is none."""
    if isinstance(text, str) and len(text) <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(text):
        return text
    raise InvalidChannelError(field, text, "is no mail address", hint=_HINT)


def _local_lines(mail: EmailMessage) -> bytes:
    """The mail as programs of this host read it: lines end with a line feed."""
    return mail.as_bytes().replace(b"\r\n", b"\n")
