"""An event of a stream, as server-sent events have it."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec


class Sent(NamedTuple):
    """An event of a stream."""

    event: str
    data: Any

    def encoded(self) -> bytes:
        """The event as it is sent."""
        return b"event: %s\ndata: %s\n\n" % (self.event.encode(), msgspec.json.encode(self.data))
