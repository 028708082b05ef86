"""Jobs: named definitions, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeGuard

from foliot.errors import InvalidJobError
from foliot.model.frozen import BottomlessError, freeze, is_alike
from foliot.model.policy import Policy, check_flag
from foliot.schedules import Once, Schedule

_EMPTY: Mapping[str, Any] = MappingProxyType({})
_USUAL = Policy()  # one for all: a herd's policies are then the same object, not only equal
LONGEST_NAME = 200
_NESTED = frozenset((dict, list))
# A day from the ends of the calendar, so that every zone can tell the time, and one can count on from it.
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What to do, as data: the kind selects an executor, `data` is for it alone.

    `data` cannot be changed, at any depth: its lists are tuples. `thaw` makes a copy that can.
    """

    kind: str
    data: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        if not self.kind:
            raise InvalidJobError("action.kind", self.kind, "must not be empty")
        # Nearly all are dicts, and asking Mapping takes as long as all the rest.
        if type(self.data) is not dict and not isinstance(self.data, Mapping):
            raise InvalidJobError("action.data", self.data, "must be a mapping")
        try:
            object.__setattr__(self, "data", freeze(self.data))
        except BottomlessError:
            raise InvalidJobError("action.data", self.data, "is nested too deeply, or holds itself") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A definition: when, what, and how it behaves. Declared, never computed.

    `source` is the namespace that declares it. `repeat_until`: no occurrence after it is served.
    `group`: jobs of a group share a limit of running attempts, over all nodes: see `Store.claim`.
    `auto_remove`: the job is removed when it has no occurrence and no open run left; its tombstone stays,
    so that it does not run again while its source goes on declaring it. `extra` keeps fields that a newer
    version wrote and this one does not know.
    """

    source: str
    name: str
    schedule: Schedule
    action: Action
    queue: str = "default"
    policy: Policy = field(default_factory=lambda: _USUAL)
    enabled: bool = True
    repeat_until: datetime | None = None
    auto_remove: bool = False
    group: str | None = None
    revision: str = field(default="", compare=False)  # where it was read is not what it says
    extra: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        names = (("source", self.source), ("name", self.name), ("queue", self.queue), ("group", self.group))
        for label, text in names:
            if not is_name(text) and (label, text) != ("group", None):
                raise InvalidJobError(
                    label, text, f"must be a printable text of 1 to {LONGEST_NAME} characters"
                )
        if "/" in self.source:
            raise InvalidJobError("source", self.source, "must not contain a slash")
        check_flag("enabled", self.enabled)
        check_flag("auto_remove", self.auto_remove)
        if self.repeat_until is not None:
            _check_instant("repeat_until", self.repeat_until)
        if isinstance(self.schedule, Once):
            _check_instant("schedule", self.schedule.at)
        object.__setattr__(self, "extra", MappingProxyType(dict(self.extra)))

    @property
    def key(self) -> str:
        """What names the job in the whole store."""
        return f"{self.source}/{self.name}"

    def says_the_same(self, other: Job) -> bool:
        """Whether it defines what another of its name does; `revision` and `extra` say nothing about that."""
        return (
            self.schedule == other.schedule
            and self.policy == other.policy
            and self.action.kind == other.action.kind
            and is_alike(self.action.data, other.action.data)
            and self.queue == other.queue
            and self.enabled == other.enabled
            and self.repeat_until == other.repeat_until
            and self.auto_remove == other.auto_remove
            and self.group == other.group
        )


def is_name(text: object) -> TypeGuard[str]:
    """Whether a source, a job, a queue or a group may be called so."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isprintable()


def _check_instant(field_: str, instant: object) -> None:
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        hint = "give it a tzinfo, for example datetime.UTC"
        raise InvalidJobError(field_, instant, "must be a datetime with a time zone", hint=hint)
    if not EARLIEST <= instant <= LATEST:
        raise InvalidJobError(field_, instant, f"must lie between {EARLIEST.date()} and {LATEST.date()}")


# -- without checks --------------------------------------------------------------------------------
#
# A herd is made of one checked job. The checks cost more than all the rest.


class _OpenJob:
    """A job in the making: it has a job's slots, and can still be changed."""

    __slots__ = tuple(one.name for one in fields(Job))


class _OpenAction:
    """The same of an action."""

    __slots__ = tuple(one.name for one in fields(Action))


shared_by = attrgetter(
    "source", "schedule", "queue", "policy", "enabled", "repeat_until", "auto_remove", "group", "revision",
    "extra",
)  # fmt: skip


def unchecked_job(name: str, action: Action, shared: tuple[Any, ...]) -> Job:
    """A job with a name and an action of its own, and all else as `shared_by` a job that was checked."""
    made: Any = _OpenJob()  # no way to set the slots of what is frozen is half as quick
    made.name, made.action = name, action
    (
        made.source, made.schedule, made.queue, made.policy, made.enabled, made.repeat_until,
        made.auto_remove, made.group, made.revision, made.extra,
    ) = shared  # fmt: skip
    made.__class__ = Job
    job: Job = made
    return job


def is_nested(data: dict[str, Any]) -> bool:
    """Whether there are objects or lists in data that was read from JSON."""
    return not _NESTED.isdisjoint(map(type, data.values()))


def freeze_own(data: dict[str, Any]) -> Mapping[str, Any]:
    """Data that has no other owner, frozen: if nothing is nested in it, it need not be copied."""
    return freeze(data) if is_nested(data) else MappingProxyType(data)


def unchecked_action(kind: str, data: dict[str, Any]) -> Action:
    """An action with data that has no other owner."""
    made: Any = _OpenAction()
    made.kind = kind
    made.data = freeze_own(data)
    made.__class__ = Action
    action: Action = made
    return action
