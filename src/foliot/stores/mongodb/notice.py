"""Hints by a capped collection: each listener has a cursor that waits at its end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from pymongo import CursorType

from foliot.stores.hint_listener import TURN, HintListener
from foliot.stores.mongodb.asking import make_hints
from foliot.stores.mongodb.connection import Client, Jobs

_TURN = int(timedelta(seconds=TURN) / timedelta(milliseconds=1))


class Listener(HintListener):
    """Receives hints with a client of its own."""

    def __init__(self, connect: Callable[[], Client], hints_of: Callable[[Client], Jobs]) -> None:
        super().__init__()
        self._connect = connect
        self._hints_of = hints_of

    def _listen(self) -> None:
        with self._connect() as client:
            hints = self._hints_of(client)
            make_hints(hints.database, hints.name)
            with hints.find(cursor_type=CursorType.TAILABLE_AWAIT).max_await_time_ms(_TURN) as cursor:
                while cursor.alive and not self._ends.is_set():
                    for _ in cursor:  # ends when there was none for a while
                        self._tell()
                        if self._ends.is_set():
                            return
