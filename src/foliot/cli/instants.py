"""Instants and durations as people tell them, and as they give them."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import NamedTuple

import click

from foliot.errors import InvalidDurationError, shorten
from foliot.model.attempt import format_instant
from foliot.schedules import Schedule
from foliot.schedules.duration import parse_duration
from foliot.schedules.zone import load_zone
from foliot.shown import relative

_LONGEST = timedelta(days=36_525)


def both(instant: datetime | None, now: datetime) -> str | None:
    """`2026-11-15T07:00:00Z (in 5 min)`, to the second."""
    if instant is None:
        return None
    return f"{format_instant(instant.replace(microsecond=0))} ({relative(instant, now)})"


def zone_of(schedule: Schedule) -> tzinfo:
    """The zone that the times of a rule are told in."""
    name = getattr(schedule, "timezone", None)
    return UTC if name is None else load_zone(name)


def read_time(_: click.Context, __: click.Parameter, text: str | None) -> datetime | None:
    """A time that was given; without an offset it is in the zone of what it is asked of: see `in_zone`."""
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f'"{shorten(text)}" is not an ISO 8601 time such as 2026-03-28 or 2026-03-28T12:00+01:00'
        ) from None


class When(NamedTuple):
    """A time as a person gives it: a day, a time of today, or both. `time` is None: a whole day is meant."""

    text: str
    exact: datetime | None = None
    days_ago: int = 0
    time: time | None = None

    def instant(self, now: datetime, zone: tzinfo) -> datetime:
        """The instant that is meant; of a day, its beginning."""
        if self.exact is not None:
            return in_zone(self.exact, zone)
        day = now.astimezone(zone).date() - timedelta(days=self.days_ago)
        return in_zone(datetime.combine(day, self.time or time()), zone)

    def next_day(self, now: datetime, zone: tzinfo) -> datetime:
        """When the day after the one that is meant begins."""
        return self._replace(days_ago=self.days_ago - 1).instant(now, zone)


_DAYS = {"today": 0, "yesterday": 1, "tomorrow": -1}


def read_when(_: click.Context, __: click.Parameter, text: str | None) -> When | None:
    """A time that was given: `07:00`, `yesterday`, `yesterday 07:00`, or ISO 8601."""
    if text is None:
        return None
    day, _space, rest = text.strip().lower().partition(" ")
    try:
        if day in _DAYS:
            return When(text, days_ago=_DAYS[day], time=time.fromisoformat(rest.strip()) if rest else None)
        if ":" in text and len(text) <= len("07:00:00"):
            return When(text, time=time.fromisoformat(text))
        exact = datetime.fromisoformat(text)
        return When(text, exact, time=exact.time())
    except ValueError:
        such = "07:00, yesterday, 'yesterday 07:00' or 2026-03-28T12:00+01:00"
        raise click.BadParameter(f'"{shorten(text)}" is no time such as {such}') from None


def local_time(instant: datetime, schedule: Schedule) -> str:
    """An instant by the clocks of a job's zone, with its name; empty if that is UTC."""
    zone = zone_of(schedule)
    local = instant.astimezone(zone)
    if not local.utcoffset():
        return ""
    shown = f"{local:%a %Y-%m-%d %H:%M:%S}".removesuffix(":00")
    return f"{format_instant(instant)} is {shown} in {getattr(schedule, 'timezone', '')}"


def read_duration(_: click.Context, __: click.Parameter, text: str | None) -> timedelta | None:
    """A duration that was given, such as `90s` or `1h30m`."""
    try:
        duration = None if text is None else parse_duration(text)
    except InvalidDurationError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise click.BadParameter(f"{error.message}{hint}") from None
    if duration is not None and duration > _LONGEST:
        raise click.BadParameter(f"{text} is longer than a hundred years")
    return duration


def in_zone(given: datetime, zone: tzinfo) -> datetime:
    """The instant that a given time means, in UTC."""
    try:
        return (given if given.tzinfo else given.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError:
        raise click.UsageError("the time lies at the very edge of the calendar") from None
