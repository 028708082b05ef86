"""What time it is in the store, and for how long this node may be sure of its lease."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf

from foliot.model.state import CORRECTION, Lease
from foliot.protocols import Clock

_NO_JUMP = _AT_ONCE = timedelta(0)
_LONG = 1e9  # seconds
_LEAP = timedelta(seconds=1)
_NOTABLE = timedelta(seconds=2)


class StoreClock:
    """The store's time: what it said at the last heartbeat, and what has passed since by the monotonic clock.

    So no fast clock of a host fires early, and no jump of it matters.
    """

    def __init__(self, clock: Clock, longest_gap: timedelta, *, is_steady_at_first: bool = False) -> None:
        self._clock = clock
        self._store_then, self._then = datetime.min.replace(tzinfo=UTC), 0.0
        self._sure_until = 0.0
        self._longest_gap = longest_gap.total_seconds()  # from an answer to the next question
        self._steady_at_first = -inf if is_steady_at_first else inf
        self._answered_at, self._steady_since = -inf, inf
        self._jumped = _NO_JUMP
        self._latest, self._was_set_back = self._store_then, False
        self.skew = timedelta(0)

    def now(self) -> datetime:
        """The store's time."""
        return self._store_then + timedelta(seconds=self._clock.monotonic() - self._then)

    def take(self, lease: Lease, asked_at: float) -> bool:
        """Take over what the store answered; it was asked at `asked_at`. True if its time leapt ahead."""
        # Counted from before the question: the lease may have begun while it was on its way.
        answered_at, is_first = self._clock.monotonic(), self._answered_at == -inf
        if asked_at - self._answered_at > self._longest_gap:  # a slow answer is an answer, and no gap
            # The clock may have jumped just before: then others renew when their next heartbeat is due.
            unknown = self._longest_gap if is_first else 0.0
            self._steady_since = min(answered_at + unknown, self._steady_at_first)
            self._steady_at_first = inf
        self._answered_at = answered_at
        self._sure_until = asked_at + (lease.until - lease.store_now).total_seconds()
        self._latest = max(self._latest, self.now())
        if lease.store_now + CORRECTION < self._latest:
            self._was_set_back, self._latest = True, lease.store_now
        jump = lease.store_now - self.now()
        if abs(jump.total_seconds()) <= answered_at - asked_at:
            return False  # a slow answer explains the difference, and would make everything late
        self._jumped += jump
        self._store_then, self._then = lease.store_now, answered_at
        if jump > _LEAP and not is_first:  # all leases have run out at once: they count as begun anew
            self._steady_since = answered_at + (lease.until - lease.store_now).total_seconds()
        return jump > _LEAP

    def note_answer(self) -> None:
        """The store has just answered something else."""
        self._answered_at = self._clock.monotonic()

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
        """Whether the store has answered all nodes for that long without a gap, as far as this node knows.

        In an outage the renewals of all nodes fail: then a lease that has run out does not prove a death.
        """
        return not self.time_to_steady(duration)

    def time_to_steady(self, duration: timedelta) -> timedelta:
        """How long it will be, at least, until that is so."""
        now = self._clock.monotonic()
        under_way = duration.total_seconds()  # for as long a call may take
        if not self.is_sure or now - self._answered_at > self._longest_gap + under_way:
            return duration  # there is no answer yet to count from
        return max(_AT_ONCE, duration - timedelta(seconds=min(now - self._steady_since, _LONG)))

    def was_set_back(self) -> bool:
        """Whether the store's clock was set back by hours, at once or bit by bit, since the last asking."""
        was_set_back, self._was_set_back = self._was_set_back, False
        return was_set_back

    def take_jump(self) -> timedelta:
        """How far the store's time was off what was reckoned, since this was last asked."""
        jump, self._jumped = self._jumped, _NO_JUMP
        return jump
