"""Hints between nodes: another node should look at the store earlier than planned.

A command or a revision sends a hint if a job wakes earlier, or if an attempt shall end. Claims and finishes
send none. A hint may be lost, so a node also looks from time to time.
"""

from __future__ import annotations

import asyncio
import os
import threading
from abc import ABC, abstractmethod
from contextlib import suppress

from foliot.errors import StoreError, StoreUnavailableError

TURN = 1.0  # seconds until the thread notices that it shall end


class HintListener(ABC, threading.Thread):
    """Receives hints on its own connection, for any number of waiting callers.

    No error ends it: it tries again to connect. When it ends, all callers get an error.
    """

    pause = 5.0  # seconds between two tries to connect

    def __init__(self) -> None:
        super().__init__(name="foliot-listener", daemon=True)
        self._process = os.getpid()
        self._ends = threading.Event()
        self._waiting: dict[asyncio.AbstractEventLoop, asyncio.Event] = {}

    async def heard(self) -> None:
        """Wait for the next hint since the last call on this loop; StoreError if there will be none."""
        event = self._waiting.setdefault(asyncio.get_running_loop(), asyncio.Event())
        self._refuse()
        if self.ident is None:
            self._process = os.getpid()
            try:
                self.start()
            except RuntimeError as error:  # there can be no more threads now
                raise StoreUnavailableError("changed", str(error)) from error
        await event.wait()
        self._refuse()
        event.clear()

    def _refuse(self) -> None:
        if self._ends.is_set():
            raise StoreError("changed: the store is not open", hint="use `async with`, or open it first")
        if self.ident is not None and self._process != os.getpid():
            hint = "open another store in the child; or fork first, and open then"
            raise StoreError("changed: the store was opened before a fork", hint=hint)

    def end(self) -> None:
        """No more hints."""
        self._ends.set()
        self._tell()
        if self.ident is not None:
            self.join(2 * TURN)

    def run(self) -> None:
        """Listen until the end, over any number of connections."""
        while not self._ends.is_set():
            with suppress(Exception):  # hints are optional; calls of the store report errors
                self._listen()
            self._ends.wait(self.pause)

    @abstractmethod
    def _listen(self) -> None:
        """Connect, and call `_tell` once, because hints may be lost, and for each hint, until `_ends`."""

    def _tell(self) -> None:
        for loop, event in list(self._waiting.items()):
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:  # the loop is closed
                self._waiting.pop(loop, None)
