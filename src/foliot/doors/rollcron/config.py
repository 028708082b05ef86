"""`rollcron.yaml`: what its authors write, and the jobs that it becomes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any, TypeVar

from foliot.doors.rollcron.report import Report, StopError
from foliot.doors.rollcron.value import (
    Value,
    boolean,
    command,
    decimal,
    duration,
    environment_text,
    label,
    one_of,
    path_inside,
    text,
    whole_number,
)
from foliot.doors.rollcron.yaml_tree import Mapping, Refused, Scalar, decode, read_tree
from foliot.errors import CronExpressionInvalidError, shorten
from foliot.model.job import Action, Job
from foliot.model.policy import Misfire, MisfireMode, OnLost, Overlap, OverlapMode, Policy, Retry
from foliot.model.presets import ROLLCRON
from foliot.schedules import Cron
from foliot.schedules.zone import resolve_timezone

T = TypeVar("T")
FILE = "rollcron.yaml"
LONGEST_ID = 100
FIELDS = (
    "name", "description", "schedule", "timezone", "run", "timeout", "concurrency", "retry", "misfire",
    "on_lost", "enabled", "env", "env_file", "working_dir",
)  # fmt: skip
SCHEDULE_FIELDS = ("cron", "timezone")
RETRY_FIELDS = ("max", "delay", "backoff", "jitter")
MISFIRE_FIELDS = ("mode", "limit", "grace")
_ID = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OUR_VARIABLES = "FOLIOT_"
_TOP = "write jobs: and the jobs under it"
_EXAMPLE = 'write schedule: {cron: "0 2 * * *"}'
# What other tools call it.
_SYNONYMS = {
    "cron": _EXAMPLE,
    "disabled": "write enabled: false",
    "<<": "YAML's merge key is not read: write the fields out",
    **dict.fromkeys(("command", "cmd", "script", "exec"), "did you mean run?"),
    **dict.fromkeys(("tz", "time_zone", "zone"), "did you mean timezone?"),
    **dict.fromkeys(("cwd", "workdir", "dir", "directory"), "did you mean working_dir?"),
    **dict.fromkeys(("environment", "variables", "vars"), "did you mean env?"),
    **dict.fromkeys(("overlap", "parallelism"), "did you mean concurrency?"),
}


def read_config(data: bytes | str, *, source: str, file: str = FILE, revision: str = "") -> tuple[Job, ...]:
    """The jobs that a file declares, in its order, as jobs of a source.

    A ConfigInvalidError tells all that is wrong with it.
    """
    report = Report(file)
    jobs: list[Job] = []
    try:
        tree = read_tree(decode(data, report), report)
        if tree is None:
            report.stop(1, 1, "the file is empty", hint=_TOP)
        jobs = _Reader(source, revision, report).read(Value(tree, None, None, report))
    except StopError:
        pass
    report.check()
    return tuple(jobs)


class _Reader:
    """Reads one job after the other. Equal rules and policies are made once for all."""

    def __init__(self, source: str, revision: str, report: Report) -> None:
        self._source = source
        self._revision = revision
        self._report = report
        self._kind = f"shell:{source}"
        self._zones: dict[str, str] = {}
        self._rules: dict[tuple[str, str], Cron] = {}
        self._policies: dict[tuple[tuple[str, Any], ...], Policy] = {(): ROLLCRON}

    def read(self, root: Value) -> list[Job]:
        """All jobs, if nothing was wrong up to the last of them."""
        fields = root.fields(("jobs",), _TOP)
        if "jobs" not in fields:
            if isinstance(root.node, Mapping):
                root._replace(field="jobs").refuse("is missing", hint=_TOP)
            return []
        hint = "write each job's id and a colon, and its fields under it; jobs: {} if there is to be none"
        found = fields["jobs"].entries("a mapping of jobs by their ids", hint)
        by_lower: dict[str, Scalar] = {}
        jobs = []
        for id_, (key, value) in found.items():
            _check_id(key, by_lower, self._report)
            jobs.append(self._job(id_, key, Value(value.node, id_, None, self._report)))
        return [job for job in jobs if job is not None]

    def _job(self, id_: str, key: Scalar, value: Value) -> Job | None:
        if isinstance(value.node, Refused):
            return None
        fields = value.fields(FIELDS, "write its fields under it: schedule, run, …", _SYNONYMS)
        data = _data(id_, fields)
        rule = self._schedule(fields)
        policy = self._policy(fields)
        enabled = fields["enabled"].read(boolean) if "enabled" in fields else True
        if isinstance(value.node, Mapping):
            _require(Value(key, id_, None, self._report), fields)
        if rule is None or not self._report.is_clean:  # one error, and no job of the file counts
            return None
        return Job(
            source=self._source,
            name=id_,
            schedule=rule,
            action=Action(kind=self._kind, data=data),
            policy=policy,
            enabled=bool(enabled),
            revision=self._revision,
        )

    def _schedule(self, fields: dict[str, Value]) -> Cron | None:
        given = fields.get("schedule")
        if given is None:
            return None
        zone, cron = fields.get("timezone"), given
        if not isinstance(given.node, Scalar):
            inner = given.fields(SCHEDULE_FIELDS, _EXAMPLE, _SCHEDULE_SYNONYMS)
            if "timezone" in inner and zone is not None:
                inner["timezone"].refuse("the time zone is given twice", hint="remove one of the two")
            zone = inner.get("timezone", zone)
            if "cron" not in inner:
                if isinstance(given.node, Mapping):
                    given._replace(field="schedule.cron").refuse("is missing", hint=_EXAMPLE)
                return None
            cron = inner["cron"]
        # With a wrong zone, whatever it is, the expression is looked at all the same.
        name = "local" if zone is None else zone.read(self._zone) or "UTC"
        return cron.read(lambda scalar: self._rule(text(scalar), name))

    def _zone(self, scalar: Scalar) -> str:
        name = text(scalar)
        resolve_timezone(name)
        return name

    def _rule(self, expression: str, zone: str) -> Cron:
        if zone not in self._zones:
            self._zones[zone] = resolve_timezone(zone)  # the host's zone takes files to find
        made = self._rules.get((expression, zone))
        if made is None:
            try:
                made = Cron(expression, timezone=self._zones[zone])
            except CronExpressionInvalidError as error:
                if error.hint and "dialect=" in error.hint:
                    error.hint = "there are five fields, and a minute is the least; or write @every 30s"
                raise
            self._rules[expression, zone] = made
        return made

    def _policy(self, fields: dict[str, Value]) -> Policy:
        given: dict[str, Any] = {}
        if "timeout" in fields:
            given["timeout"] = fields["timeout"].read(_timeout)
        if "concurrency" in fields:
            mode = fields["concurrency"].read(one_of(OverlapMode))
            given["overlap"] = Overlap(mode=OverlapMode(mode)) if mode else None
        if "retry" in fields:
            given["retry"] = _retry(fields["retry"])
        if "misfire" in fields:
            given["misfire"] = _misfire(fields["misfire"])
        if "on_lost" in fields:
            what = fields["on_lost"].read(one_of(OnLost))
            given["on_lost"] = OnLost(what) if what else None
        said = tuple((name, value) for name, value in given.items() if value is not None)
        if said not in self._policies:
            self._policies[said] = replace(ROLLCRON, **dict(said))
        return self._policies[said]


_SCHEDULE_SYNONYMS = {
    **dict.fromkeys(("expression", "crontab"), "did you mean cron?"),
    **dict.fromkeys(("tz", "time_zone", "zone"), "did you mean timezone?"),
    **dict.fromkeys(("every", "interval"), 'write cron: "@every 5m"'),
}


_RETRY_SYNONYMS = dict.fromkeys(("count", "times", "attempts", "limit"), "did you mean max?")


def _check_id(key: Scalar, by_lower: dict[str, Scalar], report: Report) -> None:
    """An id names a directory, so it has few characters, and no other differs by its case alone."""
    hint = "an id has letters, digits, _ and - only"
    if not _ID.fullmatch(key.text):
        report.add(key.line, key.column, "is no id of a job", job=key.text, hint=hint)
    elif len(key.text) > LONGEST_ID:
        message = f"the id has {len(key.text)} characters, at most {LONGEST_ID} are allowed"
        report.add(key.line, key.column, message, job=key.text, hint="there is name: for a longer one")
    first = by_lower.setdefault(key.text.lower(), key)
    if first is not key:
        message = f"differs from {shorten(first.text)} in line {first.line} by capital letters only"
        hint = "some disks cannot tell their directories apart: rename one of the two"
        report.add(key.line, key.column, message, job=key.text, hint=hint)


def _require(job: Value, fields: dict[str, Value]) -> None:
    if "schedule" not in fields:
        job._replace(field="schedule.cron").refuse("is missing", hint=_EXAMPLE)
    if "run" not in fields:
        job._replace(field="run").refuse("is missing", hint="write run: and the command")


_TEXTS = {
    "name": label,
    "description": text,
    "run": command,
    "env_file": path_inside,
    "working_dir": path_inside,
}


def _data(id_: str, fields: dict[str, Value]) -> dict[str, Any]:
    """What the shell executor is given; of what is not said, only the name has a default."""
    data: dict[str, Any] = {"name": id_}
    for name, reader in _TEXTS.items():
        if name in fields:
            data[name] = fields[name].read(reader)
    if "env" in fields:
        data["env"] = _environment(fields["env"])
    return data


def _environment(value: Value) -> dict[str, str | None]:
    found = {}
    for name, (key, inner) in value.entries("a mapping of variables", "write NAME: value under env").items():
        if not _VARIABLE.fullmatch(name):
            hint = "letters, digits and _ only, and no digit in front"
            value.refuse_key(key, "is no name of a variable", hint=hint)
        elif name.startswith(_OUR_VARIABLES):
            value.refuse_key(
                key, f"names that begin with {_OUR_VARIABLES} are Foliot's own", hint="rename it"
            )
        else:
            found[name] = inner.read(environment_text)
    return found


def _timeout(scalar: Scalar) -> timedelta:
    given = duration(scalar)
    _try_timeout(given)
    return given


@lru_cache
def _try_timeout(timeout: timedelta) -> None:
    replace(ROLLCRON, timeout=timeout)  # says if it cannot be


def _retry(value: Value) -> Retry | None:
    fields = value.fields(RETRY_FIELDS, "write retry: {max: 3, delay: 30s}", _RETRY_SYNONYMS)
    if isinstance(value.node, Mapping) and "max" not in fields:
        value._replace(field="retry.max").refuse("is missing", hint="write how often to try again: max: 3")
    readers: dict[str, Any] = {"max": whole_number, "delay": duration, "backoff": decimal, "jitter": decimal}
    return _made(Retry, fields, readers)


def _misfire(value: Value) -> Misfire | None:
    if isinstance(value.node, Scalar):
        mode = value.read(one_of(MisfireMode))
        return Misfire(mode=MisfireMode(mode)) if mode else None
    fields = value.fields(MISFIRE_FIELDS, "write misfire: once, or misfire: {mode: all, limit: 24}")
    if isinstance(value.node, Mapping) and "mode" not in fields:
        value._replace(field="misfire.mode").refuse("is missing", hint=f"one of: {', '.join(MisfireMode)}")
    readers: dict[str, Any] = {"mode": one_of(MisfireMode), "limit": whole_number, "grace": duration}
    return _made(Misfire, fields, readers)


def _made(kind: Callable[..., T], fields: dict[str, Value], readers: dict[str, Any]) -> T | None:
    """A policy of what its fields say; each is tried on its own, so that all that are wrong are told."""

    def read(name: str, scalar: Scalar) -> Any:
        given = readers[name](scalar)
        kind(**{name: given})  # says if it cannot be
        return given

    found = {name: value.read(partial(read, name)) for name, value in fields.items()}
    return None if None in found.values() else kind(**found)
