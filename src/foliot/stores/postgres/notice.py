"""Hints by NOTIFY. Claims and finishes send none, because hints make commits wait for each other."""

from __future__ import annotations

from collections.abc import Callable

from foliot.stores.hint_listener import TURN, HintListener
from foliot.stores.postgres.connection import Connection


def send_notice(connection: Connection, schema: str) -> None:
    """Send a hint to all listeners when this transaction commits."""
    connection.execute("SELECT pg_notify(%s, '')", (channel_of(schema),))


def channel_of(schema: str) -> str:
    """The channel of a store."""
    return f"foliot_{schema}"


class Listener(HintListener):
    """Receives hints on its own connection."""

    def __init__(self, schema: str, connect: Callable[[], Connection]) -> None:
        super().__init__()
        self._schema = schema
        self._connect = connect

    def _listen(self) -> None:
        with self._connect() as connection:
            connection.execute(f"LISTEN {channel_of(self._schema)}")
            self._tell()
            while not self._ends.is_set():
                for _ in connection.notifies(timeout=TURN, stop_after=1):
                    self._tell()
