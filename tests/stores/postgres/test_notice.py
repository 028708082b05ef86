"""The thread that hears hints outlives whatever is wrong with its server."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest

from foliot.errors import StoreError
from foliot.stores import hint_listener
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.connection import Connection, connect
from foliot.stores.postgres.notice import Listener, send_notice


@pytest.mark.parametrize("fault", [StoreError("the server is too old"), MemoryError(), ValueError("odd")])
def test_hints_are_heard_again_after_any_fault(
    url: str, fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hint_listener.HintListener, "pause", 0.01)
    address, failed = read_address(url), threading.Event()

    def connected() -> Connection:
        if not failed.is_set():
            failed.set()
            raise fault
        return connect(address, timedelta(seconds=5))

    async def play() -> None:
        listener = Listener(address.schema, connected)
        try:
            await asyncio.wait_for(listener.heard(), 60)  # it listens
            hinted = asyncio.ensure_future(listener.heard())
            with connected() as other:
                send_notice(other, address.schema)
            await asyncio.wait_for(hinted, 60)
        finally:
            await asyncio.to_thread(listener.end)

    asyncio.run(play())


def test_loops_that_are_closed_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    listener: Any = Listener("schema", lambda: None)  # type: ignore[arg-type,return-value] # it never listens
    monkeypatch.setattr(listener, "start", lambda: None)

    async def wait_shortly() -> None:
        await asyncio.wait([asyncio.ensure_future(listener.heard())], timeout=0.01)

    asyncio.run(wait_shortly())
    listener._tell()
    assert listener._waiting == {}
