"""`rollcron.yaml`: what its authors write, and the jobs that it becomes."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from foliot.doors.rollcron.alert_fields import CHANNELS, TRUSTED_CHANNELS
from foliot.doors.rollcron.fields import DEFAULTS, EXAMPLE, FIELDS, NO_DEFAULT, TEXTS, When
from foliot.doors.rollcron.report import Report, StopError
from foliot.doors.rollcron.value import NONE, Value, is_none, text
from foliot.doors.rollcron.yaml_tree import Mapping, Refused, Scalar, decode, read_tree
from foliot.errors import CronExpressionInvalidError, shorten
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.presets import ROLLCRON
from foliot.schedules import Cron
from foliot.schedules.zone import resolve_timezone

FILE = "rollcron.yaml"
LONGEST_ID = 100
ID = r"[A-Za-z0-9_-]+"
_ID = re.compile(ID, re.ASCII)
_TOP = "write jobs: and the jobs under it"
_CHANNELS_TOP = "write channels: and the channels under it"
# What other tools call it.
_SYNONYMS = {
    "cron": EXAMPLE,
    "disabled": "write enabled: false",
    "<<": "YAML's merge key is not read: write the fields out, or put them under defaults",
    **dict.fromkeys(("command", "cmd", "script", "exec"), "did you mean run?"),
    **dict.fromkeys(("tz", "time_zone", "zone"), "did you mean timezone?"),
    **dict.fromkeys(("cwd", "workdir", "dir", "directory"), "did you mean working_dir?"),
    **dict.fromkeys(("environment", "variables", "vars"), "did you mean env?"),
    **dict.fromkeys(("overlap", "parallelism"), "did you mean concurrency?"),
}
_NO_DEFAULTS = {
    **_SYNONYMS,
    **dict.fromkeys(NO_DEFAULT, "each job has its own"),
    **dict.fromkeys(
        ("schedule", "cron"), "each job has its own; the zone may stand here: timezone: Europe/Berlin"
    ),
}
_TOP_SYNONYMS = dict.fromkeys(
    FIELDS, "write defaults: and the field under it, for all jobs; or give it to a job"
)


Entries = dict[str, dict[str, Any]]  # channels as `foliot.alerts.config.read_channel` takes them, by name


class Config(NamedTuple):
    """What a file declares.

    `untimed`: the jobs for which it says nothing about their timeout. `channels` are the file's own, by the
    names that the store has for them: `SOURCE.NAME`, and `SOURCE.JOB.ping` for the ping of a job. Other names
    in a `notify` are channels of the operator.
    """

    jobs: tuple[Job, ...] = ()
    untimed: frozenset[str] = frozenset()
    channels: Entries = {}  # noqa: RUF012 - nothing changes it


def read_config(data: bytes | str, *, source: str, file: str = FILE, revision: str = "") -> tuple[Job, ...]:
    """The jobs that a file declares, in its order, as jobs of a source.

    A ConfigInvalidError tells all that is wrong with it.
    """
    return read_file(data, source=source, file=file, revision=revision).jobs


def read_file(data: bytes | str, *, source: str, file: str = FILE, revision: str = "") -> Config:
    """The same, with what the file does not say."""
    report = Report(file)
    config = Config()
    try:
        tree = read_tree(decode(data, report), report)
        if tree is None:
            report.stop(1, 1, "the file is empty", hint=_TOP)
        config = _Reader(source, revision, report).read(Value(tree, None, None, report))
    except StopError:
        pass
    report.check()
    return config


def read_operator_channels(data: bytes | str, file: str) -> Entries:
    """The channels of an operator's file, which has nothing but `channels`. ConfigInvalidError as above."""
    report, found = Report(file), None
    with suppress(StopError):
        tree = read_tree(decode(data, report), report)
        if tree is None:
            report.stop(1, 1, "the file is empty", hint=_CHANNELS_TOP)
        fields = Value(tree, None, None, report).fields(("channels",), _CHANNELS_TOP)
        if "channels" in fields:
            found = TRUSTED_CHANNELS.read(fields["channels"])
        elif report.is_clean:
            report.add(1, 1, "is missing", field="channels", hint=_CHANNELS_TOP)
    report.check()
    return found or {}


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
        self._channels: Entries = {}

    def read(self, root: Value) -> Config:
        """All jobs, if nothing was wrong up to the last of them."""
        fields = root.fields(("jobs", "defaults", "channels"), _TOP, _TOP_SYNONYMS)
        channels = (CHANNELS.read(fields["channels"]) or {}) if "channels" in fields else {}
        self._channels = {self._own(name): entry for name, entry in channels.items()}
        defaults = self._defaults(fields["defaults"]) if "defaults" in fields else {}
        if "jobs" not in fields:
            if isinstance(root.node, Mapping):
                root._replace(field="jobs").refuse("is missing", hint=_TOP)
            return Config()
        hint = "write each job's id and a colon, and its fields under it; jobs: {} if there is to be none"
        found = fields["jobs"].entries("a mapping of jobs by their ids", hint)
        by_lower: dict[str, Scalar] = {}
        jobs, untimed = [], set()
        for id_, (key, value) in found.items():
            _check_id(key, by_lower, self._report)
            said = self._said(key, Value(value.node, id_, None, self._report))
            if "timeout" not in said and "timeout" not in defaults:
                untimed.add(id_)
            jobs.append(self._job(id_, _merged(defaults, said)))
        return Config(tuple(job for job in jobs if job is not None), frozenset(untimed), self._channels)

    def _own(self, name: str) -> str:
        """What the store calls a channel of this file: other repositories may have one of the same name."""
        return f"{self._source}.{name}"

    def _defaults(self, value: Value) -> dict[str, Any]:
        fields = value.fields(DEFAULTS, "write fields under it, such as timezone and timeout", _NO_DEFAULTS)
        return {name: FIELDS[name].kind.read(inner) for name, inner in fields.items()}

    def _said(self, key: Scalar, value: Value) -> dict[str, Any]:
        """What the fields of a job say; None: it is wrong."""
        if isinstance(value.node, Refused):
            return {}
        fields = value.fields(FIELDS, "write its fields under it: schedule, run, …", _SYNONYMS)
        if isinstance(value.node, Mapping):
            _require(Value(key, value.job, None, self._report), fields)
        said = {name: _read(name, inner) for name, inner in fields.items()}
        if "shell" in said and isinstance(said.get("run"), list):
            fields["shell"].refuse("a list needs no shell", hint="remove shell, or write run as a text")
        when, zone = said.get("schedule"), fields.get("timezone")
        if isinstance(when, When):
            if when.zone is not None and zone is not None:
                when.zone.refuse("the time zone is given twice", hint="remove one of the two")
            if when.zone is not None:
                said["timezone"] = _read("timezone", when.zone)
        return said

    def _job(self, id_: str, said: dict[str, Any]) -> Job | None:
        parts: dict[str, dict[str, Any]] = {
            "data": {"name": id_}, "policy": {}, "job": {}, "when": {}, "ping": {},
        }  # fmt: skip
        for name, (_, place, renamed) in FIELDS.items():
            if said.get(name) is not None:
                parts[place][renamed or name] = None if said[name] == NONE else said[name]
        rule = self._schedule(parts["when"].get("schedule"), said)
        if rule is None or not self._report.is_clean:  # one error, and no job of the file counts
            return None
        self._name_channels(id_, parts)
        return Job(
            source=self._source,
            name=id_,
            schedule=rule,
            action=Action(kind=self._kind, data=parts["data"]),
            policy=self._policy(tuple(parts["policy"].items())),
            revision=self._revision,
            **parts["job"],
        )

    def _name_channels(self, id_: str, parts: dict[str, dict[str, Any]]) -> None:
        """Which channels of the store the job means."""
        policy = parts["policy"]
        if (notify := policy.get("notify")) is not None:
            to = [own if (own := self._own(name)) in self._channels else name for name in notify.to]
            policy["notify"] = replace(notify, to=to)
        if "ping" in parts["ping"]:
            policy["ping"] = self._own(f"{id_}.ping")
            self._channels[policy["ping"]] = parts["ping"]["ping"]

    def _schedule(self, when: When | None, said: dict[str, Any]) -> Cron | None:
        if when is None:
            return None
        # With a wrong zone, whatever it is, the expression is looked at all the same.
        zone = (said["timezone"] or "UTC") if "timezone" in said else "local"
        return when.cron.read(lambda written: self._rule(text(written), zone))

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

    def _policy(self, said: tuple[tuple[str, Any], ...]) -> Policy:
        if said not in self._policies:
            self._policies[said] = replace(ROLLCRON, **dict(said))
        return self._policies[said]


def _read(name: str, value: Value) -> Any:
    """What a job's field says; `none` takes a default away, and the limit of a timeout."""
    return (
        NONE
        if name in DEFAULTS and is_none(value.node, is_text=name in TEXTS)
        else FIELDS[name].kind.read(value)
    )


def _merged(defaults: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """A job's fields stand in the place of the defaults; only variables are merged, by their names."""
    merged = {**defaults, **said}
    if isinstance(said.get("env"), dict) and isinstance(defaults.get("env"), dict):
        merged["env"] = {**defaults["env"], **said["env"]}
    return {name: value for name, value in merged.items() if value != NONE or name == "timeout"}


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
        job._replace(field="schedule.cron").refuse("is missing", hint=EXAMPLE)
    if "run" not in fields:
        job._replace(field="run").refuse("is missing", hint="write run: and the command")
