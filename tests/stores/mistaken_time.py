"""Stores that are mistaken about time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from foliot.model.state import Node
from foliot.protocols import Claimed, DecideDue, DecideLost, Recovered
from foliot.stores.memory import MemoryStore


class BuriesByItsClockAlone(MemoryStore):
    """What time it is for the caller does not count: a jump of the store's clock ends all leases."""

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        return await super().recover(limit, max(now, self._clock.now()), decide)


class RunsWhatHasRun(MemoryStore):
    """Only the state says what was served, and that was set back."""

    def _claim(self, node: Node, now: datetime, room: Mapping[str, int], decide: DecideDue) -> Claimed:
        history, self._history = self._history, {}
        claimed = super()._claim(node, now, room, decide)
        self._history = history
        return claimed
