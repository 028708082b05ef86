"""Webhooks: an alert is an HTTP request, signed as Standard Webhooks says."""

from __future__ import annotations

import email.utils
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

from foliot.alerts.channel import DEADLINE, LONGEST_WAIT, SENT, Sent
from foliot.alerts.formats import FORMATS
from foliot.alerts.message import Alert, as_message
from foliot.alerts.place import Place, Target
from foliot.alerts.rate import Rate
from foliot.alerts.secrets import Secret, SecretMissingError, mask
from foliot.alerts.signature import read_keys, signed
from foliot.alerts.text import check_template, clean
from foliot.clock import SystemClock
from foliot.errors import InvalidChannelError
from foliot.network.errors import AddressRefusedError, RequestFailedError
from foliot.network.http import Answer, Request, fetch
from foliot.protocols import Clock

_TRY_LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)
_URL_PARTS = re.compile(r"[/?&=]")
_SHOWN_BODY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSender:
    """Sends one request to a place, and says what became of it. Webhooks and pings share it."""

    place: Place
    clock: Clock = field(default_factory=SystemClock, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    deadline: timedelta = DEADLINE

    async def send(self, request: Request, target: Target, *secrets: str) -> tuple[Sent, Answer | None]:
        """What became of it, and the answer, if there is one."""
        try:
            answer = await fetch(request, target.guard, deadline=self.deadline, tls=self.tls)
        except AddressRefusedError as error:
            # The name of the host may be a part of the secret: its address says enough.
            reason = f"{self.place.shown}: {error.details['address']} {error.details['reason']}"
            return Sent.refused(f"{reason}; {error.hint}"), None
        except RequestFailedError as error:
            return Sent.again(f"{self.place.shown} {error.reason}"), None
        return self._judge(answer, target, secrets), answer

    def _judge(self, answer: Answer, target: Target, secrets: tuple[str, ...]) -> Sent:
        status = answer.status
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return SENT
        body = clean(answer.body.decode(errors="replace"), _SHOWN_BODY)
        path = target.url.target
        said = f" ({mask(body, *secrets, path, *_URL_PARTS.split(path))})" if body else ""
        reason = f"{self.place.shown} answers {status}{said}"
        if status in _TRY_LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Sent.again(reason, self._asked_to_wait(answer))
        if status < HTTPStatus.BAD_REQUEST:
            reason = f"{self.place.shown} answers {status}, and redirects are not followed"
        return Sent.refused(reason)

    def _asked_to_wait(self, answer: Answer) -> timedelta | None:
        text = answer.headers.get("retry-after", "").strip()[:50]
        if _SECONDS.fullmatch(text):
            return timedelta(seconds=min(float(text), LONGEST_WAIT.total_seconds()))
        try:
            at = email.utils.parsedate_to_datetime(text)
        except (ValueError, TypeError):
            return None
        return max(timedelta(0), _aware(at) - self.clock.now())


class Webhook:
    """A channel that posts to a URL.

    `url` and `secret` are references such as `env:OPS_WEBHOOK`; a URL without a secret in it may stand there
    itself. `format` is `json`, `slack`, `discord` or `alertmanager`. `text` is a text such as
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
        place = Place.read(url, "webhook", is_trusted=trusted)
        self._sender = HttpSender(place=place, clock=clock or SystemClock(), tls=tls, deadline=deadline)
        self._secret = None if secret is None else Secret.read(secret, "secret")
        self._text = None if text is None else check_template(text, "text")
        self.rate = rate or Rate()

    def __repr__(self) -> str:
        return f"<Webhook {self.describe()}>"

    def describe(self) -> str:
        signed_by = f", signed with {self._secret.reference}" if self._secret else ""
        return f"webhook {self._sender.place.shown}, format {self._format}{signed_by}"

    def missing(self) -> str | None:
        return self._sender.place.missing() or (self._secret.missing() if self._secret else None)

    async def send(self, messages: Sequence[Alert]) -> Sent:
        target = self._sender.place.target()
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


def _aware(instant: datetime) -> datetime:
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
