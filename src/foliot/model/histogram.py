"""How often a value fell between which bounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import timedelta


class Histogram:
    """How many values fell between which bounds, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: timedelta, times: int = 1) -> None:
        """Count a value `count` times; a value that equals a bound counts below it."""
        self.observe_seconds(value.total_seconds(), times)

    def observe_seconds(self, seconds: float, times: int = 1) -> None:
        """The same, for a value in seconds. One below zero counts as zero."""
        # The store's time was corrected meanwhile; a sum that falls would look like a restart.
        seconds = max(0.0, seconds)
        self.counts[bisect_left(self.bounds, seconds)] += times
        self.total += seconds * times
