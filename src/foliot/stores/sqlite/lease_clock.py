"""Leases and a wall clock that is set: the time by which a lease has run out.

All processes of a host share its wall clock. When it is set forward, or the host has slept, every lease has
run out at once, though nobody has missed a heartbeat. So for the length of one lease after such a jump,
leases are judged as if it had not happened: whoever lives renews meanwhile, and whoever does not is buried
then. A process that has just begun cannot know of a jump before it, so it judges no lease for as long. The
lock files tell at once who is dead. Set back, the clock makes leases longer: see `node_rows.bury`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from foliot.protocols import Clock
from foliot.stores.sql.codes import EPOCH

_JUMP = timedelta(seconds=1)  # more than a clock is ever slewed between two looks
_NOTHING = timedelta(0)


class LeaseClock:
    """Knows how far the wall clock has jumped ahead lately, by comparing it with the monotonic one."""

    def __init__(self, clock: Clock, lease: timedelta) -> None:
        self._clock = clock
        self.lease = lease
        self._offset = self._look()
        self._jumped = _NOTHING
        self._until = 0.0
        self._ripe_at = clock.monotonic() + lease.total_seconds()

    def now(self) -> datetime:
        """The time for judging leases."""
        offset, passed = self._look(), self._clock.monotonic()
        if passed >= self._until:
            self._jumped = _NOTHING
        if offset - self._offset > _JUMP:
            self._jumped += offset - self._offset
            self._until = passed + self.lease.total_seconds()
        self._offset = offset
        return self._clock.now() - self._jumped

    def over_before(self, now: datetime) -> datetime:
        """Leases that ended before this are over, by this clock and by that of whoever asks."""
        judged = min(now, self.now())
        return judged if self._clock.monotonic() >= self._ripe_at else EPOCH

    def _look(self) -> timedelta:
        return self._clock.now() - EPOCH - timedelta(seconds=self._clock.monotonic())
