"""An alert as a mail: its headers keep the mails of one episode together."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from foliot.alerts.message import Alert, AlertKind, Message
from foliot.alerts.text import clean, text_of, title_of

_LAST_LINES = 50
_LONGEST_OUTPUT = 20_000


def mail_of(message: Message, sender: str, to: Sequence[str], template: str | None = None) -> EmailMessage:
    """The mail of a message. The same message gives the same mail."""
    mail = EmailMessage(policy=SMTP)
    mail["From"] = f"Foliot <{sender}>"
    mail["To"] = ", ".join(to)
    mail["Subject"] = title_of(message)
    mail["Date"] = format_datetime(message.at)
    mail["Message-ID"] = _message_id(message)
    if (first := _first_of(message)) is not None and first != mail["Message-ID"]:
        mail["In-Reply-To"] = first
        mail["References"] = first
    mail["Auto-Submitted"] = "auto-generated"  # vacation programs do not answer
    mail["X-Auto-Response-Suppress"] = "All"
    mail.set_content(_body(message, template))
    return mail


def _message_id(message: Message) -> str:
    first = _first_of(message)
    is_first = isinstance(message, Alert) and not message.reminder and message.kind is not AlertKind.RECOVERY
    return first if first is not None and is_first else _id(message.id)


def _first_of(message: Message) -> str | None:
    """The id of the first mail of an episode: every later one can compute it."""
    if isinstance(message, Alert) and message.episode is not None:
        return _id(f"{message.job}\n{message.episode}")
    return None


def _id(text: str) -> str:
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]
    return f"<{digest}@alerts.foliot.invalid>"


def _body(message: Message, template: str | None) -> str:
    parts = [text_of(message, template=template)]
    if isinstance(message, Alert):
        if message.output and message.output.strip():
            lines = clean(message.output[-_LONGEST_OUTPUT:], _LONGEST_OUTPUT, keep_lines=True).splitlines()
            parts.append("\n".join(["The end of its output:", "", *lines[-_LAST_LINES:]]))
        if message.run:
            parts.append(f"Read all of it: foliot run logs {shlex.quote(clean(message.run))}")
    return "\n\n".join(parts) + "\n"
