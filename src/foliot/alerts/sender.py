"""One request to the server of a channel, and what its answer means."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus

from foliot.alerts.channel import DEADLINE, LONGEST_WAIT, SENT, Sent
from foliot.alerts.endpoint import Endpoint, Target
from foliot.alerts.text import clean
from foliot.clock import SystemClock
from foliot.network.errors import AddressRefusedError, RequestFailedError
from foliot.network.http import Answer, Request, fetch
from foliot.network.secrets import mask
from foliot.protocols import Clock

_URL_PARTS = re.compile(r"[/?&=]")
_SHOWN_BODY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSender:
    """Sends one request to an endpoint, and returns the result. Webhooks and pings share it."""

    endpoint: Endpoint
    clock: Clock = field(default_factory=SystemClock, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    deadline: timedelta = DEADLINE

    async def send(self, request: Request, target: Target, *secrets: str) -> tuple[Sent, Answer | None]:
        """The result, and the answer, if there is one."""
        try:
            answer = await fetch(request, target.guard, deadline=self.deadline, tls=self.tls)
        except AddressRefusedError as error:
            # The host's name may be a part of the secret, so only its address is shown.
            reason = f"{self.endpoint.shown}: {error.details['address']} {error.details['reason']}"
            return Sent.refused(f"{reason}; {error.hint}"), None
        except RequestFailedError as error:
            return Sent.again(f"{self.endpoint.shown} {error.reason}"), None
        return self._judge(answer, target, secrets), answer

    def _judge(self, answer: Answer, target: Target, secrets: tuple[str, ...]) -> Sent:
        status = answer.status
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return SENT
        body = clean(answer.body.decode(errors="replace"), _SHOWN_BODY)
        path = target.url.target
        said = f" ({mask(body, *secrets, path, *_URL_PARTS.split(path))})" if body else ""
        reason = f"{self.endpoint.shown} answers {status}{said}"
        if answer.is_to_be_asked_again:
            return Sent.again(reason, answer.asks_to_wait(self.clock.now(), LONGEST_WAIT))
        if status < HTTPStatus.BAD_REQUEST:
            reason = f"{self.endpoint.shown} answers {status}, and redirects are not followed"
        return Sent.refused(reason)
