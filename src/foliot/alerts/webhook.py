"""Webhooks: an alert is an HTTP request, signed as Standard Webhooks says."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from datetime import timedelta

from foliot.alerts.channel import DEADLINE, Sent
from foliot.alerts.endpoint import Endpoint
from foliot.alerts.formats import FORMATS
from foliot.alerts.message import Alert, as_message
from foliot.alerts.rate import Rate
from foliot.alerts.sender import HttpSender
from foliot.alerts.text import check_template
from foliot.clock import SystemClock
from foliot.errors import InvalidChannelError
from foliot.network.http import Request
from foliot.network.secrets import Secret, SecretMissingError
from foliot.network.signature import read_keys, signed
from foliot.protocols import Clock


class Webhook:
    """A channel that posts to a URL.

    `url` and `secret` are references such as `env:OPS_WEBHOOK`. A URL that contains no secret may be given
    directly. `format` is `json`, `slack`, `discord` or `alertmanager`. `text` is a text such as
    "$job: $why". Only an operator's channel (`trusted`) may use http and private addresses.
    """

    def __init__(  # noqa: PLR0913 - the fields of a configuration
        self,
        url: str,
        *,
        format: str = "json",  # noqa: A002 - the word of the configuration
        secret: str | None = None,
        text: str | None = None,
        rate: Rate | None = None,
        trusted: bool = True,
        clock: Clock | None = None,
        tls: ssl.SSLContext | None = None,
        deadline: timedelta = DEADLINE,
    ) -> None:
        if format not in FORMATS:
            raise InvalidChannelError("format", format, "is not known", hint=f"one of: {', '.join(FORMATS)}")
        self._format = format
        endpoint = Endpoint.read(url, "webhook", is_trusted=trusted)
        self._sender = HttpSender(endpoint=endpoint, clock=clock or SystemClock(), tls=tls, deadline=deadline)
        self._secret = None if secret is None else Secret.read(secret, "secret")
        self._text = None if text is None else check_template(text, "text")
        self.rate = rate or Rate()

    def __repr__(self) -> str:
        return f"<Webhook {self.describe()}>"

    def describe(self) -> str:
        signed_by = f", signed with {self._secret.reference}" if self._secret else ""
        return f"webhook {self._sender.endpoint.shown}, format {self._format}{signed_by}"

    def missing(self) -> str | None:
        return self._sender.endpoint.missing() or (self._secret.missing() if self._secret else None)

    async def send(self, messages: Sequence[Alert]) -> Sent:
        target = self._sender.endpoint.target()
        if isinstance(target, Sent):
            return target
        message = as_message(messages)
        body = FORMATS[self._format](message, self._text)
        try:
            secret = self._secret.value() if self._secret else ""
            keys = read_keys(secret, "secret")
        except SecretMissingError as error:
            return Sent.again(str(error))
        except InvalidChannelError as error:
            return Sent.refused(error.message)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Foliot",
            **signed(message.id, self._sender.clock.now(), body, keys),
        }
        request = Request("POST", target.url, headers, body)
        return (await self._sender.send(request, target, *secret.split()))[0]
