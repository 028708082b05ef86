"""Where to look on: what a claim leaves behind need not be walked over by the next one.

- A herd is claimed in many claims, and on PostgreSQL each leaves its rows behind as litter in the index.
  The server clears the litter away, unless somebody reads with an old snapshot, such as a backup: then every
  claim would walk over all that was claimed since.
- Jobs that a node passes over stay where they are, in front of those that it could start.

So a claim that was full, or passed over many, lets the next one begin where it ended; one that comes to the
end begins at the front again. After a herd that holds for a moment only: whatever has come in front since is
to have its turn. Where many are passed over, it holds until the end: however many they are, what is behind
them is reached.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from foliot.protocols import Clock

_HERD = 100  # fewer than that are soon walked over
_MOMENT = 1.0  # seconds
_LONGER_MOMENT = 10.0  # for the next claim to come, and to move on


class ClaimCursor:
    """How far the claims of a kind have come. `has_litter`: what was claimed is still in the way."""

    def __init__(self, clock: Clock, *, has_litter: bool) -> None:
        self._clock = clock
        self._has_litter = has_litter
        self._places: dict[Hashable, tuple[Any, float]] = {}

    def start(self, claims: Hashable) -> Any | None:
        """The place after which to begin; None: at the front."""
        place, until = self._places.get(claims, (None, 0.0))
        if self._clock.monotonic() < until:
            return place
        self._places.pop(claims, None)
        return None

    def end(self, claims: Hashable, place: Any, looked: int, passed: int = 0) -> None:
        """A claim has come so far, and looked at so many on the way, of which it passed over so many."""
        now = self._clock.monotonic()
        if passed >= _HERD:
            self._places[claims] = place, now + _LONGER_MOMENT
        elif looked >= _HERD and self._has_litter:
            _, until = self._places.get(claims, (None, now + _MOMENT))
            self._places[claims] = place, until

    def forget(self, claims: Hashable) -> None:
        """Begin at the front again."""
        self._places.pop(claims, None)
