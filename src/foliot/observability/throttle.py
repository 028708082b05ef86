"""Limits log lines: the first lines of a flood are written, the rest is summed up.

The time comes from events or heartbeats; nothing here reads a clock.
"""

from __future__ import annotations

from datetime import datetime, timedelta


class Throttle:
    """Lets `most` lines through in a period; the next line after a period begins a new one."""

    def __init__(self, most: int, stretch: timedelta) -> None:
        self._most = most
        self._stretch = stretch
        self._begin: datetime | None = None
        self._passed = 0

    def lets_through(self, at: datetime) -> bool:
        """Whether one more line may be written now."""
        if self.is_over(at):
            self._begin, self._passed = at, 0
        self._passed += 1
        return self._passed <= self._most

    def is_over(self, at: datetime) -> bool:
        """Whether the period has ended."""
        # In both directions: a clock that was set back must not suppress lines for hours.
        return self._begin is None or abs(at - self._begin) >= self._stretch
