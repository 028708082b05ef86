"""How much a client may ask for. A limit that is met is told by 429 or 503, and counted."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from foliot.api.problem import ProblemError
from foliot.protocols import Clock

_MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All limits. Times are in seconds, sizes in bytes."""

    body: int = 1 << 20
    batch_body: int = 8 << 20
    header: int = 16 << 10
    receive: float = 10.0
    keep_alive: int = 5
    connections: int = 512
    connections_of_address: int = 64
    rate: float = 50.0
    burst: int = 100
    failed_logins: int = 10  # in a minute, of one address
    streams: int = 256
    streams_of_token: int = 8
    stream_life: float = 1800.0
    heavy: int = 2  # searches and forecasts at a time


class Buckets:
    """A bucket of tokens for each name: `burst` at first, and `rate` more each second."""

    def __init__(self, clock: Clock, rate: float, burst: int) -> None:
        self._clock, self._rate, self._burst = clock, rate, float(burst)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # how many, and when

    def wait(self, name: str) -> float:
        """Seconds until the bucket has one; 0: there is one."""
        now = self._clock.monotonic()
        left, at = self._left.get(name, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        self._left[name] = left, now
        self._left.move_to_end(name)
        while len(self._left) > _MOST_REMEMBERED:
            self._left.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / self._rate

    def take(self, name: str) -> None:
        """Take one out."""
        left, at = self._left.get(name, (self._burst, self._clock.monotonic()))
        self._left[name] = left - 1, at


class Gate:
    """Counts what is open at a time: streams, or heavy questions."""

    def __init__(self, most: int, most_of_one: int | None = None) -> None:
        self._most, self._most_of_one = most, most_of_one or most
        self._open: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """How many are open."""
        return self._open.total()

    def check(self, name: str) -> None:
        """429 if one more is too many."""
        if self._open[name] >= self._most_of_one or self.count >= self._most:
            raise too_many("too many of these are open at a time", 5)

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """One more, for a while."""
        self.check(name)
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]


def too_many(detail: str, seconds: float) -> ProblemError:
    """429, with the time after which to ask again."""
    headers = {"Retry-After": str(max(1, round(seconds + 0.5)))}
    return ProblemError(429, "TOO_MANY", detail, hint="ask again later, and more slowly", headers=headers)
