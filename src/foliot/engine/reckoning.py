"""What time it is in the store, and for how long this node may be sure of its lease."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from foliot.model.state import Lease
from foliot.protocols import Clock

_NO_JUMP = timedelta(0)
_LEAP = timedelta(seconds=1)
_NOTABLE = timedelta(seconds=2)


class Reckoning:
    """The store's time: what it said at the last heartbeat, and what has passed since by the monotonic clock.

    So no fast clock of a host fires early, and no jump of it matters.
    """

    def __init__(self, clock: Clock, *, is_steady_at_first: bool = False) -> None:
        self._clock = clock
        self._store_then, self._then = datetime.min.replace(tzinfo=UTC), 0.0
        self._sure_until = 0.0
        self._is_steady_at_first = is_steady_at_first
        self._sure_since: float | None = None  # without a break; none: from the beginning on
        self._jumped = _NO_JUMP
        self.skew = timedelta(0)

    def now(self) -> datetime:
        """The store's time."""
        return self._store_then + timedelta(seconds=self._clock.monotonic() - self._then)

    def take(self, lease: Lease, asked_at: float) -> bool:
        """Take over what the store has answered to a question of that moment; True if time leapt ahead."""
        # Counted from before the question: the lease may have begun while it was on its way.
        answered_at = self._clock.monotonic()
        if not self.is_sure and (self._sure_until or not self._is_steady_at_first):
            self._sure_since = answered_at
        self._sure_until = asked_at + (lease.until - lease.store_now).total_seconds()
        jump = lease.store_now - self.now()
        if abs(jump.total_seconds()) <= answered_at - asked_at:
            return False  # a slow answer explains the difference, and would make everything late
        self._jumped += jump
        self._store_then, self._then = lease.store_now, answered_at
        return jump > _LEAP

    def notes_skew(self) -> bool:
        """Whether this host's clock is off the store's otherwise than `skew` said; now it says so."""
        skew = self._clock.now() - self.now()
        if abs(skew - self.skew) < _NOTABLE:
            return False
        self.skew = skew
        return True

    @property
    def is_sure(self) -> bool:
        """Whether the lease lasts, for certain."""
        return self._clock.monotonic() < self._sure_until

    def is_steady(self, duration: timedelta) -> bool:
        """Whether the lease lasts, and has done so for that long."""
        now, since = self._clock.monotonic(), self._sure_since
        return now < self._sure_until and (since is None or now - since >= duration.total_seconds())

    def take_jump(self) -> timedelta:
        """How far the store's time was off what was reckoned, since this was last asked."""
        jump, self._jumped = self._jumped, _NO_JUMP
        return jump
