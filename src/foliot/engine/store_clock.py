"""The store's time on this node, and how long the node can be sure of its lease."""

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
    """The store's time: its answer at the last heartbeat, plus the time since then by the monotonic clock.

    So a wrong or jumping clock of the host does not matter.
    """

    def __init__(self, clock: Clock, longest_gap: timedelta, *, is_steady_at_first: bool = False) -> None:
        self._clock = clock
        self._store_then, self._then = datetime.min.replace(tzinfo=UTC), 0.0
        self._sure_until = 0.0
        self._longest_gap = longest_gap.total_seconds()  # from one answer to the next call
        self._steady_at_first = -inf if is_steady_at_first else inf
        self._answered_at, self._steady_since = -inf, inf
        self._jumped = _NO_JUMP
        self._latest, self._was_set_back = self._store_then, False
        self.skew = timedelta(0)

    def now(self) -> datetime:
        """The store's time."""
        return self._store_then + timedelta(seconds=self._clock.monotonic() - self._then)

    def take(self, lease: Lease, asked_at: float) -> bool:
        """Take over the store's answer to a call of `asked_at`. True if its time jumped ahead."""
        # Counted from before the call: the lease may have begun before the answer came.
        answered_at, is_first = self._clock.monotonic(), self._answered_at == -inf
        if asked_at - self._answered_at > self._longest_gap:  # a slow answer is no gap
            # The clock may have jumped just before. Then others renew at their next heartbeat.
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
            return False  # a slow answer explains the difference; taking it over would make all jobs late
        self._jumped += jump
        self._store_then, self._then = lease.store_now, answered_at
        if jump > _LEAP and not is_first:  # all leases expired by this jump: treat them as renewed
            self._steady_since = answered_at + (lease.until - lease.store_now).total_seconds()
        return jump > _LEAP

    def note_answer(self) -> None:
        """The store has answered another call."""
        self._answered_at = self._clock.monotonic()

    def notes_skew(self) -> bool:
        """Whether the skew of this host's clock has changed; updates `skew`."""
        skew = self._clock.now() - self.now()
        if abs(skew - self.skew) < _NOTABLE:
            return False
        self.skew = skew
        return True

    @property
    def is_sure(self) -> bool:
        """Whether the lease is certainly still valid."""
        return self._clock.monotonic() < self._sure_until

    def is_steady(self, duration: timedelta) -> bool:
        """Whether the store has answered without a gap for that long, as far as this node knows.

        In an outage the renewals of all nodes fail, so an expired lease does not prove a death.
        """
        return not self.time_to_steady(duration)

    def time_to_steady(self, duration: timedelta) -> timedelta:
        """The least time until `is_steady`."""
        now = self._clock.monotonic()
        under_way = duration.total_seconds()  # a call may take that long
        if not self.is_sure or now - self._answered_at > self._longest_gap + under_way:
            return duration  # there is no answer yet
        return max(_AT_ONCE, duration - timedelta(seconds=min(now - self._steady_since, _LONG)))

    def was_set_back(self) -> bool:
        """Whether the store's clock was set back by hours since the last call of this method."""
        was_set_back, self._was_set_back = self._was_set_back, False
        return was_set_back

    def take_jump(self) -> timedelta:
        """The jump of the store's time since the last call of this method."""
        jump, self._jumped = self._jumped, _NO_JUMP
        return jump
