"""anacron's table: `period delay id command`. It counts days since the last run; no calendar rule does.

anacron runs its jobs as root; `user` of the setting says so.
"""

from __future__ import annotations

from typing import Any

from foliot.importers.crontab import Setting
from foliot.importers.crontab_env import Variables
from foliot.importers.crontab_line import read_variable
from foliot.importers.draft import Draft, Line, LineKind, Note, Source, When, runs_as
from foliot.importers.hints import hints
from foliot.importers.refusal import refusal_of
from foliot.importers.refused import RefusedError
from foliot.importers.registry import Registry
from foliot.importers.run_parts import Part, Split, split_line

_PERIODS = {
    "1": "@daily", "7": "@weekly", "30": "@monthly",
    "@daily": "@daily", "@weekly": "@weekly", "@monthly": "@monthly", "@yearly": "@yearly",
}  # fmt: skip
_PARTS = 4
_MOST_DELAY = 1440


def read_anacrontab(data: bytes, setting: Setting, names: Registry) -> Source:
    """All lines of an anacrontab."""
    return _Reader(setting, names).read(data)


class _Reader:
    def __init__(self, setting: Setting, names: Registry) -> None:
        self._setting, self._names = setting, names
        self._variables = Variables("debian")
        self._drafts: list[Draft] = []
        self._notes: list[Note] = []

    def read(self, data: bytes) -> Source:
        rows = data.decode(errors="backslashreplace").splitlines()
        lines = [self._line(number, text) for number, text in enumerate(rows, start=1)]
        return Source(
            name=self._setting.name,
            lines=tuple(lines),
            drafts=tuple(self._drafts),
            notes=tuple(self._notes),
            switch_off=self._setting.switch_off if self._drafts else (),
        )

    def _line(self, number: int, text: str) -> Line:
        stripped = text.strip()
        if not stripped or stripped.startswith("#"):
            return Line(number, text, LineKind.COMMENT if stripped else LineKind.BLANK)
        try:
            return Line(number, text, self._kind(number, text))
        except RefusedError as error:
            return Line(number, text, LineKind.UNTRANSLATED, error.code, error.reason, error.to_do)

    def _kind(self, number: int, text: str) -> LineKind:
        if (variable := read_variable(text)) is not None:
            self._variables.take(*variable)
            return LineKind.VARIABLE
        words = text.split(None, _PARTS - 1)
        if len(words) < _PARTS or not words[1].isdigit():
            reason = "it is no period, delay, id and command"
            raise RefusedError("unreadable", reason, "correct it, or remove it")
        if words[0] not in _PERIODS:
            reason = f"every {words[0]} days is no rule of a calendar"
            raise RefusedError("period", reason, "choose the days by hand")
        split, place = Split(), f"line {number}"
        if self._setting.split:
            split = split_line(place, words[3], self._setting.root, self._names)
        whole = Part(words[2], words[3])
        drafts = [self._draft(place, words, part, split) for part in split.parts or (whole,)]
        self._drafts += drafts
        self._notes += split.notes
        return LineKind.JOB

    def _draft(self, place: str, words: list[str], part: Part, split: Split) -> Draft:
        period, delay = words[:2]
        user, rule = self._setting.user, _PERIODS[period]
        when = When(rule, self._setting.zone, "vixie", "cron")
        fields: dict[str, Any] = {"run": part.command, "misfire": "once", "env": self._variables.environment}
        if split.parts:
            fields |= {**split.fields(when), "misfire": "once"}
        text = f"anacron counts {period} days since the last run; this runs {rule} at 00:00, or when it can"
        notes = [Note("anacron-drift", text, needs_person=True), *hints(part.command, "")]
        if user:
            fields["user"] = user
            notes.append(runs_as(user, "anacron runs its jobs as"))
        if int(delay):
            fields["splay"] = f"{min(int(delay), _MOST_DELAY)}m"
        if reason := refusal_of(when, fields, {}):
            raise RefusedError("refused-here", reason, "write the job by hand")
        return Draft(
            id=self._names.id_named(part.name), source=self._setting.name,
            place=f"{place}, {part.name}" if split.parts else place, written=period,
            when=when, fields=fields, notes=tuple(notes),
        )  # fmt: skip
