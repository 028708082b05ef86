"""The data of an action of the kind `celery`: which Celery task a job sends, and with what.

    {"task": "proj.tasks.add", "args": [2, 3], "kwargs": {}, "options": {"queue": "mail", "priority": "high"}}

It is checked where a job is written, and once more when it runs: another program may have written it. Celery
itself is not needed for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any, NamedTuple

from foliot.errors import InvalidJobError
from foliot.model.frozen import thaw
from foliot.model.job import LONGEST_NAME, Action, is_name

KIND = "celery"
PRIORITIES = ("high", "normal", "low")
TRACKS = ("enqueue", "result")
# What every message says of its run.
RUN_HEADERS = (
    "schedule_id", "scheduled_at", "scheduled_for", "trigger_type", "run_key", "attempt", "token",
    "celery_beat_task",
)  # fmt: skip
# Those that Celery writes: a message whose `task` or `id` another header replaces is another message.
_OF_CELERY = (
    "lang", "task", "id", "shadow", "eta", "expires", "group", "group_index", "retries", "timelimit",
    "root_id", "parent_id", "argsrepr", "kwargsrepr", "origin", "ignore_result", "replaced_task_nesting",
    "stamped_headers", "stamps",
)  # fmt: skip
_MOST_HEADERS = 50
_HIGHEST_PRIORITY = 255


class TaskCall(NamedTuple):
    """A Celery task, its arguments, and how it is sent.

    `options` are those of Celery's `apply_async`. `track`: a run ends when its message is in the queue
    (`enqueue`), or when the task has ended (`result`); None: as the node says.
    """

    task: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}
    track: str | None = None


def celery_task(
    task: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    track: str | None = None,
    **options: Any,
) -> Action:
    """The action that sends a Celery task: give its name, or the task itself.

    Options are `queue`, `priority`, `expires`, `headers` and others of `apply_async`. With `track="result"`
    the run ends when the task has ended, not when it is in the queue.
    """
    data = {
        "task": task if isinstance(task, str) else getattr(task, "name", task),
        "args": args,
        "kwargs": kwargs,
        "options": options,
        "track": track,
    }
    action = Action(kind=KIND, data={name: value for name, value in data.items() if value})
    check_action(action)
    return action


def check_action(action: Action) -> None:
    """Refuse what could never be sent. InvalidJobError."""
    read_call(action.kind, action.data)


def read_call(kind: str, data: Mapping[str, Any]) -> TaskCall:
    """Read an action. InvalidJobError if it cannot be right."""
    if kind != KIND:
        hint = f"write {KIND}, and the name of the task apart"
        raise InvalidJobError("action", kind, "is no kind of action", hint=hint)
    for name in data:
        if name not in _READERS:
            raise _refuse(name, data[name], "is not known", f"one of: {', '.join(_READERS)}")
    if data.get("task") is None:
        raise _refuse("task", None, "is missing", "the name of a task, such as proj.tasks.add")
    read = {name: _READERS[name](name, value) for name, value in data.items() if value is not None}
    return TaskCall(**read)


def _refuse(name: str, value: object, reason: str, hint: str | None = None) -> InvalidJobError:
    return InvalidJobError(f"action.data.{name}", value, reason, hint=hint)


def _name(field: str, given: object) -> str:
    if not is_name(given) or given != given.strip():
        raise _refuse(field, given, f"must be a printable text of 1 to {LONGEST_NAME} characters")
    return given


def _args(field: str, given: object) -> list[Any]:
    if not isinstance(given, list | tuple):
        raise _refuse(field, given, "must be a list of arguments")
    args: list[Any] = thaw(given)
    return args


def _kwargs(field: str, given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise _refuse(field, given, "must be arguments by name")
    kwargs: dict[str, Any] = thaw(given)
    return kwargs


def _options(field: str, given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise _refuse(field, given, "must be options by name")
    for name, value in given.items():
        if name not in _OPTIONS:
            known = ", ".join(_OPTIONS)
            raise _refuse(f"{field}.{name}", value, "is no option of a scheduled task", f"one of: {known}")
    return {
        name: _OPTIONS[name](f"{field}.{name}", value) for name, value in given.items() if value is not None
    }


def _track(field: str, given: object) -> str:
    if given not in TRACKS:
        raise _refuse(field, given, "is not known", f"one of: {', '.join(TRACKS)}")
    return str(given)


def _priority(field: str, given: object) -> int | str:
    if type(given) is int and 0 <= given <= _HIGHEST_PRIORITY:
        return given
    if given in PRIORITIES:
        return str(given)
    hint = f"one of: {', '.join(PRIORITIES)}; or a number, as the broker counts"
    raise _refuse(field, given, "is no priority", hint)


def _expires(field: str, given: object) -> float | str:
    """Seconds from when it is sent, or an instant."""
    if isinstance(given, str):
        try:
            instant = datetime.fromisoformat(given)
        except ValueError:
            instant = datetime.min  # noqa: DTZ901 - without a time zone it is refused below
        if instant.utcoffset() is not None:
            return given
        hint = "such as 2026-11-15T07:00:00Z, or a number of seconds"
        raise _refuse(field, given, "is no instant with a time zone", hint)
    return _seconds(field, given)


def _seconds(field: str, given: object) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not isfinite(given) or given <= 0:  # type: ignore[arg-type,operator] # it is one
        raise _refuse(field, given, "must be a positive number of seconds")
    return given  # type: ignore[return-value] # as above


def _headers(field: str, given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping) or len(given) > _MOST_HEADERS:
        raise _refuse(field, given, f"must be at most {_MOST_HEADERS} values by name")
    for name in given:
        if not is_name(name):
            raise _refuse(field, name, "is no name of a header")
        if name in _OF_CELERY or name in RUN_HEADERS:
            raise _refuse(f"{field}.{name}", given[name], "is set by Celery or by Foliot", "leave it out")
    headers: dict[str, Any] = thaw(given)
    return headers


def _delivery_mode(field: str, given: object) -> Any:
    if given not in (1, 2, "transient", "persistent"):
        raise _refuse(field, given, "is no delivery mode", "one of: transient, persistent")
    return given


def _flag(field: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise _refuse(field, given, "must be true or false")
    return given


_Reader = Callable[[str, object], Any]
_READERS: dict[str, _Reader] = {
    "task": _name,
    "args": _args,
    "kwargs": _kwargs,
    "options": _options,
    "track": _track,
}
_OPTIONS: dict[str, _Reader] = {
    "queue": _name,
    "exchange": _name,
    "routing_key": _name,
    "priority": _priority,
    "expires": _expires,
    "headers": _headers,
    "time_limit": _seconds,
    "soft_time_limit": _seconds,
    "serializer": _name,
    "compression": _name,
    "delivery_mode": _delivery_mode,
    "shadow": _name,
    "ignore_result": _flag,
}
