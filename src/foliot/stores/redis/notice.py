"""Hints by PUBLISH: the commit script sends them."""

from __future__ import annotations

from collections.abc import Callable

from foliot.stores.hint_listener import TURN, HintListener
from foliot.stores.redis.wire import Wire


class Listener(HintListener):
    """Has a connection of its own that hears hints.

    It is the first to see that the server has ended. It connects again soon: what the server has lost can be
    written again only before others claim it.
    """

    pause = 0.5

    def __init__(self, channel: str, connect: Callable[[], Wire]) -> None:
        super().__init__()
        self._channel = channel
        self._connect = connect

    def _listen(self) -> None:
        wire = self._connect()
        try:
            wire.ask("SUBSCRIBE", self._channel)
            self._tell()
            while not self._ends.is_set():
                if wire.hears(TURN):
                    wire.hear()
                    self._tell()
        finally:
            wire.close()
