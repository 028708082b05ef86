"""Calendars of `rollcron.yaml`: whole days, by dates, public holidays, an iCalendar file, or a cron rule.

They become dates when the file is read, so that all nodes agree about them: what is stored needs neither the
package of holidays nor the file. Public holidays are those of a fixed range of years, for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

from foliot.doors.rollcron.record import table
from foliot.doors.rollcron.value import (
    TEXT,
    Kind,
    Value,
    WrongValueError,
    either,
    list_of,
    matching,
    path_inside,
    scalar,
    text,
)
from foliot.doors.rollcron.yaml_tree import Mapping, Scalar
from foliot.errors import FoliotError, shorten
from foliot.schedules import Calendar
from foliot.sources.git.beside import Files, no_files

FIRST_YEAR, LAST_YEAR = 2024, 2037
NAME = r"[A-Za-z0-9_-]{1,100}"
_NAME_HINT = "letters, digits, _ and - only"
_HINT = "such as de: {holidays: DE-BE}, own: {dates: [2026-12-24]} or mondays: {cron: '* * * * MON'}"
_PLACE = re.compile(r"[A-Za-z]{2,10}(-[A-Za-z0-9]{1,10})?", re.ASCII)
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOST_DAYS = 366  # of one event
_LARGEST = 1_000_000  # characters of an iCalendar file
_MOST_EVENTS, _MOST_OF_ALL = 20_000, 100_000  # events and days of it
_FOLD = re.compile(r"\r?\n[ \t]")
_FIELD = re.compile(r"[A-Z-]+")
Days = tuple[date, ...]

_CALENDAR_NAME = matching(NAME, "name of a calendar", _NAME_HINT)
CALENDAR_NAMES = either(_CALENDAR_NAME, list_of(_CALENDAR_NAME, "calendars", "such as [de, own]"))


def calendars_kind(files: Files = no_files) -> Kind:
    """What stands under `calendars`. It reads to calendars by name; `files` has those that they name."""
    kinds: dict[str, Kind] = {
        "holidays": scalar(_holidays, type="string", pattern=f"^{_PLACE.pattern}$"),
        "dates": list_of(scalar(_date, type="string", pattern=f"^{_DATE}$"), "dates", "such as [2026-12-24]"),
        "ics": scalar(_ics_reader(files), **TEXT.schema),
        "cron": TEXT,
    }
    schema = {
        "anyOf": [
            {
                "type": "object", "properties": {name: kind.schema},
                "additionalProperties": False, "required": [name],
            }
            for name, kind in kinds.items()
        ]
    }  # fmt: skip

    def read(value: Value) -> Calendar | None:
        given = value.fields(kinds, _HINT)
        if len(given) != 1:
            if isinstance(value.node, Mapping) and len(value.node.entries) != 1:
                value.refuse("must have one of " + ", ".join(kinds), hint=_HINT)
            return None
        [(name, inner)] = given.items()
        found = kinds[name].read(inner)
        return None if found is None else _made(str(value.field).rpartition(".")[2], name, found, inner)

    return table(Kind(read, schema), "calendar", _HINT, pattern=NAME, hint=_NAME_HINT)


def _made(name: str, kind: str, found: Any, value: Value) -> Calendar | None:
    try:
        return Calendar(name, cron=found) if kind == "cron" else Calendar(name, found)
    except FoliotError as error:
        value.refuse(error.message, hint=error.hint)
    return None


def _date(written: Scalar) -> date:
    try:
        if re.fullmatch(_DATE, text(written), re.ASCII):
            return date.fromisoformat(written.text)
    except ValueError:
        pass
    raise WrongValueError(f"{shorten(written.text)} is no date", "write it as 2026-12-24")


def _holidays(written: Scalar) -> Days:
    """The public holidays of a country, of a part of it, or of an exchange."""
    place = text(written)
    try:
        import holidays  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        hint = "pip install 'foliot[holidays]'"
        raise WrongValueError("needs the package holidays, which is not installed", hint) from None
    country, _, part = place.partition("-")
    years = range(FIRST_YEAR, LAST_YEAR + 1)
    is_known = _PLACE.fullmatch(place) is not None
    try:
        if is_known and country.upper() in holidays.list_supported_countries(include_aliases=True):
            return tuple(holidays.country_holidays(country.upper(), subdiv=part or None, years=years))
        if is_known and not part:
            return tuple(holidays.financial_holidays(country.upper(), years=years))
    except NotImplementedError:
        pass
    hint = "a country, with a part of it or without, such as DE, DE-BE or US-CA"
    raise WrongValueError(f"{shorten(place)} is not known to the package holidays", hint)


# -- iCalendar ---------------------------------------------------------------------------------------


def _ics_reader(files: Files) -> Callable[[Scalar], Days]:
    def read(written: Scalar) -> Days:
        path = path_inside(written)
        found = files([path]).get(path)
        if found is None:
            raise WrongValueError(
                f"there is no file {shorten(path)}", "its path counts from the top of the repository"
            )
        return days_of_ics(found.decode(errors="replace"))

    return read


def days_of_ics(content: str) -> Days:
    """The days of all events: of one with an end, all days before it."""
    if len(content) > _LARGEST:
        raise WrongValueError(f"the file has {len(content):,} characters, and at most {_LARGEST:,} are read")
    found: list[date] = []
    for number, fields in enumerate(_events(content), start=1):
        if "RRULE" in fields or "RDATE" in fields:
            name = shorten(fields.get("SUMMARY", "an event"))
            hint = "export each of its days as an event of its own"
            raise WrongValueError(f"{name} repeats by a rule, which is not read", hint)
        found += _days_of_event(fields.get("DTSTART", ""), fields.get("DTEND", ""))
        if number > _MOST_EVENTS or len(found) > _MOST_OF_ALL:
            most = f"{_MOST_EVENTS:,} events with {_MOST_OF_ALL:,} days"
            raise WrongValueError(f"the file has more than {most}", "divide it among calendars")
    if not found:
        raise WrongValueError("the file has no event", "it must be an iCalendar file with all-day events")
    return tuple(found)


def _events(content: str) -> Iterator[dict[str, str]]:
    """The fields of each event that has an end, line by line: a file of any shape takes one pass."""
    fields: dict[str, str] | None = None
    for line in _FOLD.sub("", content).split("\n"):
        written = line.removesuffix("\r")
        if fields is None:
            fields = {} if written == "BEGIN:VEVENT" else None
        elif written == "END:VEVENT":
            yield fields
            fields = None
        else:
            head, colon, value = written.partition(":")
            if colon and (name := _FIELD.match(head)):
                fields[name[0]] = value


def _days_of_event(start: str, end: str) -> list[date]:
    """A day by its date; the end of an all-day event is the day after its last."""
    try:
        first = date.fromisoformat(start[:8])
        last = date.fromisoformat(end[:8]) if end else first
    except ValueError:
        raise WrongValueError(f"DTSTART:{shorten(start)} is no date") from None
    ends_before = last > first and (len(end) == len("20261224") or end[9:15] == "000000")
    count = (last - first).days + (not ends_before)
    if not 0 < count <= _MOST_DAYS:
        raise WrongValueError(f"the event of {first} has {count} days, and at most {_MOST_DAYS} are read")
    return [first + timedelta(days=n) for n in range(count)]
