"""Server-sent events: a stream that ends by itself, and never keeps the server from stopping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Protocol

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from foliot.api.call import Call
from foliot.api.entry import is_still_let_in

MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE = timedelta(seconds=15)
_ASKED_EACH = 5.0  # seconds after which it is asked again who listens
_RETRY = b"retry: 3000\n\n"


class Encodable(Protocol):
    """What a stream sends at a time: an event, or several."""

    def encoded(self) -> bytes:
        """The bytes that are sent."""
        ...


class _Stream(StreamingResponse):
    """A response that holds a place among the streams; 429, before anything is sent, if none is free."""

    def __init__(self, call: Call, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})
        self._place = partial(call.service.streams.held, call.identity.token_id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place():
            await super().__call__(scope, receive, send)


def stream(call: Call, events: AsyncIterator[Encodable | None]) -> StreamingResponse:
    """A response that sends events as they come; None is sent as a comment. 429 if too many are open."""

    async def body() -> AsyncIterator[bytes]:
        service, monotonic = call.service, call.service.clock.monotonic
        end, asked_at = monotonic() + service.limits.stream_life, monotonic()
        yield _RETRY
        async for event in events:
            if monotonic() - asked_at >= _ASKED_EACH:  # the token may have been revoked, or has expired
                asked_at = monotonic()
                if not await is_still_let_in(service, call.request):
                    return
            yield b": still here\n\n" if event is None else event.encoded()
            if service.stopping.is_set() or monotonic() >= end:
                return

    return _Stream(call, body())


async def wait_for(call: Call, duration: timedelta, news: asyncio.Event | None = None) -> None:
    """Wait for news, or that long; no longer than the server serves."""
    stopping = asyncio.ensure_future(call.service.stopping.wait())
    waits = {stopping, asyncio.ensure_future(call.service.clock.wait(duration, news or asyncio.Event()))}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
