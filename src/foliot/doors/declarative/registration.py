"""Registrations: what users declare, checked in one go, and the jobs that they become."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple, TypeGuard

from foliot.doors.declarative.errors import (
    InvalidRegistrationError,
    NegativeRetryDelayError,
    RegistrationShapeError,
    RegistrationsNotArrayError,
    ScheduleDuplicateTaskError,
)
from foliot.errors import InvalidJobError
from foliot.model.job import LONGEST_NAME, Action, Job
from foliot.model.policy import Policy
from foliot.model.presets import DECLARATIVE
from foliot.protocols import Snapshot
from foliot.schedules import Cron

Callback = Callable[[], Awaitable[object]]
Registration = tuple[str, str, Callback, timedelta]

_FIELDS = 4
_NOTHING = timedelta(0)
_ANY = Cron("0 0 * * *")


class Plan(NamedTuple):
    """All that was registered: the jobs, and what each of them calls."""

    snapshot: Snapshot
    callbacks: Mapping[str, Callback]


def action_kind(namespace: str) -> str:
    """One kind for all tasks of a namespace: a million of them cost a node no more than one."""
    return f"declarative:{namespace}"


def check_namespace(namespace: str) -> None:
    """Refuse a name that no job could have as its source."""
    Job(source=namespace, name="check", schedule=_ANY, action=Action(kind=action_kind(namespace)))


def read_registrations(registrations: object, namespace: str) -> Plan:
    """All that was registered, or the first error: by index, then by shape, name, cron, delay, duplicate."""
    if not isinstance(registrations, list | tuple):
        raise RegistrationsNotArrayError
    reader = _Reader(namespace)
    for index, registration in enumerate(registrations):
        reader.read(index, registration)
    return reader.plan()


class _Reader:
    """Reads one registration after the other. Equal rules and delays are made once for all."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._rules: dict[str, Cron] = {}
        self._policies: dict[timedelta, Policy] = {}
        self._jobs: list[Job] = []
        self._callbacks: dict[str, Callback] = {}
        self._checked: set[int] = set()  # ids of callbacks; those that are kept are not used again
        self._action = Action(kind=action_kind(namespace))

    def read(self, index: int, registration: object) -> None:
        name, cron, callback, delay = _shaped(index, registration, self._checked)
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise _bad_name(name)
        rule, policy = self._rule(cron), self._policy(delay)
        if name in self._callbacks:
            raise ScheduleDuplicateTaskError(name)
        self._callbacks[name] = callback
        self._checked.add(id(callback))
        self._jobs.append(
            Job(source=self._namespace, name=name, schedule=rule, action=self._action, policy=policy)
        )

    def _rule(self, cron: str) -> Cron:
        if cron not in self._rules:
            self._rules[cron] = Cron(cron, timezone="local", dialect="posix")
        return self._rules[cron]

    def _policy(self, delay: timedelta) -> Policy:
        if delay < _NOTHING:
            raise NegativeRetryDelayError.of(delay)
        if delay not in self._policies:
            self._policies[delay] = _policy(delay)
        return self._policies[delay]

    def plan(self) -> Plan:
        """The jobs in the order of their names: the same registrations are the same revision."""
        self._jobs.sort(key=lambda job: job.name)
        timezones = sorted({rule.timezone for rule in self._rules.values()})
        texts = [repr((job.name, str(job.schedule), str(job.policy.retry.delay))) for job in self._jobs]
        digest = hashlib.sha256("\n".join((repr(DECLARATIVE), *timezones, *texts)).encode())
        return Plan(Snapshot(f"declarative-{digest.hexdigest()[:20]}", tuple(self._jobs)), self._callbacks)


def _bad_name(name: str) -> InvalidRegistrationError:
    reason = f"must be a printable text of 1 to {LONGEST_NAME} characters" if name else "must not be empty"
    return InvalidRegistrationError("name", name, reason)


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
