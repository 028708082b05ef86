"""Few lines about much: what comes in a flood is told at its start, and then summed up.

Time is that of the events, or of a heartbeat: nothing here reads a clock.
"""

from __future__ import annotations

from datetime import datetime, timedelta


class Flood:
    """Lets so many through in a stretch of time; a new stretch begins with the first after the last."""

    def __init__(self, most: int, stretch: timedelta) -> None:
        self._most = most
        self._stretch = stretch
        self._begin: datetime | None = None
        self._passed = 0

    def lets_through(self, at: datetime) -> bool:
        """Whether one more may be told now."""
        if self.is_over(at):
            self._begin, self._passed = at, 0
        self._passed += 1
        return self._passed <= self._most

    def is_over(self, at: datetime) -> bool:
        """Whether the stretch of time is."""
        # Either way: time that was set back must not silence us until it comes again.
        return self._begin is None or abs(at - self._begin) >= self._stretch
