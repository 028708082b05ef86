"""Tells systemd the state of the daemon: ready, alive, stopping. Without systemd it does nothing.

The keep-alive comes from the engine's own loop, so a daemon whose engine hangs is silent, and is restarted.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta

from foliot.app.part import Workplace
from foliot.clock import SystemClock
from foliot.protocols import Clock, Executor


class Systemd:
    """A part of the application that reports to the service manager which started it."""

    def __init__(self, environment: Mapping[str, str], process: int) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._pause = _half_of_the_watchdog(environment, process)
        self._clock: Clock = SystemClock()

    async def begin(self, host: Workplace) -> dict[str, Executor]:
        """Nothing to declare."""
        self._clock = host.clock
        return {}

    async def live(self) -> None:
        """Say that all is ready, and then that the engine's loop still turns."""
        self.notify("READY=1")
        try:
            while True:
                await self._clock.wait(self._pause or timedelta(hours=1))
                if self._pause is not None:
                    self.notify("WATCHDOG=1")
        finally:
            self.notify("STOPPING=1")

    async def close(self) -> None:
        """Nothing is held."""

    def title(self, job: str) -> None:
        """No job is its own."""

    def notify(self, state: str) -> None:
        """Send a word. Nobody waits for it, and a manager that is gone is no reason to fail."""
        if not self._address:
            return
        # An address that begins with @ is an abstract one: its first byte is zero.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)  # noqa: FBT003 - the standard library's own way
            sender.connect(address)
            sender.send(state.encode())


def _half_of_the_watchdog(environment: Mapping[str, str], process: int) -> timedelta | None:
    """How often to send the keep-alive; None if systemd does not ask this process for it."""
    limit, meant = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", str(process))
    if not limit.isdecimal() or int(limit) == 0 or meant != str(process):
        return None
    return timedelta(microseconds=int(limit)) / 2
