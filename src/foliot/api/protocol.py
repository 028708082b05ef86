"""HTTP/1.1 as uvicorn speaks it, with what it lacks: a deadline for requests, and bounds for connections."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import uuid4

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from foliot.api.address import group_of, is_proxy
from foliot.api.guard import HEADERS
from foliot.api.limits import Limits
from foliot.api.problem import ProblemError
from foliot.api.service import Options
from foliot.network.address import Network

_CONNECTIONS = ("connections_of_address", "connections")  # the limit of one address, and of all
_RECEIVING = (h11.IDLE, h11.SEND_BODY)


class GuardedProtocol(H11Protocol):
    """One connection. All connections of a server share `limits`, `refused` and `open_of_address`.

    `proxies`: networks of proxies, which bring the requests of many clients.
    """

    limits: ClassVar[Limits]
    proxies: ClassVar[Sequence[Network]]
    refused: ClassVar[Counter[str]]  # by the limit that was met
    open_of_address: ClassVar[Counter[str]]
    _deadline: asyncio.TimerHandle | None = None
    _address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self.access_log = False  # what is asked is no business of a log that others may read
        peer = self.client[0] if self.client else ""
        self._address = group_of(peer)
        self.open_of_address[self._address] += 1
        is_crowd = len(self.connections) > self.limits.connections
        is_greedy = self.open_of_address[self._address] > self.limits.connections_of_address
        if is_crowd or (is_greedy and not is_proxy(self.proxies, peer)):
            detail, limit = "too many connections are open", _CONNECTIONS[is_crowd]
            self._end(ProblemError(503, "TOO_MANY", detail, headers={"Retry-After": "5"}, limit=limit))
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.open_of_address[self._address] -= 1
        if not self.open_of_address[self._address]:
            del self.open_of_address[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.conn.their_state in _RECEIVING:
            self._arm()
        else:
            self._disarm()

    def _arm(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.receive, self._expire)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        """The request has not come in time."""
        self._deadline = None
        cycle: Any = self.cycle  # None until the first request
        if cycle is not None and cycle.response_started:
            self.transport.close()
        elif self.conn.their_state in _RECEIVING:
            detail = f"the request was not complete after {self.limits.receive:g} seconds"
            self._end(ProblemError(408, "TOO_SLOW", detail, limit="receive"))

    def send_400_response(self, msg: str) -> None:
        self._end(ProblemError(400, "MALFORMED", msg, hint="it must be HTTP/1.1, as RFC 9112 has it"))

    def _end(self, problem: ProblemError) -> None:
        """Answer without the application, and close the connection."""
        self._disarm()
        if problem.limit is not None:
            self.refused[problem.limit] += 1
        cycle: Any = self.cycle
        if cycle is not None:  # what the application would send is dropped
            cycle.disconnected = True
            cycle.message_event.set()
        request_id = uuid4().hex
        response = problem.response(request_id)
        headers: list[tuple[Any, Any]] = [*response.raw_headers, (b"connection", b"close")]
        headers += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        headers.append((b"request-id", request_id.encode()))
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = h11.Response(status_code=response.status_code, headers=headers)
            for event in (answer, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def make_protocol(options: Options, refused: Counter[str]) -> type[GuardedProtocol]:
    """The class for uvicorn's `http=`. It counts in `refused` what a limit has refused."""
    shared = {
        "limits": options.limits,
        "proxies": options.proxies,
        "refused": refused,
        "open_of_address": Counter(),
    }
    return type("Protocol", (GuardedProtocol,), shared)
