"""A line that starts a directory of scripts with run-parts, as one job for each script.

    17 * * * * root cd / && run-parts --report /etc/cron.hourly
                            └──────── becomes /etc/cron.hourly/SCRIPT ────────┘

What stands around the call stays, so that a guard such as `test -x /usr/sbin/anacron ||` still counts. The
jobs of a directory share a group with one place: they run one at a time, as run-parts runs them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from foliot.importers.draft import Note, When
from foliot.importers.proof import rule_of
from foliot.importers.registry import Registry

_CALL = re.compile(
    r"(?<![\w./-])(?:/usr)?(?:/bin/)?run-parts(?P<options>(?: +-\S+)*)"
    r" +(?P<folder>/[\w./-]*\w)/?(?=$|[\s;)}&|>])",
    re.ASCII,
)
_HARMLESS = frozenset(("--report", "--verbose", "-v", "--new-session", "--"))
_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_PLACEHOLDER = ".placeholder"  # Debian's own file in an empty directory
_EXECUTABLE = 0o111
_LOOKED_AT = 50
_LONGEST_WAIT = timedelta(hours=12)


class Part(NamedTuple):
    """A script: its name, and the command that starts it in place of the whole directory."""

    name: str
    command: str


class Split(NamedTuple):
    """What a line is split into; none: it stays one job, and the notes say why."""

    parts: tuple[Part, ...] = ()
    notes: tuple[Note, ...] = ()
    group: str = ""

    def fields(self, when: When) -> dict[str, Any]:
        """What all jobs of the directory have in common."""
        return {"group": self.group, "misfire": {"mode": "skip", "grace": _grace(when)}}


def split_line(place: str, command: str, root: Path, names: Registry) -> Split:
    """The scripts that a command starts with run-parts, by the files below a root."""
    calls = list(_CALL.finditer(command))
    if not calls:
        return Split()
    options = {option for call in calls for option in call["options"].split()} - _HARMLESS
    if len(calls) > 1 or options:
        why = f"run-parts has the option {min(options)}" if options else "it calls run-parts twice"
        return Split(notes=(_kept(place, why),))
    folder = calls[0]["folder"]
    try:
        files = sorted(path for path in (root / folder.lstrip("/")).iterdir() if not path.is_dir())
        reasons = {path.name: _ignored(path) for path in files}
    except OSError as error:
        return Split(notes=(_kept(place, f"{folder} cannot be read ({error.strerror})"),))
    notes = _told_ignored(place, folder, reasons)
    started = [name for name, reason in reasons.items() if not reason]
    if not started:
        return Split(notes=(_kept(place, f"run-parts finds no script in {folder}"), *notes))
    start, end = calls[0].span()
    parts = tuple(Part(name, f"{command[:start]}{folder}/{name}{command[end:]}") for name in started)
    group = names.group_for(folder)
    many = "1 job" if len(parts) == 1 else f"{len(parts)} jobs"
    text = (
        f"{place}: {folder} becomes {many}: {', '.join(started)}. The group {group} has one place: they run "
        "one at a time, in no fixed order. A script that is added to the directory later is no job by itself"
    )
    return Split(parts, (Note("split", text), *notes), group)


def _kept(place: str, why: str) -> Note:
    return Note("not-split", f"{place}: it stays one job, because {why}", needs_person=True)


def _ignored(path: Path) -> str:
    """Why Debian's run-parts does not start a file; empty: it does."""
    if not _NAME.fullmatch(path.name):
        character = next(c for c in path.name if not _NAME.fullmatch(c))
        return f"its name has {character!r} in it" if character != "." else "its name has a dot in it"
    if not path.is_file():
        return "it is no file"
    return "" if path.stat().st_mode & _EXECUTABLE else "it is not executable"


def _told_ignored(place: str, folder: str, reasons: dict[str, str]) -> tuple[Note, ...]:
    ignored = [f"{name} ({reason})" for name, reason in reasons.items() if reason]
    if not ignored:
        return ()
    text = f"{place}: run-parts does not start these files of {folder}, and never did: {', '.join(ignored)}"
    needs_person = any(reason and name != _PLACEHOLDER for name, reason in reasons.items())
    return (Note("run-parts-ignores", text, needs_person),)


def _grace(when: When) -> str:
    """How long a script may wait for those before it: as long as no other run of it is due."""
    times = rule_of(when).upcoming(datetime(2027, 1, 1, tzinfo=UTC), _LOOKED_AT)
    gaps = (later - earlier for earlier, later in pairwise(times))
    shortest = min((*gaps, _LONGEST_WAIT))
    return f"{max(1, round(shortest.total_seconds() / 60))}m"
