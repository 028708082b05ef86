"""Policies: how a job behaves when things are late, slow, broken or changed.

The designs that Foliot unites contradict each other; here their differences are values. A door gives
its jobs its own preset (`presets.py`), the planner reads the values, and nobody asks which door it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from math import isfinite

from foliot.errors import InvalidPolicyError
from foliot.schedules.duration import parse_duration

_MINUTE = timedelta(minutes=1)
_NOTHING = timedelta(0)
# What is longer is a slip of the pen, and could lead beyond the end of the calendar.
_MOST_DAYS = 36_525
_A_CENTURY = timedelta(days=_MOST_DAYS)
_TOO_LONG = "must be at most a hundred years"


class FirstSeen(StrEnum):
    """What happens when a job is declared for the first time."""

    WAIT = "wait"  # for its next occurrence
    IF_MATCHING = "if_matching"  # it runs at once if the present minute matches
    NOW = "now"  # it runs at once, for its latest occurrence


class OnChange(StrEnum):
    """From where occurrences are counted when a definition changes."""

    NOW = "now"
    LAST = "last"  # from the last attempt, so that what the new rule missed is caught up


class OnLost(StrEnum):
    """What happens to a run whose node died."""

    RESTART = "restart"  # unless it has taken its node along ten times in a row
    GIVE_UP = "give_up"


# Each step of a job reads all its open attempts. With more of them, each step would be slow for all jobs.
MOST_OPEN = 10_000
MOST_CAUGHT_UP = 1000  # runs that one look at a job may open: all of them are decided in one step


class MisfireMode(StrEnum):
    """What becomes of occurrences that nobody could take within their grace."""

    SKIP = "skip"
    ONCE = "once"  # one run, for the latest of them
    ALL = "all"  # a run for each, up to a limit


class OverlapMode(StrEnum):
    """What becomes of an occurrence that comes while a run is open."""

    SKIP = "skip"
    WAIT = "wait"  # one waits for the run to end; further ones are skipped
    REPLACE = "replace"  # the open run is cancelled, and when it is gone this one starts
    PARALLEL = "parallel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfire:
    """How missed occurrences are treated, and from how late on they count as missed."""

    mode: MisfireMode = MisfireMode.ONCE
    limit: int = 1
    grace: timedelta = _MINUTE

    def __post_init__(self) -> None:
        _take_mode(self, "misfire.mode", MisfireMode)
        given: object = self.grace  # users may write "5m"
        grace = parse_duration(given) if isinstance(given, str) else self.grace
        _require(_is_duration(grace), "misfire.grace", grace, 'must be a duration, such as "10s"')
        _require(grace >= _NOTHING, "misfire.grace", grace, "must not be negative")
        object.__setattr__(self, "grace", grace)
        _require(self.limit >= 1, "misfire.limit", self.limit, "must be at least 1")
        _require(
            self.limit <= MOST_CAUGHT_UP, "misfire.limit", self.limit, f"must be at most {MOST_CAUGHT_UP}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How many runs of a job may be open, and what one more does."""

    mode: OverlapMode = OverlapMode.SKIP
    limit: int | None = None  # of PARALLEL; None: no bound

    def __post_init__(self) -> None:
        _take_mode(self, "overlap.mode", OverlapMode)
        _require(self.limit is None or self.limit >= 1, "overlap.limit", self.limit, "must be at least 1")

    @property
    def most(self) -> int | None:
        """How many runs may be open at once; None: no bound."""
        return self.limit if self.mode is OverlapMode.PARALLEL else 1


def parallel(limit: int | None = None) -> Overlap:
    """Runs may overlap, up to a number of them."""
    return Overlap(mode=OverlapMode.PARALLEL, limit=limit)


@dataclass(frozen=True, slots=True)
class Retry:
    """Whether, when and how often a run that failed is tried again.

    `max` counts retries, not attempts; None: for ever; 0: not at all. With a `backoff` of 2 each delay
    is twice the one before, up to `longest`. `jitter` stretches a delay by up to that fraction, by a
    hash of run and attempt, so that it is the same for every node. `is_preempted`: the next occurrence
    takes the place of a retry that waits.
    """

    max: int | None = 0
    delay: timedelta = timedelta(seconds=10)
    backoff: float = 1.0
    longest: timedelta = timedelta(hours=1)
    jitter: float = 0.0
    is_preempted: bool = False

    def __init__(  # noqa: PLR0913 - what users write: Retry(max=3, delay="10s")
        self,
        max: int | None = 0,  # noqa: A002 - the word that users read
        delay: timedelta | str = timedelta(seconds=10),
        *,
        backoff: float = 1.0,
        longest: timedelta | str = timedelta(hours=1),
        jitter: float = 0.0,
        is_preempted: bool = False,
    ) -> None:
        _require(max is None or max >= 0, "retry.max", max, "must not be negative")
        is_factor = backoff >= 1 and isfinite(backoff)
        _require(is_factor, "retry.backoff", backoff, "must be a finite number, at least 1")
        _require(0 <= jitter <= 1, "retry.jitter", jitter, "must lie between 0 and 1")
        set_once = object.__setattr__
        set_once(self, "max", max)
        set_once(self, "delay", _duration("retry.delay", delay))
        set_once(self, "backoff", float(backoff))
        set_once(self, "longest", _duration("retry.longest", longest))
        set_once(self, "jitter", float(jitter))
        set_once(self, "is_preempted", is_preempted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How much history of a job is kept. `problems_only` drops successes but for the last run."""

    last: int | None = 100
    days: int | None = 30
    problems_only: bool = False

    def __post_init__(self) -> None:
        _require(self.last is None or self.last >= 1, "keep.last", self.last, "must be at least 1")
        is_span = self.days is None or 1 <= self.days <= _MOST_DAYS
        _require(is_span, "keep.days", self.days, f"must lie between 1 and {_MOST_DAYS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """All of a job's policies. The defaults are those of jobs in code (`@app.job`)."""

    first_seen: FirstSeen = FirstSeen.WAIT
    misfire: Misfire = field(default_factory=Misfire)
    before_first_run: bool = True  # whether a job that never ran is caught up
    on_change: OnChange = OnChange.NOW
    overlap: Overlap = field(default_factory=Overlap)
    retry: Retry = field(default_factory=Retry)
    on_lost: OnLost = OnLost.RESTART
    timeout: timedelta | None = None
    keep: Keep = field(default_factory=Keep)
    remembers: bool = True  # whether a job that was removed and comes back knows what it has served

    def __post_init__(self) -> None:
        if self.timeout is not None:
            _require(self.timeout > _NOTHING, "timeout", self.timeout, "must be positive")
            _require(self.timeout <= _A_CENTURY, "timeout", self.timeout, _TOO_LONG)


def _take_mode(policy: Misfire | Overlap, name: str, modes: type[StrEnum]) -> None:
    """A mode that is given as text becomes the member: the planner tells members apart by identity."""
    try:
        object.__setattr__(policy, "mode", modes(policy.mode))
    except ValueError:
        hint = f"one of: {', '.join(modes)}"
        raise InvalidPolicyError(name, policy.mode, "is not known", hint=hint) from None


def _is_duration(value: object) -> bool:
    return isinstance(value, timedelta)


def _duration(name: str, value: timedelta | str) -> timedelta:
    duration = parse_duration(value) if isinstance(value, str) else value
    _require(_is_duration(duration), name, value, 'must be a duration, such as "10s"')
    _require(duration >= _NOTHING, name, duration, "must not be negative")
    _require(duration <= _A_CENTURY, name, duration, _TOO_LONG)
    return duration


def _require(condition: bool, name: str, value: object, reason: str) -> None:  # noqa: FBT001
    if not condition:
        raise InvalidPolicyError(name, value, reason)
