"""Hints by PUBLISH: the commit script sends them."""

from __future__ import annotations

from collections.abc import Callable

from foliot.stores.hint_listener import TURN, HintListener
from foliot.stores.redis.wire import Wire


class Listener(HintListener):
    """Receives hints over a connection of its own.

    It is the first to notice that the server has ended, and connects again soon: lost writes can be written
    again only before other nodes claim the same jobs.
    """

    pause = 0.5

    def __init__(self, channel: str, connect: Callable[[], Wire]) -> None:
        super().__init__()
        self._channel = channel
        self._connect = connect
        self._wire: Wire | None = None

    def end(self) -> None:
        """No more hints: do not wait for the end of a turn."""
        self._ends.set()
        if (wire := self._wire) is not None:
            wire.cut()
        super().end()

    def _listen(self) -> None:
        wire = self._wire = self._connect()
        try:
            wire.ask("SUBSCRIBE", self._channel)
            self._tell()
            while not self._ends.is_set():
                if wire.hears(TURN):
                    wire.hear()
                    self._tell()
        finally:
            wire.close()
