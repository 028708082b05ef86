"""anacron's table: `period delay id command`. It counts days since the last run; no calendar rule does."""

from __future__ import annotations

from typing import Any

from foliot.importers.crontab import Setting
from foliot.importers.crontab_env import Variables
from foliot.importers.crontab_line import read_variable
from foliot.importers.draft import Draft, Line, LineKind, Note, Source, When
from foliot.importers.refusal import refusal_of
from foliot.importers.refused import RefusedError
from foliot.importers.registry import Registry

_PERIODS = {
    "1": "@daily", "7": "@weekly", "30": "@monthly",
    "@daily": "@daily", "@weekly": "@weekly", "@monthly": "@monthly", "@yearly": "@yearly",
}  # fmt: skip
_PARTS = 4
_MOST_DELAY = 1440


def read_anacrontab(data: bytes, setting: Setting, names: Registry) -> Source:
    """All lines of an anacrontab."""
    variables, drafts, lines = Variables("debian"), list[Draft](), list[Line]()
    for number, text in enumerate(data.decode(errors="backslashreplace").splitlines(), start=1):
        stripped = text.strip()
        line = Line(number, text, LineKind.BLANK if not stripped else LineKind.COMMENT)
        if stripped and not stripped.startswith("#"):
            try:
                line = _take(line, setting, names, variables, drafts)
            except RefusedError as error:
                line = Line(number, text, LineKind.UNTRANSLATED, error.code, error.reason, error.to_do)
        lines.append(line)
    off = setting.switch_off if drafts else ()
    return Source(name=setting.name, lines=tuple(lines), drafts=tuple(drafts), switch_off=off)


def _take(line: Line, setting: Setting, names: Registry, variables: Variables, drafts: list[Draft]) -> Line:
    if (variable := read_variable(line.text)) is not None:
        variables.take(*variable)
        return line._replace(kind=LineKind.VARIABLE)
    words = line.text.split(None, _PARTS - 1)
    if len(words) < _PARTS or not words[1].isdigit():
        raise RefusedError("unreadable", "it is no period, delay, id and command", "correct it, or remove it")
    period, delay, id_, command = words
    if period not in _PERIODS:
        raise RefusedError(
            "period", f"every {period} days is no rule of a calendar", "choose the days by hand"
        )
    fields: dict[str, Any] = {"run": command, "misfire": "once", "env": variables.environment}
    if int(delay):
        fields["splay"] = f"{min(int(delay), _MOST_DELAY)}m"
    when = When(_PERIODS[period], setting.zone, "vixie", "cron")
    if reason := refusal_of(when, fields, {}):
        raise RefusedError("refused-here", reason, "write the job by hand")
    rule = _PERIODS[period]
    text = f"anacron counts {period} days since the last run; this runs {rule} at 00:00, or when it can"
    drafts.append(
        Draft(
            id=names.id_named(id_), source=setting.name, place=f"line {line.number}", written=period,
            when=when, fields=fields, notes=(Note("anacron-drift", text, needs_person=True),),
        )
    )  # fmt: skip
    return line._replace(kind=LineKind.JOB)
