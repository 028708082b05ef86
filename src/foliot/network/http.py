"""One HTTP request, with a guard, a deadline and bounds."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple

from foliot.network.errors import RequestFailedError
from foliot.network.guard import Guard, Place
from foliot.network.thread import in_thread
from foliot.network.url import Url

LONGEST_ANSWER = 64 * 1024  # bytes of a body that are read
DEADLINE = timedelta(seconds=30)
_TRY_LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)


class Request(NamedTuple):
    """A request. The sender refuses headers with a line break."""

    method: str
    url: Url
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class Answer(NamedTuple):
    """An answer. Names of headers are in lower case; `body` is the beginning of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_to_be_asked_again(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in _TRY_LATER or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

    def asks_to_wait(self, now: datetime, longest: timedelta) -> timedelta | None:
        """How long the server asks to wait (`Retry-After`); None if it does not say."""
        text = self.headers.get("retry-after", "").strip()[:50]
        if _SECONDS.fullmatch(text):
            return timedelta(seconds=min(float(text), longest.total_seconds()))
        try:
            at = parsedate_to_datetime(text)
        except (ValueError, TypeError, OverflowError):
            return None
        return min(max(timedelta(0), _aware(at) - now), longest)


async def fetch(
    request: Request,
    guard: Guard,
    *,
    deadline: timedelta = DEADLINE,
    limit: int = LONGEST_ANSWER,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """Send a request and read the answer. A redirect is an answer, and is not followed.

    RequestFailedError if there is no answer within the deadline; AddressRefusedError by the guard.
    """
    exchange = _Exchange(request, guard, limit, tls, deadline.total_seconds())
    try:
        async with asyncio.timeout(deadline.total_seconds()):
            return await in_thread(exchange.run, exchange.abandon, "foliot-http")
    except TimeoutError:
        reason = f"gives no answer within {deadline.total_seconds():g} s"
    except ssl.SSLCertVerificationError as error:
        reason = f"has a certificate that cannot be trusted ({error.verify_message})"
    except socket.gaierror as error:
        reason = f"is not found ({error.strerror})"
    except (OSError, HTTPException, ValueError) as error:
        # The text of such an error may contain parts of the request, so only its type is shown.
        reason = f"gives no valid answer ({_told(error)})"
    raise RequestFailedError(request.url.shown, reason)


@dataclass(slots=True)
class _Exchange:
    """One request in its thread. Closing the socket from outside ends it, wherever it waits."""

    request: Request
    guard: Guard
    limit: int
    tls: ssl.SSLContext | None
    patience: float  # seconds; the caller's deadline is the real one
    _socket: socket.socket | None = field(default=None, init=False)
    _is_abandoned: bool = field(default=False, init=False)

    def run(self) -> Answer:
        url = self.request.url
        places = self.guard.addresses(url.host, url.port)
        self._socket = self._connect(places)
        try:
            return self._ask()
        finally:
            self._socket.close()

    def abandon(self) -> None:
        self._is_abandoned = True
        if self._socket is not None:
            with suppress(OSError):
                # Not SSLSocket.shutdown: it would destroy the TLS state while the other thread uses it.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _hold(self, connection: socket.socket) -> None:
        """Keep a socket for `abandon`. After `abandon` a new socket is not used."""
        self._socket = connection
        if self._is_abandoned:
            connection.close()
            raise TimeoutError

    def _connect(self, places: list[Place]) -> socket.socket:
        failure = OSError("the host has no address")
        for family, sockaddr in places:
            connection = socket.socket(family, socket.SOCK_STREAM)
            self._hold(connection)
            connection.settimeout(self.patience)
            try:
                connection.connect(sockaddr)
            except OSError as error:
                connection.close()
                failure = error
            else:
                return connection
        raise failure

    def _ask(self) -> Answer:
        url = self.request.url
        assert self._socket is not None  # noqa: S101 - the caller has connected
        connection: HTTPConnection
        if url.scheme == "https":
            context = self.tls or _verifying()
            secured = context.wrap_socket(
                self._socket, server_hostname=url.host, do_handshake_on_connect=False
            )
            self._hold(secured)
            secured.do_handshake()
            connection = HTTPSConnection(url.host, url.port)
        else:
            connection = HTTPConnection(url.host, url.port)
        connection.auto_open = 0  # a second connection would not pass the guard
        connection.sock = self._socket
        connection.request(self.request.method, url.target, self.request.body, dict(self.request.headers))
        with connection.getresponse() as response:
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, headers, response.read(self.limit))


def _aware(instant: datetime) -> datetime:
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__


@cache
def _verifying() -> ssl.SSLContext:
    return ssl.create_default_context()
