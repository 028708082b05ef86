"""What an import is made of: lines that are accounted for, and drafts of jobs with their originals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from foliot.schedules.around import Dst
from foliot.schedules.cron_syntax import Dialect

USER = "user"  # the code of the note about who runs a job


class LineKind(StrEnum):
    """What a line of a source is."""

    JOB = "job"
    VARIABLE = "variable"
    SETTING = "setting"
    COMMENT = "comment"
    BLANK = "blank"
    UNTRANSLATED = "not translated"


class Line(NamedTuple):
    """One line of a source. What is not translated has a code, a reason, and what to do."""

    number: int
    text: str
    kind: LineKind
    code: str = ""
    reason: str = ""
    to_do: str = ""


class Note(NamedTuple):
    """Something to know about an import. `needs_person`: it is not done until a person has looked at it."""

    code: str
    text: str
    needs_person: bool = False


def runs_as(user: str, why: str = "it runs as") -> Note:
    """The note about a job that has a user."""
    text = f"{why} {user}: start the daemon as root with --run-as {user}"
    return Note(USER, text, needs_person=True)


class Original(NamedTuple):
    """When the old scheduler runs an entry: the fires of [first, last) in seconds since 1970, and how many.

    `window`: it runs at a random time, up to this many seconds later. `loses`: the code for runs that a
    fault of its own leaves out.
    """

    zone: str
    fires: Callable[[int, int], Iterable[int]]
    counted: Callable[[int, int], int] | None = None
    window: int = 0
    loses: str = ""


class When(NamedTuple):
    """The schedule that a job gets."""

    cron: str
    timezone: str
    dialect: Dialect = "standard"
    dst: Dst = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job that is to be, with where it comes from.

    `fields` are those of rollcron.yaml, but for the schedule. `when` is None for a job that no time starts.
    `command` is what the old program writes into its log. `home`: the directory of the job's file.
    """

    id: str
    source: str
    place: str
    written: str
    when: When | None
    command: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    original: Original | None = None
    notes: tuple[Note, ...] = ()
    home: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One thing that was read: its lines, the drafts that came of them, and how to switch it off."""

    name: str
    lines: tuple[Line, ...] = ()
    drafts: tuple[Draft, ...] = ()
    notes: tuple[Note, ...] = ()
    switch_off: tuple[str, ...] = ()
    failure: str = ""
