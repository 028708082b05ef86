"""The time by which leases are judged, on a host whose wall clock may be set.

All processes of a host share its wall clock. If it is set forward, or the host has slept, every lease expires
at once although no node missed a heartbeat. So for the length of one lease after such a jump, leases are
judged as if the jump had not happened: running nodes renew in that time, and dead ones are declared dead
after it. A process that has just started cannot know of an earlier jump, so it judges no lease for the same
time. Lock files still prove deaths at once. If the clock is set back, leases look longer: see
`node_rows.bury`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from foliot.protocols import Clock
from foliot.stores.sql.codes import EPOCH

_JUMP = timedelta(seconds=1)  # more than NTP slews a clock between two checks
_NOTHING = timedelta(0)


class LeaseClock:
    """Knows how far the wall clock has recently jumped ahead, by comparison with the monotonic clock."""

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
        """Leases that ended before this have expired, by this clock and by the caller's `now`."""
        judged = min(now, self.now())
        return judged if self._clock.monotonic() >= self._ripe_at else EPOCH

    def _look(self) -> timedelta:
        return self._clock.now() - EPOCH - timedelta(seconds=self._clock.monotonic())
