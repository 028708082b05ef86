"""Where to look on: a herd is claimed in many claims, and each leaves its rows behind as litter in the index.

The server clears the litter away, unless somebody reads with an old snapshot, such as a backup: then every
claim would walk over all that was claimed since. So a claim that was full lets the next one begin where it
ended. That holds for a moment only: whatever has come in front since is to have its turn.
"""

from __future__ import annotations

from typing import NamedTuple

from foliot.clock import SystemClock

_HERD = 100  # fewer than that leave little behind
_MOMENT = 1.0  # seconds


class Place(NamedTuple):
    """A place in the order of what is due."""

    wake_at: int
    job_no: int


FIRST = Place(-(2**63), -(2**63))
LAST = Place(2**63 - 1, 2**63 - 1)


class Sweep:
    """How far the claims of each lane have come."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._places: dict[int, tuple[Place, float]] = {}

    def start(self, lane: int) -> Place:
        """Where to begin."""
        place, until = self._places.get(lane, (FIRST, 0.0))
        if self._clock.monotonic() < until:
            return place
        self._places.pop(lane, None)
        return FIRST

    def end(self, lane: int, place: Place, count: int) -> None:
        """A claim was full, and ended here."""
        if count >= _HERD:
            _, until = self._places.get(lane, (FIRST, self._clock.monotonic() + _MOMENT))
            self._places[lane] = place, until

    def forget(self, lane: int) -> None:
        """Begin at the front again."""
        self._places.pop(lane, None)
