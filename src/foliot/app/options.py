"""Options of a job as users write them, and the definition made of them."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any, Literal, TypedDict

from foliot.errors import InvalidJobError, InvalidPolicyError, shorten
from foliot.model.job import Action, Job, is_name, shared_by, unchecked_job
from foliot.model.policy import (
    DURATION_HINT,
    Expect,
    FirstSeen,
    Keep,
    Misfire,
    MisfireMode,
    Notify,
    OnChange,
    OnLost,
    Overlap,
    OverlapMode,
    Policy,
    Retry,
    read_duration,
)
from foliot.schedules import Cron, Every, Never, Once, OnDays, Schedule


class JobOptions(TypedDict, total=False):
    """The options of a job; docs/reference/policies.md has the defaults."""

    queue: str
    group: str | None
    timeout: timedelta | str | None
    splay: timedelta | str | None
    retry: Retry
    overlap: Overlap | Literal["skip", "wait", "replace", "parallel"]
    misfire: Misfire | Literal["skip", "once", "all"]
    grace: timedelta | str
    on_lost: OnLost | Literal["restart", "give_up"]
    on_change: OnChange | Literal["now", "last"]
    first_seen: FirstSeen | Literal["wait", "if_matching", "now"]
    before_first_run: bool
    keep: Keep
    enabled: bool
    repeat_until: datetime | None
    auto_remove: bool
    notify: Notify | str | Sequence[str] | None
    expect: Expect | None
    ping: str | None


Scheduled = tuple[str, Schedule | str, Callable[..., Any] | str | Action, Mapping[str, Any] | None]

_OF_THE_JOB = ("queue", "group", "enabled", "repeat_until", "auto_remove")
_EXAMPLE = Every("1h")
_COMPARABLE = frozenset((str, Cron, Every, Never, OnDays, Once))
_MOST_RULES = 4096
_FOUR = "(name, schedule, action, payload)"
_WORDS_OF_OTHERS = {
    "tz": "timezone",
    "concurrency": "overlap",
    "pool": "group",
    "max_instances": "overlap=parallel(…)",
    "coalesce": "misfire",
    "catchup": "misfire",
    "misfire_grace_time": "grace",
    "max_retries": "retry",
}


def make_schedule(schedule: Schedule | str, timezone: str | None) -> Schedule:
    """A rule as text is a cron expression."""
    given: object = schedule
    if not isinstance(given, str | Schedule):
        hint = 'write @app.job("*/5 * * * *"), or give it Cron, Every or Once'
        raise InvalidJobError("schedule", schedule, "is no schedule", hint=hint)
    if isinstance(schedule, str):
        return Cron(schedule, timezone="UTC" if timezone is None else timezone)
    if timezone is not None:
        raise InvalidPolicyError(
            "timezone", timezone, "is for rules that are given as text", hint="give it to the schedule itself"
        )
    return schedule


class Rules:
    """The schedules of one call. Equal ones become one object, so that jobs share its tables."""

    def __init__(self) -> None:
        self._known: dict[Schedule | str, Schedule] = {}

    def of(self, schedule: Schedule | str) -> Schedule:
        """A rule that may be given as text."""
        if type(schedule) not in _COMPARABLE:
            return make_schedule(schedule, None)
        found = self._known.get(schedule)
        if found is None:
            if len(self._known) >= _MOST_RULES:
                self._known.clear()
            made = make_schedule(schedule, None)
            found = self._known[schedule] = self._known.setdefault(made, made)
        return found


class Template:
    """What many jobs have in common: source and options, checked once.

    `notify`: the default channels. `groups`: the groups with a limit.
    """

    def __init__(
        self, source: str, options: JobOptions, notify: object = None, groups: Collection[str] = ()
    ) -> None:
        given: dict[str, Any] = {"notify": notify, **options}
        _refuse_unknown(given)
        self._own = {field: given.pop(field) for field in _OF_THE_JOB if field in given}
        self._source = source
        self._shared: dict[int, tuple[Schedule, tuple[Any, ...]]] = {}  # by the identity of the schedule
        self.policy = make_policy(given)
        # A one-time job for a time that has just passed shall run.
        self._at_once = self.policy if "first_seen" in given else make_policy({**given, "first_seen": "now"})
        # Check the options now: the first of a million jobs may come much later.
        job = self._make("check", _EXAMPLE, Action(kind="check"), self.policy)
        if job.group is not None and job.group not in groups:
            hint = f'say how many of it may run at once: Foliot(groups={{"{job.group}": 1}})'
            raise InvalidJobError("group", job.group, "has no limit", hint=hint)

    def declared(self, name: str, schedule: Schedule, action: Action) -> Job:
        """A job of the code."""
        return self._make(name, schedule, action, self.policy)

    def scheduled(self, name: str, schedule: Schedule, action: Action) -> Job:
        """A job that is added while the program runs."""
        known = self._shared.get(id(schedule))
        if known is not None and is_name(name):
            return unchecked_job(name, action, known[1])
        policy = self._at_once if isinstance(schedule, Once) else self.policy
        job = self._make(name, schedule, action, policy)
        if len(self._shared) >= _MOST_RULES:
            self._shared.clear()
        self._shared[id(schedule)] = schedule, shared_by(job)  # it is kept, so that its id is not used again
        return job

    def _make(self, name: str, schedule: Schedule, action: Action, policy: Policy) -> Job:
        return Job(
            source=self._source, name=name, schedule=schedule, action=action, policy=policy, **self._own
        )


def _refuse_unknown(given: Mapping[str, Any]) -> None:
    known = tuple(JobOptions.__annotations__)
    for name in given:
        if name not in known:
            close = _WORDS_OF_OTHERS.get(name) or next(iter(get_close_matches(name, known, n=1)), None)
            hint = f"did you mean {close}?" if close else f"one of: {', '.join(known)}"
            raise InvalidPolicyError("option", name, "is not known", hint=hint)


@contextmanager
def naming(job: object) -> Iterator[None]:
    """Add the job's name to errors raised inside."""
    try:
        yield
    except InvalidJobError as error:
        name_job(error, job)
        raise


def name_job(error: InvalidJobError, job: object) -> None:
    """Put the job's name into an error's sentence."""
    error.message = f"job {shorten(job)}: {error.message}"
    error.args = (error.message,)
    error.details["job"] = job


def make_policy(options: Mapping[str, Any]) -> Policy:
    """Policies from options: durations and modes may be text."""
    given = dict(options)
    grace = given.pop("grace", None)
    for name in ("timeout", "splay"):
        if given.get(name) is not None:
            given[name] = as_duration(name, given[name])
    for field, kinds in _BY_NAME.items():
        if isinstance(given.get(field), str):
            given[field] = _by_name(field, given[field], kinds)
    if "notify" in given:
        given["notify"] = as_notify(given["notify"])
    policy = Policy(**given)
    if grace is None:
        return policy
    return replace(policy, misfire=replace(policy.misfire, grace=as_duration("grace", grace)))


def as_notify(given: Any) -> Any:
    """A `Notify`, from itself or from names of channels."""
    return Notify(given) if isinstance(given, str | list | tuple) else given


_BY_NAME: dict[str, Any] = {
    "overlap": (OverlapMode, lambda mode: Overlap(mode=mode)),
    "misfire": (MisfireMode, lambda mode: Misfire(mode=mode)),
    "on_lost": (OnLost, lambda value: value),
    "on_change": (OnChange, lambda value: value),
    "first_seen": (FirstSeen, lambda value: value),
}


def _by_name(field: str, text: str, kinds: Any) -> Any:
    names, make = kinds
    try:
        return make(names(text))
    except ValueError:
        known = ", ".join(str(name) for name in names)
        raise InvalidPolicyError(field, text, "is not known", hint=f"one of: {known}") from None


def as_duration(field: str, value: timedelta | str) -> timedelta:
    """A duration, which may be given as text such as "1h30m"."""
    duration = read_duration(field, value)
    if duration <= timedelta(0):
        raise InvalidPolicyError(field, value, "must be a positive duration", hint=DURATION_HINT)
    return duration


async def each(jobs: Iterable[Scheduled] | AsyncIterable[Scheduled]) -> AsyncIterable[Scheduled]:
    """Iterate over jobs from a plain or an asynchronous iterable."""
    given: object = jobs
    if isinstance(given, AsyncIterable):
        async for job in given:
            yield _four(job)
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        for job in given:
            yield _four(job)
    else:
        raise InvalidJobError("jobs", jobs, "must be many jobs, one after the other", hint=_FOUR)


def _four(job: object) -> Scheduled:
    if not isinstance(job, tuple | list) or len(job) != 4:  # noqa: PLR2004 - they are named below
        raise InvalidJobError("jobs", job, "is not what a job is given by", hint=_FOUR)
    name, schedule, action, payload = job
    return name, schedule, action, payload
