"""Definitions as clients send them, and the jobs that they become. Jobs of the API are the source `api`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from foliot.access import Identity
from foliot.api.problem import Fault, ProblemError, pointer_of
from foliot.api.reading import Instant
from foliot.errors import FoliotError, InvalidJobError, shorten
from foliot.model.access import Right
from foliot.model.codec import encode_job
from foliot.model.job import LONGEST_NAME, Action, Job
from foliot.model.json_text import MisfitError
from foliot.model.policy import Policy
from foliot.model.policy_codec import POLICY
from foliot.model.presets import API
from foliot.model.shape import DATA
from foliot.model.version import API_SOURCE
from foliot.schedules import Cron, Once, Schedule
from foliot.wiring import check_action

Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="Printable, of any script.")]
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]", re.ASCII)
_KIND = re.compile(r"[^\s:]+(?::\S.*)?")  # `http`, `python:send mail`
_RIGHTS = {"shell": Right.SHELL, "http": Right.HTTP, "celery": Right.CELERY}
# Kinds that have another use: jobs of git repositories, of programs, of channels of alerts.
_TAKEN = ("shell:", "code:", "alert:", "declarative:", "pipeline")


class ActionBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What to do: `{"kind": "python:send_mail", "payload": {"user": 7}}`."""

    kind: Name
    payload: dict[str, Any] = {}


class JobParts(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What may be changed of a job. What is left out stays as it is.

    `schedule` is a cron expression, `@every 90s`, or an instant with an offset, for once. `policy` has the
    fields of the reference of policies, such as `{"timeout": "5m", "retry": {"max": 3}}`.
    """

    schedule: Annotated[str, Meta(min_length=1, max_length=1000)] | UnsetType = UNSET
    timezone: Annotated[str, Meta(max_length=100)] | UnsetType = UNSET
    dialect: Annotated[str, Meta(max_length=20)] | UnsetType = UNSET
    dst: Annotated[str, Meta(max_length=20)] | UnsetType = UNSET
    action: ActionBody | UnsetType = UNSET
    queue: Name | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    repeat_until: Instant | UnsetType | None = UNSET
    auto_remove: bool | UnsetType = UNSET
    policy: dict[str, Any] | UnsetType = UNSET


class JobBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A whole job. What is left out is as the reference of policies says for jobs of the API."""

    schedule: Annotated[str, Meta(min_length=1, max_length=1000)]
    action: ActionBody
    timezone: Annotated[str, Meta(max_length=100)] = "UTC"
    dialect: Annotated[str, Meta(max_length=20)] = "standard"
    dst: Annotated[str, Meta(max_length=20)] = "exact"
    queue: Name = "default"
    enabled: bool = True
    repeat_until: Instant | None = None
    auto_remove: bool = False
    policy: dict[str, Any] = {}


class NewJobBody(JobBody, frozen=True, kw_only=True):
    """A new job. Without a name it gets one."""

    name: Name | None = None


def make_job(name: str, body: JobBody, identity: Identity) -> Job:
    """The job of a body. 422 with all that is wrong; 403 for an action that the token may not have."""
    faults = _Faults()
    schedule = faults.of(
        "schedule", lambda: make_schedule(body.schedule, body.timezone, body.dialect, body.dst)
    )
    action = faults.of("action", lambda: make_action(body.action, identity))
    policy = faults.of("policy", lambda: make_policy(API, body.policy))
    job: Job | None = faults.of(
        "",
        lambda: Job(
            source=API_SOURCE,
            name=name,
            schedule=schedule or Cron("@daily"),
            action=action or Action(kind="none"),
            policy=policy or API,
            queue=body.queue,
            enabled=body.enabled,
            repeat_until=body.repeat_until,
            auto_remove=body.auto_remove,
        ),
    )
    if job is not None:
        faults.of("action.payload", lambda: encode_job(job))  # it may be larger than what is stored
    faults.check()
    assert job is not None  # noqa: S101 - else there is a fault
    return job


def change_job(job: Job, parts: JobParts, identity: Identity) -> JobBody:
    """The body of a job with some of its parts changed."""
    rule = job.schedule
    given = {
        name: getattr(parts, name) for name in parts.__struct_fields__ if getattr(parts, name) is not UNSET
    }
    policy = POLICY.write(make_policy(job.policy, given.pop("policy", {})))
    data = DATA.write(job.action.data)
    body = JobBody(
        schedule=str(rule),
        timezone=getattr(rule, "timezone", "UTC"),
        dialect=getattr(rule, "dialect", "standard"),
        dst=getattr(rule, "dst", "exact"),
        action=ActionBody(kind=job.action.kind, payload=data),
        queue=job.queue,
        enabled=job.enabled,
        repeat_until=job.repeat_until,
        auto_remove=job.auto_remove,
        policy=policy,
    )
    if "action" not in given:  # a change of something else is one of what the action does, all the same
        make_action(body.action, identity)
    return msgspec.structs.replace(body, **given)


def make_schedule(text: str, timezone: str, dialect: str = "standard", dst: str = "exact") -> Schedule:
    """The schedule of a text: a cron expression, or an instant."""
    if _INSTANT.match(text):
        return Once(text)
    return Cron(text, timezone=timezone, dialect=dialect, dst=dst)  # type: ignore[arg-type] # it refuses what it does not know


def check_right(kind: str, identity: Identity) -> None:
    """403 if a token has not the right that actions of a kind need."""
    right = _RIGHTS.get(kind.partition(":")[0])
    if right is not None and not identity.has_right(right):
        detail = f"an action of the kind {kind} needs a token with the right {right}"
        hint = f"foliot token create --scope write --right {right}"
        raise ProblemError(403, "NO_RIGHT", detail, hint=hint)


def make_action(body: ActionBody, identity: Identity) -> Action:
    """The action of a body; 403 if the token has not the right that it needs."""
    if body.kind.startswith(_TAKEN) or not body.kind.isprintable() or not _KIND.fullmatch(body.kind):
        raise InvalidJobError(
            "kind", body.kind, "is not for jobs of the API", hint="such as python:NAME, or http"
        )
    check_right(body.kind, identity)
    try:
        action = Action(kind=body.kind, data=DATA.write(body.payload))
        check_action(action, API_SOURCE)
        _check_command(action)
    except MisfitError as error:
        raise InvalidJobError(f"payload.{error.path}", error.value, error.reason) from None
    except InvalidJobError as error:
        error.details["field"] = str(error.details["field"]).replace("action.data", "payload", 1)
        error.message = error.message.replace("action.data", "payload", 1)
        raise
    return action


def _check_command(action: Action) -> None:
    """Refuse a command that no node could run."""
    command = action.data.get("run")
    if action.kind == "shell" and (not isinstance(command, str) or not command.strip()):
        hint = 'such as {"run": "make backup"}'
        raise InvalidJobError("action.data.run", command, "must be a command", hint=hint)


def make_policy(base: Policy, given: Mapping[str, Any]) -> Policy:
    """A policy with some of its fields changed; the fields within `retry`, `keep` and others one by one."""
    whole = POLICY.write(base)
    for name, value in given.items():
        inner = whole.get(name)
        whole[name] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, dict) else value
    try:
        policy, unknown = POLICY.read(whole)
    except MisfitError as error:
        raise InvalidJobError(error.path, error.value, error.reason) from None
    if unknown:
        raise InvalidJobError(
            _first(unknown), None, "is no field of a policy", hint=f"one of: {', '.join(POLICY.fields)}"
        )
    made: Policy = policy
    return made


def _first(unknown: Mapping[str, Any]) -> str:
    name, inner = next(iter(unknown.items()))
    is_within = isinstance(inner, Mapping) and inner and name in POLICY.fields
    return f"{name}.{_first(inner)}" if is_within else shorten(name)


class _Faults:
    """Collects all that is wrong with a definition, so that a client learns it at once."""

    def __init__(self) -> None:
        self._found: list[Fault] = []

    def of(self, part: str, make: Callable[[], Any]) -> Any:
        """What is made, or None if that raises."""
        try:
            return make()
        except ProblemError:
            raise
        except FoliotError as error:
            where = str(error.details.get("field") or "")
            if "timezone" in error.details and part == "schedule":
                part, where = "timezone", ""
            path = f"{part}.{where}" if part and where and part != "schedule" else part or where
            self._found.append(Fault(pointer=pointer_of(path), detail=error.message, hint=error.hint))
            return None

    def check(self) -> None:
        """422 if anything is wrong."""
        if self._found:
            first = self._found[0]
            raise ProblemError(422, "INVALID", first.detail, hint=first.hint, errors=self._found)
