"""Jobs of `rollcron.yaml`: from the fields of one job after the other to what the store has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, NamedTuple

from foliot.doors.rollcron.chain_fields import chained, check_chains
from foliot.doors.rollcron.fields import DEFAULTS, EXAMPLE, FIELDS, NO_DEFAULT, TEXTS, When
from foliot.doors.rollcron.report import Report
from foliot.doors.rollcron.value import NONE, Value, is_none, text
from foliot.doors.rollcron.yaml_tree import Mapping as Node
from foliot.doors.rollcron.yaml_tree import Refused, Scalar
from foliot.errors import CronExpressionInvalidError, shorten
from foliot.model.chain import Link
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.presets import ROLLCRON
from foliot.schedules import Calendar, Cron, Never, OnDays, Schedule
from foliot.schedules.around import Dst
from foliot.schedules.cron_syntax import Dialect
from foliot.schedules.never import NEVER, REBOOT
from foliot.schedules.zone import resolve_timezone

LONGEST_ID = 100
ID = r"[A-Za-z0-9_-]+"
_ID = re.compile(ID, re.ASCII)
_BY_DAYS = ("except", "only")
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
Entries = dict[str, dict[str, Any]]  # channels as `foliot.alerts.config.read_channel` takes them, by name


class _How(NamedTuple):
    """What makes a rule of an expression."""

    zone: str
    dialect: Dialect
    dst: Dst


class _Place(NamedTuple):
    """Where an id was first seen."""

    key: Scalar
    report: Report


class JobReader:
    """Reads one job after the other, of one file after the other. Equal rules and policies are made once."""

    def __init__(
        self, source: str, revision: str, report: Report, local: Callable[[str], str] | None = None
    ) -> None:
        self.reports = [report]
        self.local: set[str] = set()  # jobs whose zone is that of the host
        self._local_zone = local
        self.channels: Entries = {}
        self.groups: dict[str, int] = {}
        self.untimed: set[str] = set()
        self._source = source
        self._revision = revision
        self._kind = f"shell:{source}"
        self._calendars: dict[str, Calendar] = {}
        self._zones: dict[str, str] = {}
        self._rules: dict[tuple[Any, ...], Schedule] = {}
        self._policies: dict[tuple[tuple[str, Any], ...], Policy] = {(): ROLLCRON}
        self._places: dict[str, _Place] = {}  # by ids in small letters
        self._jobs: list[Job | None] = []
        self._links: dict[str, Link] = {}
        self._afters: dict[str, Value] = {}

    def learn_calendars(self, calendars: Mapping[str, Calendar | None]) -> None:
        """Jobs may name these. One that is wrong is known, too: it was reported once."""
        self._calendars = {name: one or _ANY for name, one in calendars.items()}

    def own(self, name: str) -> str:
        """What the store calls a channel or a group of this file: others may have one of the same name."""
        return f"{self._source}.{name}"

    def jobs(self) -> tuple[Job, ...]:
        """What was read; nothing, if anything was wrong."""
        check_chains(self._links, self._afters, [place.key.text for place in self._places.values()])
        return chained([job for job in self._jobs if job is not None]) if self._is_clean else ()

    @property
    def _is_clean(self) -> bool:
        return all(report.is_clean for report in self.reports)

    def read(self, value: Value, defaults: Value | None) -> None:
        """The jobs of one file."""
        usual = {} if defaults is None else self.read_defaults(defaults)
        hint = "write each job's id and a colon, and its fields under it; jobs: {} if there is to be none"
        for id_, (key, inner) in value.entries("a mapping of jobs by their ids", hint).items():
            self._check_id(key, value.report)
            said = self._said(key, Value(inner.node, id_, None, value.report))
            if "timeout" not in said and "timeout" not in usual:
                self.untimed.add(id_)
            self._jobs.append(self._job(id_, _merged(usual, said)))

    def read_defaults(self, value: Value) -> dict[str, Any]:
        """What holds for the jobs of a file that do not say otherwise."""
        fields = value.fields(DEFAULTS, "write fields under it, such as timezone and timeout", _NO_DEFAULTS)
        said = {name: FIELDS[name].kind.read(inner) for name, inner in fields.items()}
        self._check_calendars(fields, said)
        return said

    def _said(self, key: Scalar, value: Value) -> dict[str, Any]:
        """What the fields of a job say; None: it is wrong."""
        if isinstance(value.node, Refused):
            return {}
        fields = value.fields(FIELDS, "write its fields under it: schedule, run, …", _SYNONYMS)
        if isinstance(value.node, Node):
            _require(Value(key, value.job, None, value.report), fields)
        said = {name: _read(name, inner) for name, inner in fields.items()}
        self._check_calendars(fields, said)
        if value.job is not None and isinstance(said.get("after"), Link):
            self._links[value.job], self._afters[value.job] = said["after"], fields["after"]
        if "shell" in said and isinstance(said.get("run"), list):
            fields["shell"].refuse("a list needs no shell", hint="remove shell, or write run as a text")
        when = said.get("schedule")
        for name, inner in when.said.items() if isinstance(when, When) else ():
            if name in fields:
                what = "the time zone" if name == "timezone" else f"the {name}"
                inner.refuse(f"{what} is given twice", hint="remove one of the two")
            said[name] = _read(name, inner)
        return said

    def _check_calendars(self, fields: Mapping[str, Value], said: dict[str, Any]) -> None:
        """The calendars that are named must be there."""
        for field in _BY_DAYS:
            if isinstance(said.get(field), str) and said[field] != NONE:
                said[field] = [said[field]]
            for name in said.get(field) or () if isinstance(said.get(field), list) else ():
                if name not in self._calendars:
                    close = get_close_matches(name, self._calendars, n=1)
                    hint = f"write calendars: and {name}: under it, at the top of {self.reports[0].file}"
                    hint = f"did you mean {close[0]}?" if close else hint
                    fields[field].refuse(f"there is no calendar {shorten(name)}", hint=hint)

    def _job(self, id_: str, said: dict[str, Any]) -> Job | None:
        parts: dict[str, dict[str, Any]] = {
            "data": {"name": id_}, "policy": {}, "job": {}, "when": {}, "ping": {},
        }  # fmt: skip
        for name, (_, place, renamed) in FIELDS.items():
            if said.get(name) is not None:
                parts[place][renamed or name] = None if said[name] == NONE else said[name]
        rule = self._schedule(id_, parts["when"].get("schedule"), said)
        if rule is None or not self._is_clean:  # one error, and no job of the file counts
            return None
        self._name_channels(id_, parts)
        if (group := parts["job"].get("group")) is not None and self.own(group) in self.groups:
            parts["job"]["group"] = self.own(group)
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
            to = [own if (own := self.own(name)) in self.channels else name for name in notify.to]
            policy["notify"] = replace(notify, to=to)
        if "ping" in parts["ping"]:
            policy["ping"] = self.own(f"{id_}.ping")
            self.channels[policy["ping"]] = parts["ping"]["ping"]

    def _schedule(self, id_: str, when: When | None, said: dict[str, Any]) -> Schedule | None:
        if when is None:
            return Never() if "schedule" not in said and "after" in said else None
        # With a wrong zone, whatever it is, the expression is looked at all the same.
        zone = (said["timezone"] or "UTC") if "timezone" in said else "local"
        if zone == "local":
            self.local.add(id_)
            zone = zone if self._local_zone is None else self._local_zone(id_)
        how = _How(zone, said.get("dialect") or "standard", said.get("dst") or "exact")
        days = [tuple(said.get(field) or ()) for field in _BY_DAYS]
        if any(name not in self._calendars for names in days for name in names):
            days = [(), ()]
        return when.cron.read(lambda written: self._on_days(text(written), how, *days))

    def _on_days(self, expression: str, how: _How, out: tuple[str, ...], within: tuple[str, ...]) -> Schedule:
        rule = self._rule(expression, how)
        if not (out or within) or not isinstance(rule, Cron) or not self._is_clean:
            return rule
        key = (expression, how, out, within)
        if key not in self._rules:
            exclude, only = ([self._calendars[name] for name in names] for names in (out, within))
            self._rules[key] = OnDays(rule, exclude=exclude, only=only)
        return self._rules[key]

    def _rule(self, expression: str, how: _How) -> Schedule:
        if expression in (NEVER, REBOOT):
            return Never(at_boot=expression == REBOOT)
        zone = how.zone
        if zone not in self._zones:
            self._zones[zone] = resolve_timezone(zone)  # the host's zone takes files to find
        made = self._rules.get((expression, how))
        if made is None:
            try:
                made = Cron(expression, timezone=self._zones[zone], dialect=how.dialect, dst=how.dst)
            except CronExpressionInvalidError as error:
                if error.hint and "dialect=" in error.hint:
                    error.hint = "there are five fields, and a minute is the least; or write @every 30s"
                raise
            self._rules[expression, how] = made
        return made

    def _policy(self, said: tuple[tuple[str, Any], ...]) -> Policy:
        if said not in self._policies:
            self._policies[said] = replace(ROLLCRON, **dict(said))
        return self._policies[said]

    def _check_id(self, key: Scalar, report: Report) -> None:
        """An id names a directory, so it has few characters, and no other differs by its case alone."""
        hint = "an id has letters, digits, _ and - only"
        if not _ID.fullmatch(key.text):
            report.add(key.line, key.column, "is no id of a job", job=key.text, hint=hint)
        elif len(key.text) > LONGEST_ID:
            message = f"the id has {len(key.text)} characters, at most {LONGEST_ID} are allowed"
            report.add(key.line, key.column, message, job=key.text, hint="there is name: for a longer one")
        first = self._places.setdefault(key.text.lower(), _Place(key, report))
        if first.key is not key:
            file = "" if first.report is report else f" of {first.report.file}"
            message = f"stands here and in line {first.key.line}{file}"
            hint = "rename one of the two"
            if first.key.text != key.text:
                other = shorten(first.key.text)
                message = f"differs from {other} in line {first.key.line}{file} by capital letters only"
                hint = "some disks cannot tell their directories apart: rename one of the two"
            report.add(key.line, key.column, message, job=key.text, hint=hint)


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


def _require(job: Value, fields: dict[str, Value]) -> None:
    if "schedule" not in fields and "after" not in fields:
        job._replace(field="schedule.cron").refuse("is missing", hint=EXAMPLE)
    if "run" not in fields:
        job._replace(field="run").refuse("is missing", hint="write run: and the command")


_ANY = Calendar("any", cron="* * * * *")
