"""Policies: how a job behaves when things are late, slow, broken or changed.

The designs that Foliot unites contradict each other; here their differences are values. A door gives
its jobs its own preset (`presets.py`); the planner reads the values and does not know the door.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from math import isfinite

from foliot.errors import InvalidDurationError, InvalidPolicyError
from foliot.model.alert import AlertKind
from foliot.model.chain import Link, check_links
from foliot.schedules.duration import parse_duration

_MINUTE = timedelta(minutes=1)
_NOTHING = timedelta(0)
# What is longer is a slip of the pen, and could lead beyond the end of the calendar.
_MOST_DAYS = 36_525
_A_CENTURY = timedelta(days=_MOST_DAYS)
_LARGEST = 2**63 - 1  # what a store can keep
DURATION_HINT = 'such as "30s" or "5m", or a timedelta'
_SECOND, _A_DAY = timedelta(seconds=1), timedelta(days=1)
_CHANNEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,249}")
_UNTOLD = (AlertKind.ENDED, AlertKind.TRIED, AlertKind.AFTER)
TOLD_KINDS = tuple(kind for kind in AlertKind if kind not in _UNTOLD)  # that `on` is about
USUAL_ALERTS = tuple(kind for kind in TOLD_KINDS if kind not in (AlertKind.SKIPPED, AlertKind.OUTPUT))
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
    """What happens to occurrences that no node started within their grace."""

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
        grace = read_duration("misfire.grace", self.grace)  # users may write "5m"
        _require(grace >= _NOTHING, "misfire.grace", grace, "must not be negative")
        object.__setattr__(self, "grace", grace)
        _check_count("misfire.limit", self.limit, most=MOST_CAUGHT_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How many runs of a job may be open, and what one more does."""

    mode: OverlapMode = OverlapMode.SKIP
    limit: int | None = None  # of PARALLEL; None: no bound

    def __post_init__(self) -> None:
        _take_mode(self, "overlap.mode", OverlapMode)
        _check_count("overlap.limit", self.limit, or_none=True)

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
        _check_count("retry.max", max, least=0, or_none=True)
        is_factor = _is_number(backoff) and backoff >= 1 and isfinite(backoff)
        _require(is_factor, "retry.backoff", backoff, "must be a finite number, at least 1")
        is_part = _is_number(jitter) and 0 <= jitter <= 1
        _require(is_part, "retry.jitter", jitter, "must lie between 0 and 1")
        check_flag("retry.is_preempted", is_preempted)
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
        _check_count("keep.last", self.last, or_none=True)
        _check_count("keep.days", self.days, most=_MOST_DAYS, or_none=True)
        check_flag("keep.problems_only", self.problems_only)


@dataclass(frozen=True, slots=True, init=False)
class Notify:
    """Which channels get alerts of a job, and of which kinds. Without channels there are no alerts.

    `after`: how many runs in a row must fail for a `failure`. `remind`: an alert is repeated after that time
    while the trouble goes on; None: never.
    """

    to: tuple[str, ...]
    on: tuple[AlertKind, ...] = USUAL_ALERTS
    after: int = 1
    remind: timedelta | None = timedelta(days=1)

    def __init__(
        self,
        to: Iterable[str],
        *,
        on: Iterable[AlertKind | str] = USUAL_ALERTS,
        after: int = 1,
        remind: timedelta | str | None = timedelta(days=1),
    ) -> None:
        channels = _words("notify.to", to)
        for name in channels:
            _check_channel("notify.to", name)
        kinds = set(map(_alert_kind, _words("notify.on", on)))
        _check_count("notify.after", after)
        set_once = object.__setattr__
        set_once(self, "to", tuple(dict.fromkeys(channels)))
        set_once(self, "on", tuple(kind for kind in TOLD_KINDS if kind in kinds))
        set_once(self, "after", after)
        set_once(self, "remind", _span("notify.remind", remind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What is expected of a job. If it does not happen, the channels of its `Notify` get an alert.

    `start_within`: a run starts within this time after its occurrence. `finish_within`: a run ends within
    this time after its start; it is not killed. `success_every`: a run succeeds at least that often; the time
    of a pause does not count.
    """

    start_within: timedelta | None = None
    finish_within: timedelta | None = None
    success_every: timedelta | None = None

    def __post_init__(self) -> None:
        for name in ("start_within", "finish_within", "success_every"):
            object.__setattr__(self, name, _span(f"expect.{name}", getattr(self, name)))


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
    splay: timedelta | None = None  # its runs start up to so long after their occurrences: see `model.splay`
    notify: Notify | None = None
    expect: Expect | None = None
    ping: str | None = None  # the channel that pings each start and each end
    after: Link | None = None  # the job that it runs after: see `model.chain`
    then: tuple[Link, ...] | None = None  # the jobs that run after it

    @property
    def is_watched(self) -> bool:
        """Whether the job sends alerts or pings."""
        return self.ping is not None or (self.notify is not None and bool(self.notify.to))

    def __post_init__(self) -> None:
        for name, kind, hint, number in _PARTS:
            value = getattr(self, name)
            if value is None and name in _OPTIONAL:
                continue
            if isinstance(value, str) and value in kind.__dict__.get("_value2member_map_", ()):
                object.__setattr__(self, name, kind(value))  # the planner compares members by identity
            elif not isinstance(value, kind):
                right = hint.format(_number_or(value, number))
                raise InvalidPolicyError(name, value, f"must be {_a(kind)}", hint=right)
        check_flag("before_first_run", self.before_first_run)
        check_flag("remembers", self.remembers)
        check_links(self.after, self.then)
        if self.ping is not None:
            _check_channel("ping", self.ping)
        if self.timeout is not None:
            reason = "must be a duration"
            _require(_is_duration(self.timeout), "timeout", self.timeout, reason, hint=DURATION_HINT)
            _require(self.timeout > _NOTHING, "timeout", self.timeout, "must be positive")
            _require(self.timeout <= _A_CENTURY, "timeout", self.timeout, _TOO_LONG)
        if self.splay is not None:
            _require(_is_duration(self.splay), "splay", self.splay, "must be a duration", hint=DURATION_HINT)
            _require(_SECOND <= self.splay <= _A_DAY, "splay", self.splay, "must lie between 1s and 1d")


def _one_of(words: type[StrEnum]) -> str:
    return f"one of: {', '.join(words)}"


# The type of each part, what would be right, and the number that stands for {} unless one was given. What is
# of another type would be found out only when a run has failed, or a node has died.
_PARTS: tuple[tuple[str, type, str, int], ...] = (
    ("first_seen", FirstSeen, _one_of(FirstSeen), 0),
    ("misfire", Misfire, f"{_one_of(MisfireMode)}; or Misfire(mode=…, limit={{}})", 10),
    ("on_change", OnChange, _one_of(OnChange), 0),
    ("overlap", Overlap, f"{_one_of(OverlapMode)}; or parallel({{}})", 2),
    ("retry", Retry, "Retry(max={})", 3),
    ("on_lost", OnLost, _one_of(OnLost), 0),
    ("keep", Keep, "Keep(last={})", 100),
    ("notify", Notify, 'Notify("ops")', 0),
    ("expect", Expect, 'Expect(start_within="10m")', 0),
)
_OPTIONAL = ("notify", "expect")


def _number_or(given: object, usual: int) -> int:
    """What a number that stands in the place of a policy was meant for."""
    is_number = isinstance(given, int) and not isinstance(given, bool)
    return given if is_number and 0 < given <= MOST_CAUGHT_UP else usual  # type: ignore[operator, return-value]


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


def _take_mode(policy: Misfire | Overlap, name: str, modes: type[StrEnum]) -> None:
    """Convert a mode given as text to its member: the planner compares members by identity."""
    try:
        object.__setattr__(policy, "mode", modes(policy.mode))
    except ValueError:
        hint = f"one of: {', '.join(modes)}"
        raise InvalidPolicyError(name, policy.mode, "is not known", hint=hint) from None


def _words(name: str, value: object) -> tuple[object, ...]:
    """One word, or several."""
    if isinstance(value, str):
        return (value,)
    _require(isinstance(value, Iterable), name, value, "must be a name, or several")
    return tuple(value)  # type: ignore[arg-type]  # checked in the line above


def _check_channel(field: str, name: object) -> None:
    is_channel = isinstance(name, str) and _CHANNEL.fullmatch(name) is not None
    _require(is_channel, field, name, "is no name of a channel", hint='such as "ops"')


def _alert_kind(value: object) -> AlertKind:
    try:
        return AlertKind(str(value))
    except ValueError:
        hint = f"one of: {', '.join(TOLD_KINDS)}"
        raise InvalidPolicyError("notify.on", value, "is no kind of alert", hint=hint) from None


def _span(name: str, value: timedelta | str | None) -> timedelta | None:
    """A duration that is not nothing, or None."""
    duration = None if value is None else _duration(name, value)
    _require(duration is None or duration > _NOTHING, name, value, "must be positive")
    return duration


def _is_duration(value: object) -> bool:
    return isinstance(value, timedelta)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_duration(name: str, value: timedelta | str) -> timedelta:
    """A duration, which may be given as text such as "1h30m"; InvalidPolicyError names whose it is."""
    try:
        duration = parse_duration(value) if isinstance(value, str) else value
    except InvalidDurationError as error:
        raise InvalidPolicyError(name, value, f"is no duration: it {error.reason}", hint=error.hint) from None
    _require(_is_duration(duration), name, value, "must be a duration", hint=DURATION_HINT)
    return duration


def check_flag(name: str, value: object) -> None:
    """Refuse "no" and 0, which are not False."""
    _require(isinstance(value, bool), name, value, "must be True or False")


def _check_count(
    name: str, value: object, *, least: int = 1, most: int = _LARGEST, or_none: bool = False
) -> None:
    """Refuse what is no number of things. True and False are numbers in Python, but not here."""
    if value is None and or_none:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidPolicyError(name, value, "must be a whole number" + (", or None" if or_none else ""))
    _require(value >= least, name, value, f"must be at least {least}" if least else "must not be negative")
    _require(value <= most, name, value, f"must be at most {most}")


def _duration(name: str, value: timedelta | str) -> timedelta:
    duration = read_duration(name, value)
    _require(duration >= _NOTHING, name, duration, "must not be negative")
    _require(duration <= _A_CENTURY, name, duration, _TOO_LONG)
    return duration


def _require(
    condition: bool,  # noqa: FBT001
    name: str,
    value: object,
    reason: str,
    *,
    hint: str | None = None,
) -> None:
    if not condition:
        raise InvalidPolicyError(name, value, reason, hint=hint)
