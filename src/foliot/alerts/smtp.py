"""A mail server: where it is, and one session with it."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from foliot.alerts.channel import SENT, Sent
from foliot.alerts.text import clean
from foliot.errors import InvalidChannelError
from foliot.network.secrets import mask

_PORTS = {"smtp": 587, "smtps": 465}
_HINT = "such as smtp://user:password@mail.example.org:587, or smtps:// for TLS from the first byte"
_FOR_GOOD = 500  # codes from here on mean: do not try again


class MailServer(NamedTuple):
    """A server, and how to speak with it: `starttls`, `tls` from the first byte, or `none`."""

    host: str
    port: int
    security: str
    user: str | None
    password: str

    @classmethod
    def read(cls, text: str, shown: str) -> MailServer:
        """Read smtp://user:password@host:port, perhaps with ?tls=none. Errors show `shown`, not the URL."""
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        is_plain = options.pop("tls", "starttls") == "none"
        if parts.scheme not in _PORTS or not host or options or parts.path not in ("", "/"):
            raise InvalidChannelError("server", shown, "holds no URL of a mail server", hint=_HINT)
        security = "tls" if parts.scheme == "smtps" else "none" if is_plain else "starttls"
        user = unquote(parts.username) if parts.username else None
        return cls(host, port or _PORTS[parts.scheme], security, user, unquote(parts.password or ""))


@dataclass(slots=True)
class Session:
    """One mail to one server, in a thread."""

    server: MailServer
    mail: EmailMessage
    sender: str
    to: Sequence[str]
    tls: ssl.SSLContext | None
    patience: float  # seconds that a single step may take; the caller has a deadline for all
    _smtp: smtplib.SMTP | None = field(default=None, init=False)

    def run(self) -> Sent:
        """Send the mail, and return the result."""
        try:
            return self._send()
        except smtplib.SMTPNotSupportedError:
            hint = "give it ?tls=none if its network can be trusted"
            return Sent.refused(f"the mail server offers no STARTTLS, or no login: {hint}")
        except smtplib.SMTPRecipientsRefused as error:
            return self._answered(*_mildest(error.recipients))
        except smtplib.SMTPResponseException as error:
            return self._answered(error.smtp_code, error.smtp_error)
        except (OSError, ValueError, smtplib.SMTPException) as error:
            return Sent.again(f"the mail server gives no valid answer ({_told(error)})")

    def abandon(self) -> None:
        """Let the thread end, wherever it waits."""
        connection = None if self._smtp is None else self._smtp.sock
        if connection is not None:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def _send(self) -> Sent:
        server = self.server
        with self._connect() as smtp:
            self._smtp = smtp
            if server.security == "starttls":
                smtp.starttls(context=self._context())
            if server.user is not None:
                smtp.login(server.user, server.password)
            refused = smtp.send_message(self.mail, self.sender, self.to)
        if refused:
            some = ", ".join(sorted(refused))
            return SENT._replace(reason=clean(f"the mail server refused some recipients: {some}"))
        return SENT

    def _connect(self) -> smtplib.SMTP:
        host, port = self.server.host, self.server.port
        here = socket.gethostname()  # smtplib would ask the name server
        if self.server.security == "tls":
            return smtplib.SMTP_SSL(
                host, port, local_hostname=here, timeout=self.patience, context=self._context()
            )
        return smtplib.SMTP(host, port, local_hostname=here, timeout=self.patience)

    def _context(self) -> ssl.SSLContext:
        return self.tls or ssl.create_default_context()

    def _answered(self, code: int, said: bytes | str) -> Sent:
        text = said.decode(errors="replace") if isinstance(said, bytes) else said
        shown = mask(clean(text, 200), self.server.password, self.server.user or "")
        reason = f"the mail server answers {code} ({shown})"
        return Sent.refused(reason) if code >= _FOR_GOOD else Sent.again(reason)


def _mildest(refused: dict[str, tuple[int, bytes]]) -> tuple[int, bytes]:
    """The mildest refusal: if one recipient may be accepted later, the mail is tried again."""
    return min(refused.values(), key=lambda answer: answer[0])


def _told(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted: {error.verify_message}"
    return getattr(error, "strerror", None) or type(error).__name__
