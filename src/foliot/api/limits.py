"""How much a client may ask for. A limit that is met is told by a problem, and counted in `/metrics`."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from foliot.api.problem import ProblemError
from foliot.errors import FoliotError, shorten
from foliot.protocols import Clock

_MOST_REMEMBERED = 10_000
_MOST = 2**31 - 1


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
    failed_tokens: int = 60  # in a minute, of one address
    streams: int = 256
    streams_of_token: int = 8
    stream_life: float = 1800.0
    heavy: int = 2  # searches and forecasts at a time


def read_limits(texts: Iterable[str]) -> Limits:
    """The limits of texts such as `rate=100`; of two for one name the last holds."""
    limits: dict[str, int | float] = asdict(Limits())
    for text in texts:
        name, _, value = text.partition("=")
        if name not in limits:
            hint = f"one of: {', '.join(limits)}; such as rate=100"
            raise FoliotError(f"the API has no limit {shorten(name)!r}", hint=hint)
        kind = type(limits[name])
        try:
            limits[name] = kind(value)
        except ValueError:
            limits[name] = 0
        if not 0 < limits[name] <= _MOST:  # also false for `nan`
            what = "a whole number" if kind is int else "a number"
            reason = f"the limit {name} of the API cannot be {shorten(value)!r}"
            raise FoliotError(reason, hint=f"{what} above 0, {_MOST} at most; in seconds or bytes")
    return Limits(**limits)  # type: ignore[arg-type]  # each has the type of its default


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
    """Counts what is open at a time: streams, or heavy questions. It is given the names of its limits."""

    def __init__(self, limits: Limits, of_all: str, of_one: str | None = None) -> None:
        self._of_all, self._of_one = of_all, of_one or of_all
        self._most, self._most_of_one = getattr(limits, self._of_all), getattr(limits, self._of_one)
        self._open: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """How many are open."""
        return self._open.total()

    def check(self, name: str) -> None:
        """429 if one more is too many."""
        is_full = self.count >= self._most
        if is_full or self._open[name] >= self._most_of_one:
            limit = self._of_all if is_full else self._of_one
            raise too_many(limit, "too many of these are open at a time", 5)

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


def too_many(limit: str, detail: str, seconds: float) -> ProblemError:
    """429 by a limit, with the time after which to ask again."""
    headers = {"Retry-After": str(max(1, round(seconds + 0.5)))}
    hint = "ask again later, and more slowly"
    return ProblemError(429, "TOO_MANY", detail, hint=hint, headers=headers, limit=limit)
