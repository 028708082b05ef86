"""Where the next claim begins to search, so that it need not read again what the last claim has read.

Two things slow a search from the front down:

- A herd takes many claims, and on PostgreSQL each leaves dead rows in the index. The server removes them,
unless
  a client reads with an old snapshot, such as a backup. Then every claim would read all rows claimed since.
- Jobs that a node passes over stay due, in front of those that it could start.

So after a full claim, or one that passed over many jobs, the next claim begins where the last one ended; at
the end it begins at the front again.

    after a herd                 the position is valid for a short time, because earlier jobs may come
    after many passed-over jobs  it is valid until the end, so that all jobs behind them are reached
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from foliot.protocols import Clock

_HERD = 100  # fewer than that are read quickly
_MOMENT = 1.0  # seconds
_LONGER_MOMENT = 10.0  # time for the next claim


class ClaimCursor:
    """How far the claims of a kind have come. `has_litter`: claimed rows still slow a search down."""

    def __init__(self, clock: Clock, *, has_litter: bool) -> None:
        self._clock = clock
        self._has_litter = has_litter
        self._places: dict[Hashable, tuple[Any, float]] = {}

    def start(self, claims: Hashable) -> Any | None:
        """The position after which to begin; None means the front."""
        place, until = self._places.get(claims, (None, 0.0))
        if self._clock.monotonic() < until:
            return place
        self._places.pop(claims, None)
        return None

    def end(self, claims: Hashable, place: Any, looked: int, passed: int = 0) -> None:
        """A claim has ended at a position; it looked at some jobs, and passed over some of them."""
        now = self._clock.monotonic()
        if passed >= _HERD:
            self._places[claims] = place, now + _LONGER_MOMENT
        elif looked >= _HERD and self._has_litter:
            _, until = self._places.get(claims, (None, now + _MOMENT))
            self._places[claims] = place, until

    def forget(self, claims: Hashable) -> None:
        """Begin at the front again."""
        self._places.pop(claims, None)
