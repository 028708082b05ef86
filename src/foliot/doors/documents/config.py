"""What a scheduler is made of: a store, handlers, and four durations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeAlias, get_args

from foliot.doors.documents.errors import InvalidConfigError
from foliot.doors.documents.job import MILLISECOND, Job, JobStore
from foliot.errors import InvalidDurationError, InvalidTimezoneError, shorten
from foliot.protocols import Clock
from foliot.schedules.duration import parse_duration
from foliot.schedules.zone import resolve_timezone

NOTHING = timedelta(0)
Duration: TypeAlias = timedelta | str | Literal[0]
CatchUp: TypeAlias = Literal["now", "next"]
Handler: TypeAlias = Callable[[], Any]
_DURATIONS = ("next_delay", "reprocess_delay", "idle_delay", "lock_duration")
_HANDLERS = ("on_document", "on_start", "on_stop", "on_idle", "on_error")
_VERBS = ("lock_next", "update", "remove")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The options of a scheduler. Durations are timedeltas or texts such as "10s".

    Handlers may be async, or not: then they run in a thread. `on_error` takes the error, or the error and the
    job. `catch_up`: a recurring job whose next time is past runs again now, as mongodb-cron has it, or at its
    next time. `renews`: keep the lock of a job while its handler runs, if the store can.
    """

    store: JobStore | None = None
    on_document: Callable[[Job], Any] | None = None
    on_start: Handler | None = None
    on_stop: Handler | None = None
    on_idle: Handler | None = None
    on_error: Callable[..., Any] | None = None
    next_delay: Duration = NOTHING
    reprocess_delay: Duration = NOTHING
    idle_delay: Duration = NOTHING
    lock_duration: Duration = timedelta(minutes=10)
    timezone: str = "local"
    catch_up: CatchUp = "now"
    renews: bool = True
    clock: Clock | None = None

    def __post_init__(self) -> None:
        for name, duration in zip(_DURATIONS, durations(self), strict=True):
            object.__setattr__(self, name, duration)
        if durations(self)[-1] < MILLISECOND:
            raise InvalidConfigError("lock_duration", "must be a millisecond at least", hint='such as "10m"')
        for name in _HANDLERS:
            handler = getattr(self, name)
            if handler is not None and not callable(handler):
                raise InvalidConfigError(name, f"must be a function, not {shorten(handler)}")
        if self.catch_up not in get_args(CatchUp):
            raise InvalidConfigError("catch_up", f'must be "now" or "next", not {shorten(self.catch_up)}')
        try:
            object.__setattr__(self, "timezone", resolve_timezone(self.timezone))
        except InvalidTimezoneError as error:
            raise InvalidConfigError("timezone", error.message, hint=error.hint) from error


def durations(config: Config) -> tuple[timedelta, timedelta, timedelta, timedelta]:
    """The delay before each look, before a job recurs, while idle; and how long a lock lasts."""
    following, again, idle, lock = (read_duration(name, getattr(config, name)) for name in _DURATIONS)
    return following, again, idle, lock


def checked_store(store: object) -> JobStore:
    """The store of a config, if it has one that can do what a store must."""
    if store is None:
        raise InvalidConfigError("store", "is required", hint="Config(store=MongoStore(collection), …)")
    for verb in _VERBS:
        if not callable(getattr(store, verb, None)):
            raise InvalidConfigError(
                "store", f"has no method {verb}", hint="a store has " + ", ".join(_VERBS)
            )
    if isinstance(store, JobStore):
        return store
    raise InvalidConfigError("store", "is no JobStore")


def takes_job(on_error: Callable[..., Any] | None) -> bool:
    """Whether a handler of errors wants the job, too."""
    if on_error is None:
        return False
    try:
        inspect.signature(on_error).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True


def read_duration(name: str, value: object) -> timedelta:
    """A duration as a user wrote it."""
    if isinstance(value, str):
        try:
            value = parse_duration(value)
        except InvalidDurationError as error:
            raise InvalidConfigError(name, f'"{shorten(value)}" {error.reason}', hint=error.hint) from error
    if value == 0 and isinstance(value, int):
        return NOTHING
    if not isinstance(value, timedelta):
        raise InvalidConfigError(
            name, f"must be a duration, not {shorten(value)}", hint='a timedelta, or a text such as "10s"'
        )
    if value < NOTHING:
        raise InvalidConfigError(name, "must not be negative")
    return value
