"""Lists the fields of a definition that differ, as texts. Variables are shown by name, never with values.

An action may contain secrets. Only fields of commands in a repository are shown, because all its readers see
them anyway. Of all other fields a plan only says that they differ.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from datetime import datetime, timedelta
from typing import Any

from foliot.engine.change.model import FieldChange
from foliot.model.attempt import format_instant
from foliot.model.frozen import is_alike
from foliot.model.job import Job
from foliot.model.policy import Notify, Policy
from foliot.schedules.duration import format_duration

ENV = "env"
SHOWN = frozenset(
    {
        "run", "shell", "name", "description", "working_dir", "env_file", "secrets", "pass_env", "exit_codes",
        "user", "nice", "umask",
    }
)  # fmt: skip
ACTION_FIELDS = SHOWN - {"name", "description"}  # fields that say what a job does
_HIDDEN = "(not shown)"
_WORDS = {"overlap.mode": "concurrency", "overlap.limit": "concurrency.limit"}


def shows(job: Job, field: str) -> bool:
    """Whether a field of an action may be shown."""
    return job.action.kind.partition(":")[0] == "shell" and field in SHOWN


def changed_fields(before: Job, after: Job) -> tuple[FieldChange, ...]:
    """The fields with another value, in a fixed order."""
    found = [
        FieldChange("schedule", str(before.schedule), str(after.schedule)),
        FieldChange("timezone", _zone(before), _zone(after)),
        FieldChange("enabled", _flag(before.enabled), _flag(after.enabled)),
        FieldChange("repeat_until", _text(before.repeat_until), _text(after.repeat_until)),
    ]
    if before.schedule != after.schedule and all(one.before == one.after for one in found[:2]):
        found.append(FieldChange("schedule", repr(before.schedule), repr(after.schedule)))
    found += _action_fields(before, after)
    found += _policy_fields(before.policy, after.policy)
    found += [
        FieldChange("queue", before.queue, after.queue),
        FieldChange("group", before.group, after.group),
        FieldChange("auto_remove", _flag(before.auto_remove), _flag(after.auto_remove)),
    ]
    return tuple(one for one in found if one.before != one.after or one.before == _HIDDEN)


def _zone(job: Job) -> str | None:
    return getattr(job.schedule, "timezone", None)


def _flag(value: bool) -> str:  # noqa: FBT001 - what is told
    return "true" if value else "false"


def _action_fields(before: Job, after: Job) -> list[FieldChange]:
    found = [FieldChange("action", before.action.kind, after.action.kind)]
    old, new = before.action.data, after.action.data
    for name in sorted({*old, *new} - {ENV}, key=lambda name: (name != "run", name)):
        if name in old and name in new and is_alike(old[name], new[name]):
            continue
        hides = not (shows(before, name) and shows(after, name))
        texts = (None if name not in data else _HIDDEN if hides else _text(data[name]) for data in (old, new))
        found.append(FieldChange(name, *texts))
    if variables := changed_variables(before, after):
        found.append(FieldChange(ENV, _names(old), _names(new, variables)))
    return found


def changed_variables(before: Job, after: Job) -> tuple[str, ...]:
    """The names of variables that are added, removed, or have another value."""
    old, new = (_variables(job.action.data) for job in (before, after))
    return tuple(sorted(name for name in {*old, *new} if old.get(name) != new.get(name)))


def _variables(data: Mapping[str, Any]) -> Mapping[str, Any]:
    found = data.get(ENV)
    return found if isinstance(found, Mapping) else {}


def _names(data: Mapping[str, Any], changed: tuple[str, ...] = ()) -> str | None:
    """The names of variables; a star marks those that are new or have another value."""
    return ", ".join(f"{n}*" if n in changed else n for n in sorted(_variables(data))) or None


def _policy_fields(before: Policy, after: Policy) -> list[FieldChange]:
    found: list[FieldChange] = []
    for one in fields_of(Policy):
        found += _parts(one.name, getattr(before, one.name), getattr(after, one.name))
    return [one._replace(field=_WORDS.get(one.field, one.field)) for one in found]


def _parts(name: str, old: Any, new: Any) -> list[FieldChange]:
    """The differences of a policy, part by part: `retry.max`."""
    if old == new:
        return []
    if is_dataclass(old) and type(old) is type(new):
        inner = (part.name for part in fields_of(old))
        return [
            one for part in inner for one in _parts(f"{name}.{part}", getattr(old, part), getattr(new, part))
        ]
    return [FieldChange(name, _text(old), _text(new))]


def _text(value: Any) -> str | None:  # noqa: PLR0911 - one line for each kind of value
    match value:
        case None:
            return None
        case bool():
            return _flag(value)
        case timedelta():
            return format_duration(value)
        case datetime():
            return format_instant(value)
        case Notify(to=to):
            return ", ".join(to) or "none"
        case list() | tuple():
            return shlex.join(map(str, value))
        case Mapping():
            return ", ".join(f"{name}: {_text(inner)}" for name, inner in value.items())
        case _:
            return str(value)
