"""Registrations: what users declare, checked in one go, and the jobs that they become."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeGuard

from foliot.doors.declarative.errors import (
    InvalidRegistrationError,
    NegativeRetryDelayError,
    RegistrationShapeError,
    RegistrationsNotArrayError,
    ScheduleDuplicateTaskError,
)
from foliot.doors.declarative.naming import LONGEST_ESCAPED, escape, job_name
from foliot.engine.convergence import Mark, mark_of
from foliot.errors import CronCalculationError, InvalidJobError
from foliot.model.attempt import format_instant
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.presets import DECLARATIVE
from foliot.schedules import Cron

Callback = Callable[[], Awaitable[object]]
Registration = tuple[str, str, Callback, timedelta]

_FIELDS = 4
_NOTHING = timedelta(0)
_ANY = Cron("0 0 * * *")


class Plan(NamedTuple):
    """All that was registered, by the names of jobs: the jobs, and what each of them calls.

    `escaped` are the names of those tasks that a job cannot have.
    """

    mark: Mark
    jobs: Mapping[str, Job]
    callbacks: Mapping[str, Callback]
    escaped: Mapping[str, str]


def check_namespace(namespace: str) -> None:
    """Refuse a name that no job could have as its source."""
    Job(source=namespace, name="check", schedule=_ANY, action=Action(kind="check"))


def read_registrations(registrations: object, namespace: str, now: datetime) -> Plan:
    """All that was registered, or the first error: by index, then by shape, name, cron, delay, duplicate."""
    if not isinstance(registrations, list | tuple):
        raise RegistrationsNotArrayError
    reader = _Reader(namespace, now)
    for index, registration in enumerate(registrations):
        reader.read(index, registration)
    return reader.plan()


class _Reader:
    """Reads one registration after the other. Equal rules and delays are made once for all."""

    def __init__(self, namespace: str, now: datetime) -> None:
        self._namespace = namespace
        self._now = now
        self._rules: dict[str, Cron] = {}
        self._policies: dict[timedelta, Policy] = {}
        self._jobs: dict[str, Job] = {}
        self._callbacks: dict[str, Callback] = {}
        self._escaped: dict[str, str] = {}
        self._checked: set[int] = set()  # ids of callbacks; those that are kept are not used again
        self._action = Action(kind=_mark(namespace, ()).shared)

    def read(self, index: int, registration: object) -> None:
        task, cron, callback, delay = _shaped(index, registration, self._checked)
        name, action = self._name(task)
        rule, policy = self._rule(cron), self._policy(delay)
        if name in self._callbacks:
            raise ScheduleDuplicateTaskError(task)
        self._callbacks[name] = callback
        self._checked.add(id(callback))
        self._jobs[name] = Job(source=self._namespace, name=name, schedule=rule, action=action, policy=policy)

    def _name(self, task: str) -> tuple[str, Action]:
        if not task:
            raise InvalidRegistrationError("name", task, "must not be empty")
        escaped = escape(task)
        if escaped is None:
            return task, self._action
        if len(escaped) > LONGEST_ESCAPED:
            raise InvalidRegistrationError("name", task, "is too long to be kept")
        name = job_name(escaped)
        self._escaped[name] = task
        return name, Action(kind=self._action.kind, data={"task": escaped})

    def _rule(self, cron: str) -> Cron:
        if cron not in self._rules:
            try:
                self._rules[cron] = Cron(cron, timezone="local", dialect="posix")
            except CronCalculationError as error:
                cause, now = error.details["cause"], format_instant(self._now)
                raise CronCalculationError(cron, cause, current_time=now, hint=error.hint) from cause
        return self._rules[cron]

    def _policy(self, delay: timedelta) -> Policy:
        if delay < _NOTHING:
            raise NegativeRetryDelayError.of(delay)
        if delay not in self._policies:
            self._policies[delay] = _policy(delay)
        return self._policies[delay]

    def plan(self) -> Plan:
        return Plan(_mark(self._namespace, self._jobs), self._jobs, self._callbacks, self._escaped)


def _mark(namespace: str, names: Iterable[str]) -> Mark:
    """The mark of a list with these names; no namespace has a slash."""
    return mark_of(f"declarative:{namespace}", "\n".join(sorted(names)))


def _policy(delay: timedelta) -> Policy:
    try:
        return replace(DECLARATIVE, retry=replace(DECLARATIVE.retry, delay=delay))
    except InvalidJobError as error:
        raise InvalidRegistrationError("retry_delay", delay, error.details["reason"]) from error


def _shaped(index: int, registration: object, checked: set[int]) -> Registration:
    if not isinstance(registration, list | tuple) or len(registration) != _FIELDS:
        raise RegistrationShapeError(index, registration, hint="(name, cron, async callback, retry delay)")
    name, cron, callback, delay = registration
    wrong = (
        (isinstance(name, str), "the name must be a text"),
        (isinstance(cron, str), "the cron expression must be a text"),
        (
            id(callback) in checked or is_callback(callback),
            "the callback must be an async function without arguments",
        ),
        (isinstance(delay, timedelta), "the retry delay must be a timedelta"),
    )
    for is_right, hint in wrong:
        if not is_right:
            raise RegistrationShapeError(index, registration, hint=hint)
    return name, cron, callback, delay


def is_callback(value: Any) -> TypeGuard[Callback]:
    """Whether it is an async function that can be called without arguments."""
    called = value if inspect.isroutine(value) else getattr(value, "__call__", value)  # noqa: B004 - see next
    # An object whose __call__ is async is as good as a function; iscoroutinefunction looks only at functions.
    if not (inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(called)):
        return False
    try:
        inspect.signature(value).bind()
    except (TypeError, ValueError):
        return False
    return True
