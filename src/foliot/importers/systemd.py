"""Timers of systemd and the services that they start, as jobs. Each line of a unit is accounted for."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from typing import Any, NamedTuple

from foliot.importers.ability import HAS_USER
from foliot.importers.draft import Draft, Line, LineKind, Note, Original, Source, When, runs_as
from foliot.importers.refusal import refusal_of
from foliot.importers.refused import RefusedError
from foliot.importers.registry import Registry
from foliot.importers.switch_off import command
from foliot.importers.systemd_rule import translate_calendar
from foliot.importers.unit_file import Row, expand, read_span, read_unit, shell_command
from foliot.schedules import Cron

_BY_HAND = "decide whether the job needs it, and write it by hand"
_QUIET = frozenset(
    ("Description", "Documentation", "WantedBy", "Unit", "Type", "RemainAfterElapse", "FixedRandomDelay",
     "AccuracySec", "DefaultDependencies", "Persistent", "RandomizedDelaySec", "After", "Wants", "Requires")
)  # fmt: skip
_OF_SERVICE = frozenset(
    ("ExecStart", "Environment", "WorkingDirectory", "User", "UMask", "Nice", "TimeoutStartSec", "TimeoutSec")
)
_STARTS = ("OnCalendar", "OnUnitActiveSec")
_NUMBERS = {
    "UMask": re.compile(r"[0-7]{1,4}", re.ASCII),
    "Nice": re.compile(r"[+-]?[0-9]{1,2}", re.ASCII),
}
_MANY_DAYS = 86_400 * 366
_YES = ("yes", "true", "on", "1")


class Unit(NamedTuple):
    """A unit: its name, and its file."""

    name: str
    data: bytes


def read_timer(
    timer: Unit, service: Unit | None, zone: str, names: Registry, owner: str = ""
) -> list[Source]:
    """The sources of a timer: its own file, and that of its service.

    `owner`: who runs services without `User=`; empty: it is not known whose manager reads the unit.
    """
    return _Reader(timer, service, zone, names, owner).read()


class _Reader:
    def __init__(self, timer: Unit, service: Unit | None, zone: str, names: Registry, owner: str) -> None:
        self._timer, self._service = timer, service
        self._zone, self._names, self._owner = zone, names, owner
        self._rows = read_unit(timer.data)
        self._said: dict[str, list[str]] = defaultdict(list)
        self._refused: dict[int, RefusedError] = {}
        self._jobs: set[int] = set()
        self._notes: list[Note] = []

    def read(self) -> list[Source]:
        served = read_unit(self._service.data) if self._service else []
        for row in (*self._rows, *served):
            if row.name:
                self._said[row.name] = [] if not row.value else [*self._said[row.name], row.value]
        of_service = [self._line(row, _OF_SERVICE) for row in served]
        try:
            drafts = self._drafts()
        except RefusedError as error:
            drafts = []
            self._refuse_starts(error)
        lines = tuple(self._line(row, frozenset(_STARTS)) for row in self._rows)
        off = (_disable(self._timer.name),) if drafts else ()
        sources = [
            Source(
                name=self._timer.name,
                lines=lines,
                drafts=tuple(drafts),
                notes=tuple(self._notes),
                switch_off=off,
            )
        ]
        if self._service:
            sources.append(Source(name=self._service.name, lines=tuple(of_service)))
        return sources

    def _refuse_starts(self, error: RefusedError) -> None:
        for row in self._rows:
            if row.name in _STARTS:
                self._refused.setdefault(row.number, error)

    def _line(self, row: Row, known: frozenset[str]) -> Line:
        line = Line(row.number, row.text, row.kind)
        if row.number in self._jobs and row.name in _STARTS:
            return line._replace(kind=LineKind.JOB)
        if row.name in _STARTS and row.number in self._refused and known == frozenset(_STARTS):
            error = self._refused[row.number]
            return Line(row.number, row.text, LineKind.UNTRANSLATED, error.code, error.reason, error.to_do)
        if not row.name or row.name in known or row.name in _QUIET:
            return line
        reason = f"{row.name} of [{row.section}] is not translated"
        return Line(row.number, row.text, LineKind.UNTRANSLATED, "unit-setting", reason, _BY_HAND)

    def _drafts(self) -> list[Draft]:
        fields = self._fields()
        found = []
        for row in self._rows:
            if row.name not in _STARTS or not row.value:
                continue
            try:
                when, original, notes = self._start(row)
                if reason := refusal_of(when, fields, {}):
                    raise RefusedError("refused-here", reason, "write the job by hand")  # noqa: TRY301 - told like the others
            except RefusedError as error:
                self._refused[row.number] = error
                continue
            self._jobs.add(row.number)
            found.append(
                Draft(
                    id=self._names.id_named(self._timer.name.removesuffix(".timer")),
                    source=self._timer.name,
                    place=f"line {row.number}",
                    written=row.value,
                    when=when,
                    fields=dict(fields),
                    original=original,
                    notes=notes,
                )
            )
        return found

    def _start(self, row: Row) -> tuple[When, Original | None, tuple[Note, ...]]:
        if row.name == "OnCalendar":
            window = round(read_span(self._last("RandomizedDelaySec") or "0"))
            return *translate_calendar(expand(row.value, self._timer.name), self._zone, window), ()
        span = round(read_span(row.value))
        if not 1 <= span <= _MANY_DAYS:
            raise RefusedError("span", f"{row.value} is no span for @every", "write the job by hand")
        text = f"systemd counts {row.value} from the last start, and @every from 1970: the phase differs"
        when = When(f"@every {span}s", self._zone)
        Cron(when.cron, timezone=self._zone)
        return when, None, (Note("phase", text, needs_person=True),)

    def _last(self, name: str) -> str:
        values = self._said.get(name) or [""]
        return values[-1]

    def _fields(self) -> dict[str, Any]:
        if self._service is None:
            raise RefusedError("no-service", "its service was not found", "import it with its service")
        fields: dict[str, Any] = {}
        if described := self._last("Description"):
            fields["description"] = described[:500]
        fields["run"] = self._command()
        fields |= self._user()
        if environment := self._environment():
            fields["env"] = environment
        limit = self._last("TimeoutStartSec") or self._last("TimeoutSec")
        if limit and limit != "infinity" and (seconds := round(read_span(limit))):
            fields["timeout"] = f"{seconds}s"
        fields["concurrency"] = "skip"  # a timer never starts what still runs
        fields["misfire"] = "once" if self._last("Persistent").lower() in _YES else "skip"
        delay = round(read_span(self._last("RandomizedDelaySec") or "0"))
        if delay:
            fields["splay"] = f"{min(delay, 86_400)}s"
        return fields

    def _user(self) -> dict[str, Any]:
        """The owner, even if the unit does not name it: no job changes its owner silently."""
        user = self._last("User")
        if not user and self._last("DynamicUser").lower() in _YES:
            text = "systemd makes a user for each run (DynamicUser); this runs as the user of the daemon"
            self._notes.append(Note("owner", text, needs_person=True))
            return {}
        if not user and not self._owner:
            text = (
                "it has no User=: a unit of the system runs as root, and one of a user as that user; this "
                "runs as the user of the daemon"
            )
            self._notes.append(Note("owner", text, needs_person=True))
            return {}
        owner = user or self._owner
        if not HAS_USER:
            raise RefusedError("user", f"it runs as {owner}, and this version has no user field", _BY_HAND)
        self._notes.append(
            runs_as(owner) if user else runs_as(owner, "it has no User=, so systemd runs it as")
        )
        return {"user": owner}

    def _command(self) -> str:
        assert self._service is not None  # noqa: S101 - it was asked before
        commands = []
        for text in self._said.get("ExecStart", ()):
            written = expand(text, self._service.name)
            marks = written[: len(written) - len(written.lstrip("-@:+!|"))]
            if set(marks) - {"-", ":"}:
                raise RefusedError(
                    "exec", f"the mark {marks} in front of a command is not translated", _BY_HAND
                )
            line = shell_command(written[len(marks) :])
            commands.append(f"{{ {line} || true; }}" if "-" in marks else line)
        if not commands:
            raise RefusedError("exec", "it has no ExecStart", "write the job by hand")
        before = []
        if folder := self._last("WorkingDirectory"):
            before.append("cd" if folder == "~" else f"cd {shell_command(folder)}")
        if umask := self._number("UMask"):
            before.append(f"umask {umask}")
        if nice := self._number("Nice"):
            before.append(f"renice -n {nice} $$ > /dev/null")
        return " && ".join([*before, *commands])

    def _number(self, name: str) -> str:
        """A setting that goes into the command as it is written; RefusedError if it is no number."""
        value = self._last(name)
        if value and not _NUMBERS[name].fullmatch(value):
            raise RefusedError("unit-setting", f"{value[:40]!r} is no value of {name}", _BY_HAND)
        return value

    def _environment(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for text in self._said.get("Environment", ()):
            for pair in _words(text):
                name, _, value = pair.partition("=")
                found[name] = expand(value, self._timer.name)
        return found


def _disable(timer: str) -> str:
    return command("systemctl", "disable", "--now", *(("--",) if timer.startswith("-") else ()), timer)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise RefusedError("environment", f"its quotes are not understood: {error}", _BY_HAND) from error
