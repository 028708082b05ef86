"""The daemon's sign of life: a ping each minute, for a service outside that raises the alarm when none comes.

It comes from the engine's own loop, and only if the store answers: a daemon that hangs, or that has lost its
store, is silent, as a dead one is.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from foliot.alerts.channel import Fate
from foliot.alerts.ping import Ping, PingKind, Signal
from foliot.app.part import Workplace
from foliot.errors import StoreError
from foliot.observability.log import tell
from foliot.protocols import Executor

_EVERY = timedelta(minutes=1)
_ALIVE = Signal(PingKind.SUCCESS, "")


class Heartbeat:
    """A part of the application that pings a URL, which may be a reference such as `env:HC_DAEMON`."""

    def __init__(self, url: str) -> None:
        self._ping = Ping(url, style="plain")
        self._host: Workplace | None = None
        self._failed = ""

    async def begin(self, host: Workplace) -> dict[str, Executor]:
        """Nothing to declare."""
        self._host = host
        return {}

    async def live(self) -> None:
        """Ping, until cancelled."""
        assert self._host is not None  # noqa: S101 - `begin` was called
        while True:
            with suppress(StoreError):  # the engine tells of a store that is away
                await self._host.store.now()
                await self._tell()
            await self._host.clock.wait(_EVERY)

    async def _tell(self) -> None:
        said = await self._ping.ping(_ALIVE)
        failed = "" if said.fate is Fate.SENT else said.reason
        if failed and failed != self._failed:  # the same answer each minute is one line of the log
            tell("ping_failed", answer=failed)
        self._failed = failed

    async def close(self) -> None:
        """Nothing is held."""

    def title(self, job: str) -> None:
        """No job is its own."""
