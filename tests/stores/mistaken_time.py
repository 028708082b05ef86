"""Stores that are mistaken about time."""

from __future__ import annotations

from datetime import datetime

from foliot.protocols import DecideLost, Recovered
from foliot.stores.memory import MemoryStore


class BuriesByItsClockAlone(MemoryStore):
    """What time it is for the caller does not count: a jump of the store's clock ends all leases."""

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        return await super().recover(limit, max(now, self._clock.now()), decide)
