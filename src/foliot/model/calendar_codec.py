"""A rule on some days as JSON: `{"rule": {…}, "except": [calendar, …], "only": [calendar, …]}`.

A calendar is `{"name", "dates"}`, whose dates are one text with spaces between, or `{"name", "cron"}`. As of
a schedule, fields that are not known here are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Any

from foliot.errors import FoliotError
from foliot.model.damage import Flaw
from foliot.model.json_text import MisfitError
from foliot.model.shape import TEXT, listed
from foliot.model.shape import Kind as FieldKind
from foliot.schedules import Calendar, OnDays, Schedule

_UNKNOWN = "is a field of schedules that this version does not know"


def read_on_days(data: dict[str, Any], read_rule: Callable[[Any], Schedule]) -> OnDays:
    """The schedule of such an object."""
    _refuse_unknown(data, ("rule", "except", "only"))
    try:
        rule: Any = read_rule(data["rule"])
    except MisfitError as error:
        raise error.within("rule") from error.__cause__
    exclude, only = (_CALENDARS.read(data.get(name, [])) for name in ("except", "only"))
    try:
        return OnDays(rule, exclude=exclude, only=only)
    except FoliotError as error:
        raise MisfitError(data["rule"], error.message, "rule") from error


def write_on_days(schedule: OnDays, write_rule: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """The object of a schedule; a list that is empty is left out."""
    lists = {"except": _CALENDARS.write(schedule.exclude), "only": _CALENDARS.write(schedule.only)}
    return {"rule": write_rule(schedule.rule)} | {name: some for name, some in lists.items() if some}


def _read_calendar(data: Any) -> Calendar:
    if type(data) is not dict:
        raise MisfitError.of_type(data, "an object")
    _refuse_unknown(data, ("name", "dates", "cron"))
    name, dates, cron = (
        None if data.get(field) is None else TEXT.read(data[field]) for field in ("name", "dates", "cron")
    )
    return _make(name or "", dates or "", cron)


@lru_cache(maxsize=256)  # the jobs of a file share their calendars
def _make(name: str, dates: str, cron: str | None) -> Calendar:
    try:
        return Calendar(name, map(date.fromisoformat, dates.split()), cron=cron)
    except ValueError:
        raise MisfitError(dates, "must be dates such as 2026-12-24", "dates") from None
    except FoliotError as error:
        raise MisfitError(cron or dates, error.message) from error


def _write_calendar(calendar: Calendar) -> dict[str, Any]:
    if calendar.cron is not None:
        return {"name": calendar.name, "cron": calendar.cron}
    return {"name": calendar.name, "dates": " ".join(map(date.isoformat, calendar.dates))}


def _refuse_unknown(data: dict[str, Any], known: tuple[str, ...]) -> None:
    for name, value in data.items():
        if name not in known:
            raise MisfitError(value, _UNKNOWN, name, flaw=Flaw.UNKNOWN_HERE)


_CALENDARS = listed(FieldKind(_read_calendar, _write_calendar))
