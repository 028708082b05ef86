"""A crontab, line by line: what each line is, and the job that it becomes.

Variables count for the lines below them, as in cron. A comment that stands right above a line becomes the
job's description, and is still a comment in the account.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foliot.importers.ability import HAS_REBOOT, HAS_USER
from foliot.importers.crontab_env import Variables
from foliot.importers.crontab_line import REBOOT, Entry, read_entry, read_variable, split_command
from foliot.importers.crontab_rule import Rule, translate_rule
from foliot.importers.draft import Draft, Line, LineKind, Note, Source, When, runs_as
from foliot.importers.hints import hints
from foliot.importers.model.vixie import Flavour
from foliot.importers.refusal import refusal_of
from foliot.importers.refused import RefusedError
from foliot.importers.registry import Registry
from foliot.importers.run_parts import Part, Split, split_line

_LONGEST_DESCRIPTION = 500
_CORRECT = "correct the line, or remove it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is known about a table beside its text.

    The `owner` gets its mail. `user` runs its commands; empty: the column of users says it, or the user who
    imports the table is the one who runs the daemon. `split`: a line of run-parts becomes a job for each
    script, by the files below `root`.
    """

    name: str
    flavour: Flavour = "debian"
    zone: str
    owner: str = ""
    user: str = ""
    is_system: bool = False
    changes_directory: bool = True
    switch_off: tuple[str, ...] = ()
    split: bool = False
    root: Path = Path("/")


def read_crontab(data: bytes, setting: Setting, names: Registry) -> Source:
    """All lines of a table."""
    return _Reader(setting, names).read(data)


class _Reader:
    def __init__(self, setting: Setting, names: Registry) -> None:
        self._setting = setting
        self._names = names
        self._variables = Variables(setting.flavour)
        self._above: list[str] = []
        self._drafts: list[Draft] = []
        self._notes: list[Note] = []

    def read(self, data: bytes) -> Source:
        rows = data.split(b"\n")
        if rows[-1] == b"":
            rows.pop()
        else:
            text = "the last line has no line break: cron does not read it"
            self._notes.append(Note("no-newline", text, needs_person=True))
        lines = []
        for number, row in enumerate(rows, start=1):
            line = self._line(number, row)
            if line.kind is not LineKind.COMMENT:
                self._above.clear()
            lines.append(line)
        return Source(
            name=self._setting.name,
            lines=tuple(lines),
            drafts=tuple(self._drafts),
            notes=tuple(self._notes),
            switch_off=self._setting.switch_off if self._drafts else (),
        )

    def _line(self, number: int, row: bytes) -> Line:
        text = row.decode(errors="backslashreplace")
        try:
            return Line(number, text, self._kind(number, row.decode()))
        except UnicodeDecodeError:
            reason, to_do = "it is not UTF-8", "write it anew in UTF-8"
            return Line(number, text, LineKind.UNTRANSLATED, "bytes", reason, to_do)
        except RefusedError as error:
            return Line(number, text, LineKind.UNTRANSLATED, error.code, error.reason, error.to_do)

    def _kind(self, number: int, text: str) -> LineKind:
        stripped = text.strip(" \t\r")
        if "\x00" in text:
            raise RefusedError("bytes", "it has a NUL in it", "remove it")
        if not stripped:
            return LineKind.BLANK
        if stripped.startswith("#"):
            self._above.append(stripped.lstrip("#").strip())
            return LineKind.COMMENT
        if (variable := read_variable(text)) is not None:
            note = self._variables.take(*variable)
            if note is not None:
                self._notes.append(note._replace(text=f"line {number}: {note.text}"))
            return LineKind.VARIABLE
        entry = read_entry(text, has_user=self._setting.is_system)
        if entry is None:
            parts = "rule, user and command" if self._setting.is_system else "rule and command"
            raise RefusedError("unreadable", f"cron does not read it: it is no {parts}", _CORRECT)
        self._drafts += self._jobs_of(number, entry)
        return LineKind.JOB

    def _jobs_of(self, number: int, entry: Entry) -> list[Draft]:
        """The job of a line; or one for each script, if its directory is split."""
        split, place = Split(), f"line {number}"
        command, stdin = split_command(entry.command)
        if self._setting.split and stdin is None and entry.rule != REBOOT:
            split = split_line(place, command, self._setting.root, self._names)
        whole = Part("", command)
        drafts = [self._draft(place, entry, stdin, part, split) for part in split.parts or (whole,)]
        self._notes += split.notes
        # The log of cron has one line for the whole directory: the first job stands for it.
        return [drafts[0], *(replace(draft, command="") for draft in drafts[1:])]

    def _draft(self, place: str, entry: Entry, stdin: str | None, part: Part, split: Split) -> Draft:
        rule = self._rule(entry)
        notes = [*(rule.notes if rule else ())]
        known = frozenset(self._names.channels)
        fields = self._fields(part.command, stdin, entry.user or self._setting.user, notes)
        notes += hints(part.command, entry.rule)
        if rule and rule.splay:
            fields["splay"] = f"{rule.splay}m"
        when = rule.when if rule else When(REBOOT, self._setting.zone)
        if split.parts:
            fields |= split.fields(when)
        if reason := refusal_of(when, fields, self._names.channels_of(fields)):
            self._names.keep_channels(known)
            raise RefusedError("refused-here", reason, "write the job by hand")
        return Draft(
            id=self._names.id_named(part.name) if part.name else self._names.id_for(part.command),
            source=self._setting.name,
            place=f"{place}, {part.name}" if part.name else place,
            written=entry.rule,
            when=when,
            command=entry.command,
            fields=fields,
            original=rule.original if rule else None,
            notes=tuple(notes),
        )

    def _fields(self, command: str, stdin: str | None, user: str, notes: list[Note]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if described := " ".join(line for line in self._above if line)[:_LONGEST_DESCRIPTION]:
            fields["description"] = described
        fields["run"] = f"cd; {command}" if self._setting.changes_directory else command
        fields |= {"stdin": stdin} if stdin is not None else {}
        fields |= {"shell": self._variables.shell} if self._variables.shell else {}
        if user:
            fields["user"] = self._user(user, notes)
        fields["env"] = self._variables.environment
        notify, told = self._variables.notify(user or self._setting.owner, self._names)
        fields |= {"notify": notify} if notify else {}
        notes += told
        return fields

    def _rule(self, entry: Entry) -> Rule | None:
        setting = self._setting
        if setting.flavour == "busybox" and entry.rule.startswith("@"):
            raise RefusedError("unknown-macro", "BusyBox's crond has no macros", "write five fields")
        if entry.rule == REBOOT:
            if HAS_REBOOT:
                return None
            raise RefusedError("reboot", "this version has no @reboot", "start it with a unit of systemd")
        zone = self._variables.zone(setting.zone)
        return translate_rule(entry.rule, setting.flavour, zone, self._variables.delay)

    def _user(self, user: str, notes: list[Note]) -> str:
        if not HAS_USER:
            reason = f"it runs as {user}, and this version has no user field"
            raise RefusedError("user", reason, f"import it into a repository whose daemon runs as {user}")
        notes.append(runs_as(user))
        return user
