"""The fields of a job in `rollcron.yaml`: one table, by which files are read and the schema is made."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from foliot.doors.rollcron.alert_fields import EXPECT, NOTIFY, PING
from foliot.doors.rollcron.calendars import CALENDAR_NAMES
from foliot.doors.rollcron.chain_fields import AFTER
from foliot.doors.rollcron.record import OURS, part, record, table, then
from foliot.doors.rollcron.value import (
    AS_WRITTEN,
    COMMAND,
    DURATION,
    FLAG,
    LABEL,
    PATH_INSIDE,
    SPAN,
    TEXT,
    Kind,
    Value,
    WrongValueError,
    at_most,
    decimal,
    duration,
    either,
    environment_text,
    list_of,
    matching,
    number_from,
    or_none,
    scalar,
    text,
    whole_number,
    word,
)
from foliot.doors.rollcron.yaml_tree import Mapping, Scalar
from foliot.errors import shorten
from foliot.executors.shell.secrets import NAME
from foliot.model.policy import (
    MOST_CAUGHT_UP,
    Keep,
    Misfire,
    MisfireMode,
    OnLost,
    Overlap,
    OverlapMode,
    Retry,
)
from foliot.model.presets import ROLLCRON
from foliot.schedules.around import DST
from foliot.schedules.cron_syntax import DIALECTS
from foliot.schedules.zone import resolve_timezone

EXAMPLE = 'write schedule: {cron: "0 2 * * *"}'
LONGEST_STDIN = 1 << 16
_MOST = 999_999_999  # what a whole number may be in the file
_MOST_DAYS = 36_525
_LAST_CODE = 255
_NICEST = 19
VARIABLE = rf"(?!{OURS})[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE_HINT = "letters, digits and _ only, and no digit in front"
_NO_LIMIT = "write timeout: none if it may take as long as it likes"
_ZONES = dict.fromkeys(("tz", "time_zone", "zone"), "did you mean timezone?")


class Field(NamedTuple):
    """A field: what it may be, and where it goes: action's data, policy, job, schedule, or a channel."""

    kind: Kind
    place: str = "data"
    name: str | None = None  # what it is called there, if not the same


class When(NamedTuple):
    """A schedule as it is written; which rule it is depends on zone, dialect and dst, which it may say."""

    cron: Value
    said: dict[str, Value]


def _zone(written: Scalar) -> str:
    name = text(written)
    resolve_timezone(name)
    return name


def _timeout(written: Scalar) -> timedelta:
    if written.text.strip("0") in ("", "s", "m", "h", "d") and written.text[:1] == "0":
        raise WrongValueError(f"{written.text} must be positive", _NO_LIMIT)
    given = duration(written)
    _try_timeout(given)
    return given


@lru_cache
def _try_timeout(timeout: timedelta) -> None:
    replace(ROLLCRON, timeout=timeout)  # says if it cannot be


def _splay(written: Scalar) -> timedelta:
    given = duration(written)
    replace(ROLLCRON, splay=given)  # says if it cannot be
    return given


def _umask(written: Scalar) -> str:
    if re.fullmatch("0?[0-7]{3}", written.text, re.ASCII):
        return written.text[-3:]
    hint = "write three octal digits, such as 027: the rights that files do not get"
    raise WrongValueError(f"{shorten(written.text) or 'nothing'} is no umask", hint)


def _shell(written: Scalar) -> str:
    path = text(written)
    if path in _SHELLS or (path.startswith("/") and path.isprintable()):
        return path
    raise WrongValueError(f"{shorten(path)} is no shell", "write bash, or an absolute path such as /bin/zsh")


def _read_schedule(value: Value) -> When | None:
    if isinstance(value.node, Scalar):
        return When(value, {})
    inner = value.fields(SCHEDULE_FIELDS, EXAMPLE, _SCHEDULE_SYNONYMS)
    if "cron" in inner:
        return When(inner.pop("cron"), inner)
    if isinstance(value.node, Mapping):
        value._replace(field="schedule.cron").refuse("is missing", hint=EXAMPLE)
    return None


def _read_arguments(value: Value) -> list[str] | str | None:
    """A program and its arguments. A shell's test looks like a list: `[ -f x ]`."""
    if isinstance(value.node, Mapping):
        return value.read(text)  # which says that it is no single value
    items = value.items("a program and its arguments", _RUN_HINT)
    found = [item.read(environment_text if n else _program) for n, item in enumerate(items)]
    return None if not found else [part for part in found if part is not None]


def _program(written: Scalar) -> str:
    name = text(written)
    if name.startswith("-"):
        raise WrongValueError(f"{shorten(name)} is no program", _RUN_HINT)
    return name


_SHELLS = ("sh", "bash")
_RUN_HINT = 'write the command as a text; what begins with [ needs quotes: run: "[ -f x ] && ./y"'
_SCHEDULE_SYNONYMS = {
    **dict.fromkeys(("expression", "crontab"), "did you mean cron?"),
    **_ZONES,
    **dict.fromkeys(("every", "interval"), 'write cron: "@every 5m"'),
}
_WHOLE = {"type": "integer", "maximum": _MOST}
_LIST_OF_CODES = list_of(number_from(0, _LAST_CODE), "exit codes", "such as [0, 3]")
_MISFIRE_MODE = word(MisfireMode)
RULE_FIELDS = {"timezone": scalar(_zone, **TEXT.schema), "dialect": word(DIALECTS), "dst": word(DST)}
SCHEDULE_FIELDS = {"cron": TEXT, **RULE_FIELDS}
RETRY_FIELDS = {
    "max": part(Retry, "max", whole_number, **_WHOLE, minimum=0),
    "delay": part(Retry, "delay", duration, **SPAN.schema),
    "backoff": part(Retry, "backoff", decimal, type="number", minimum=1),
    "jitter": part(Retry, "jitter", decimal, type="number", minimum=0, maximum=1),
}
MISFIRE_FIELDS = {
    "mode": _MISFIRE_MODE,
    "limit": part(Misfire, "limit", whole_number, type="integer", minimum=1, maximum=MOST_CAUGHT_UP),
    "grace": part(Misfire, "grace", duration, **SPAN.schema),
}
KEEP_FIELDS = {
    "last": or_none(part(Keep, "last", whole_number, **_WHOLE, minimum=1)),
    "days": or_none(part(Keep, "days", whole_number, type="integer", minimum=1, maximum=_MOST_DAYS)),
    "problems_only": FLAG,
}
EXIT_CODE_FIELDS = {"ok": _LIST_OF_CODES, "skip": _LIST_OF_CODES}

_SCHEDULE = Kind(
    _read_schedule,
    {
        "anyOf": [
            TEXT.schema,
            {
                "type": "object",
                "properties": {name: kind.schema for name, kind in SCHEDULE_FIELDS.items()},
                "additionalProperties": False,
                "required": ["cron"],
            },
        ]
    },
)
_ARGUMENTS = Kind(
    _read_arguments,
    {
        "type": "array",
        "items": [{**TEXT.schema, "not": {"pattern": "^-"}}],
        "additionalItems": AS_WRITTEN.schema,
        "minItems": 1,
    },
)
_RETRY = record(
    Retry,
    RETRY_FIELDS,
    "write retry: {max: 3, delay: 30s}",
    required="max",
    missing="write how often to try again: max: 3",
    synonyms=dict.fromkeys(("count", "times", "attempts", "limit"), "did you mean max?"),
)
_MISFIRE = record(
    Misfire,
    MISFIRE_FIELDS,
    "write misfire: once, or misfire: {mode: all, limit: 24}",
    required="mode",
    missing=f"one of: {', '.join(MisfireMode)}",
)
_NAME_HINT = "letters, digits, _, . and - only"
GROUP = r"[A-Za-z0-9_-]{1,64}"
_GROUP_HINT = "write groups: {db: 1}: how many runs of it there may be at a time"
GROUPS = table(
    number_from(1, _MOST),
    "group",
    _GROUP_HINT,
    pattern=GROUP,
    hint="letters, digits, _ and - only, at most 64",
)

FIELDS: dict[str, Field] = {
    "name": Field(LABEL),
    "description": Field(TEXT),
    "schedule": Field(_SCHEDULE, "when"),
    **{name: Field(kind, "when") for name, kind in RULE_FIELDS.items()},
    "after": Field(AFTER, "policy"),
    "except": Field(CALENDAR_NAMES, "when"),
    "only": Field(CALENDAR_NAMES, "when"),
    "run": Field(either(COMMAND, _ARGUMENTS)),
    "shell": Field(scalar(_shell, type="string", pattern="^(sh|bash|/[^\\u0000-\\u001f]*)$")),
    "stdin": Field(at_most(TEXT, LONGEST_STDIN, "put it into a file of the repository: cmd < file")),
    "timeout": Field(or_none(scalar(_timeout, type="string", pattern=f"^(?=.*[1-9]){DURATION}$")), "policy"),
    "splay": Field(scalar(_splay, **SPAN.schema), "policy"),
    "concurrency": Field(
        then(word(OverlapMode), lambda mode: Overlap(mode=OverlapMode(mode))), "policy", "overlap"
    ),
    "retry": Field(_RETRY, "policy"),
    "misfire": Field(
        either(then(_MISFIRE_MODE, lambda mode: Misfire(mode=MisfireMode(mode))), _MISFIRE), "policy"
    ),
    "notify": Field(NOTIFY, "policy"),
    "expect": Field(EXPECT, "policy"),
    "ping": Field(PING, "ping"),
    "on_lost": Field(then(word(OnLost), OnLost), "policy"),
    "keep": Field(record(Keep, KEEP_FIELDS, "write keep: {last: 1000, days: 90}"), "policy"),
    "exit_codes": Field(record(dict, EXIT_CODE_FIELDS, "write exit_codes: {ok: [0, 3], skip: [75]}")),
    "enabled": Field(FLAG, "job"),
    "queue": Field(matching(r"[A-Za-z0-9_.-]{1,100}", "name of a queue", _NAME_HINT), "job"),
    "group": Field(matching(GROUP, "name of a group", "letters, digits, _ and - only"), "job"),
    "labels": Field(
        table(
            LABEL, "label", "write name: value under labels",
            pattern=r"[A-Za-z0-9_./-]{1,100}", hint="letters, digits, _, ., / and - only",
        )
    ),
    "env": Field(
        table(
            AS_WRITTEN, "variable", "write NAME: value under env", pattern=VARIABLE, hint=_VARIABLE_HINT,
        )
    ),
    "env_file": Field(PATH_INSIDE),
    "secrets": Field(matching(NAME.pattern, "name of secrets", "letters, digits, _ and - only")),
    "pass_env": Field(
        list_of(matching(VARIABLE, "name to pass on", _VARIABLE_HINT), "variables", "such as [DB_URL]")
    ),
    "working_dir": Field(PATH_INSIDE),
    "user": Field(matching(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}", "name of a user", "such as www-data")),
    "nice": Field(number_from(0, _NICEST)),
    "umask": Field(scalar(_umask, type=["string", "integer"], pattern="^0?[0-7]{3}$")),
}  # fmt: skip
NO_DEFAULT = ("name", "description", "schedule", "after", "run", "ping")
TEXTS = (
    "stdin",
    "queue",
    "group",
    "env_file",
    "secrets",
    "working_dir",
)  # which may hold the word "none" itself
DEFAULTS = [name for name in FIELDS if name not in NO_DEFAULT]
