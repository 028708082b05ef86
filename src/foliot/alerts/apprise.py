"""Apprise: a library for a hundred services. A short-lived process imports it for each message.

The library takes half a second and 46 MB to import, so the daemon never imports it. Its requests do not pass
our guard: only an operator may define such a channel.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec

from foliot.alerts.channel import DEADLINE, SENT, Sent
from foliot.alerts.message import Alert, AlertKind, Digest, as_message
from foliot.alerts.process import run_process
from foliot.alerts.rate import Rate
from foliot.alerts.text import check_template, clean, text_of, title_of
from foliot.network.secrets import Secret, SecretMissingError, mask

NOT_INSTALLED, BAD_URL, NOT_SENT = 3, 4, 5
_MISSING = "the library apprise is not installed on this node: pip install foliot[apprise]"
# The texts are sent as plain text: the service must not interpret markup that a job wrote.
_PROGRAM = f"""
import json, sys
try:
    from apprise import Apprise, NotifyFormat
except ImportError:
    sys.exit({NOT_INSTALLED})
asked = json.load(sys.stdin)
sender = Apprise()
if not all([sender.add(url) for url in asked["urls"]]):
    sys.exit({BAD_URL})
sent = sender.notify(
    title=asked["title"], body=asked["body"], notify_type=asked["type"], body_format=NotifyFormat.TEXT
)
sys.exit(0 if sent else {NOT_SENT})
"""


class Apprise:
    """A channel by the library Apprise (`pip install foliot[apprise]`); `url` is a reference to its URLs."""

    def __init__(
        self, url: str, *, text: str | None = None, rate: Rate | None = None, deadline: timedelta = DEADLINE
    ) -> None:
        self._secret = Secret.read(url, "apprise")
        self._text = None if text is None else check_template(text, "text")
        self._deadline = deadline
        self.rate = rate or Rate()

    def __repr__(self) -> str:
        return f"<Apprise {self.describe()}>"

    def describe(self) -> str:
        return f"apprise {self._secret.reference}"

    def missing(self) -> str | None:
        return self._secret.missing() or (None if find_spec("apprise") else _MISSING)

    async def send(self, messages: Sequence[Alert]) -> Sent:
        try:
            urls = self._secret.value().split()
        except SecretMissingError as error:
            return Sent.again(str(error))
        message = as_message(messages)
        lines = text_of(message, template=self._text)
        asked = {"urls": urls, "title": title_of(message), "body": lines, "type": _type_of(message)}
        command = [sys.executable, "-I", "-c", _PROGRAM]
        try:
            ended = await run_process(command, json.dumps(asked).encode(), self._deadline)
        except OSError as error:
            return Sent.again(f"the process for apprise cannot be started ({error.strerror})")
        if ended.code == NOT_INSTALLED:
            return Sent.again(_MISSING)
        if ended.code == BAD_URL:
            return Sent.refused(f"{self._secret.reference} holds a URL that apprise does not know")
        if ended.code is None:
            return Sent.again(f"apprise did not end within {self._deadline.total_seconds():g} s")
        said = clean(mask(ended.output, *urls, *(part for url in urls for part in url.split("/"))), 200)
        return SENT if ended.code == 0 else Sent.again(f"apprise could not send ({said})")


def _type_of(message: Alert | Digest) -> str:
    if isinstance(message, Digest):
        return "warning"
    return {AlertKind.RECOVERY: "success", AlertKind.FAILURE: "failure", AlertKind.OUTPUT: "info"}.get(
        message.kind, "warning"
    )
