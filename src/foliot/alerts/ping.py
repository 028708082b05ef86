"""Pings: a monitoring service gets a request at each start and end, and raises an alarm when none comes.

              healthchecks             cronitor                plain
    start     URL/start                ?state=run              –
    success   URL                      ?state=complete         URL
    failure   URL/fail, URL/<exit>     ?state=fail             –
    log       URL/log                  ?state=ok               –

A dead node sends nothing, and the service notices that. No program on the node could.
"""

from __future__ import annotations

import ssl
import uuid
from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlencode

from foliot.alerts.channel import SENT, Fate, Sent
from foliot.alerts.endpoint import Endpoint
from foliot.alerts.message import Alert, AlertKind
from foliot.alerts.sender import HttpSender
from foliot.alerts.text import clean, text_of
from foliot.clock import SystemClock
from foliot.errors import InvalidChannelError
from foliot.model.attempt import Outcome
from foliot.model.json_text import clean_text
from foliot.network.http import Answer, Request
from foliot.protocols import Clock

PING_DEADLINE = timedelta(seconds=10)
_RUNS = uuid.uuid5(uuid.NAMESPACE_URL, "https://foliot.invalid/runs")
_LONGEST_BODY = 10_000  # bytes; a service may announce another limit
_MOST_BODY = 100_000
_LONGEST_MESSAGE = 2_000
_LAST_EXIT = 255


class PingKind(StrEnum):
    """What a ping reports."""

    START = "start"
    SUCCESS = "success"
    FAILURE = "failure"
    LOG = "log"


class Signal(NamedTuple):
    """One ping: of an attempt at a run, with an exit code and a text if there are any."""

    kind: PingKind
    run: str
    attempt: int = 1
    exit_code: int | None = None
    text: str = ""

    @property
    def rid(self) -> str:
        """The id that start and end of one attempt share: services want a UUID."""
        return str(uuid.uuid5(_RUNS, clean_text(f"{self.run}#{self.attempt}")))


_STATES = {PingKind.START: "run", PingKind.SUCCESS: "complete", PingKind.FAILURE: "fail", PingKind.LOG: "ok"}
STYLES = ("healthchecks", "cronitor", "plain")


class Ping:
    """A channel that pings the URL of a monitoring service. Each alert is one ping: there is no digest."""

    rate = None
    shows_output = True

    def __init__(  # noqa: PLR0913 - the fields of a configuration
        self,
        url: str,
        *,
        style: str = "healthchecks",
        trusted: bool = True,
        clock: Clock | None = None,
        tls: ssl.SSLContext | None = None,
        deadline: timedelta = PING_DEADLINE,
    ) -> None:
        if style not in STYLES:
            raise InvalidChannelError("style", style, "is not known", hint=f"one of: {', '.join(STYLES)}")
        self._style = style
        endpoint = Endpoint.read(url, "ping", is_trusted=trusted)
        self._sender = HttpSender(endpoint=endpoint, clock=clock or SystemClock(), tls=tls, deadline=deadline)
        self._body_limit = _LONGEST_BODY

    def __repr__(self) -> str:
        return f"<Ping {self.describe()}>"

    def describe(self) -> str:
        return f"ping {self._sender.endpoint.shown}, style {self._style}"

    def missing(self) -> str | None:
        return self._sender.endpoint.missing()

    async def send(self, messages: Sequence[Alert]) -> Sent:
        for alert in messages:
            said = await self.ping(signal_of(alert))
            if said.fate is not Fate.SENT:
                return said
        return SENT

    async def ping_start(self, run: str, attempt: int) -> Sent:
        return await self.ping(Signal(PingKind.START, run, attempt))

    async def ping(self, signal: Signal) -> Sent:
        """Send one ping. If the style has no word for it, nothing is sent, and it counts as sent."""
        target = self._sender.endpoint.target()
        if isinstance(target, Sent):
            return target
        asked = self._asked(signal, target.url.target)
        if asked is None:
            return SENT
        path, body = asked
        headers = {"User-Agent": "Foliot", "Content-Type": "text/plain; charset=utf-8"}
        request = Request("POST" if body else "GET", target.url._replace(target=path), headers, body or None)
        said, answer = await self._sender.send(request, target)
        self._note_limit(answer)
        return said

    def _asked(self, signal: Signal, base: str) -> tuple[str, bytes] | None:
        """The path to ask for, and the body; None: the style has no word for it."""
        path, _, query = base.partition("?")
        if self._style == "plain":
            return (base, b"") if signal.kind is PingKind.SUCCESS else None
        if self._style == "cronitor":
            fields = {"state": _STATES[signal.kind], "series": signal.rid}
            if signal.exit_code is not None:
                fields["status_code"] = str(signal.exit_code)
            if signal.text:
                fields["message"] = clean(signal.text, _LONGEST_MESSAGE)
            return f"{path}?{_joined(query, fields)}", b""
        limit = self._body_limit
        body = clean(signal.text[-limit:], limit, keep_lines=True).encode()[-limit:] if limit else b""
        return f"{path.rstrip('/')}{_suffix(signal)}?{_joined(query, {'rid': signal.rid})}", body

    def _note_limit(self, answer: Answer | None) -> None:
        limit = "" if answer is None else answer.headers.get("ping-body-limit", "")
        if limit.isascii() and limit.isdigit():
            self._body_limit = min(int(limit[:7]), _MOST_BODY)


def signal_of(alert: Alert) -> Signal:
    """Turn an alert into a ping. Only the end of a run is a success or a failure.

    All other alerts, cancelled runs and tests are lines in the service's log.
    """
    if alert.is_test:
        return Signal(PingKind.LOG, alert.run or alert.job, text=text_of(alert))
    is_good = alert.kind is AlertKind.RECOVERY or alert.outcome is Outcome.SUCCEEDED
    is_over = alert.kind is AlertKind.ENDED and alert.outcome is not Outcome.CANCELLED
    is_bad = alert.kind is AlertKind.FAILURE or is_over
    kind = PingKind.SUCCESS if is_good else PingKind.FAILURE if is_bad else PingKind.LOG
    text = "\n".join(filter(None, (text_of(alert), alert.output)))
    return Signal(kind, alert.run or alert.job, alert.attempt or 1, alert.exit_code, text)


def _suffix(signal: Signal) -> str:
    if signal.kind is PingKind.SUCCESS:
        return ""
    if signal.kind is PingKind.FAILURE:
        code = signal.exit_code
        return f"/{code}" if code is not None and 0 < code <= _LAST_EXIT else "/fail"
    return f"/{signal.kind}"


def _joined(query: str, fields: dict[str, str]) -> str:
    return "&".join(filter(None, (query, urlencode(fields))))
