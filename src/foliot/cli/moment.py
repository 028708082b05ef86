"""Instants and durations as people tell them, and as they give them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

import click

from foliot.cli.output import in_words
from foliot.errors import InvalidDurationError, shorten
from foliot.model.attempt import format_instant
from foliot.schedules import Schedule
from foliot.schedules.duration import parse_duration
from foliot.schedules.zone import load_zone

_SECOND = timedelta(seconds=1)
_NOTHING = timedelta(0)
_THOUSAND = 1000
_LONGEST = timedelta(days=36_525)


def relative(instant: datetime | None, now: datetime) -> str:
    """`in 5 min`, `3 h 2 min ago`, `now`; nothing for no instant."""
    if instant is None:
        return ""
    if instant > now:
        return in_words(instant - now)
    passed = (now - instant) // _SECOND * _SECOND
    return f"{in_words(passed).removeprefix('in ')} ago" if passed else "now"


def both(instant: datetime | None, now: datetime) -> str | None:
    """`2026-11-15T07:00:00Z (in 5 min)`, to the second."""
    if instant is None:
        return None
    return f"{format_instant(instant.replace(microsecond=0))} ({relative(instant, now)})"


def span(duration: timedelta | None) -> str:
    """How long something took, or how late it was: `12 ms`, `3.4 s`, `2 min 5 s`."""
    if duration is None:
        return ""
    if duration < _SECOND:
        return f"{max(duration, _NOTHING) / _SECOND * _THOUSAND:.0f} ms"
    if duration < 10 * _SECOND:
        return f"{duration / _SECOND:.1f} s"
    return in_words(duration // _SECOND * _SECOND).removeprefix("in ")


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
