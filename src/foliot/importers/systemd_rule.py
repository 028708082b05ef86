"""An OnCalendar as a schedule here, with `dst: systemd`, and the model of what it was."""

from __future__ import annotations

from functools import partial

from foliot.errors import FoliotError
from foliot.importers.draft import Original, When
from foliot.importers.model import systemd
from foliot.importers.model.numbers import UnreadableError
from foliot.importers.refused import RefusedError
from foliot.schedules import Cron
from foliot.schedules.cron_format import format_mask
from foliot.schedules.cron_syntax import Dialect
from foliot.schedules.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Field

_BY_HAND = "write the rule by hand"


def translate_calendar(text: str, zone: str, window: int = 0) -> tuple[When, Original]:
    """The schedule and its original; RefusedError if no rule here means the same."""
    try:
        calendar = systemd.read_calendar(text, zone)
    except UnreadableError as error:
        raise RefusedError("calendar", f"{text[:60]}: {error} is not translated", _BY_HAND) from error
    if calendar.years is not None:
        raise RefusedError("years", "a rule here has no years", "let it run in these years only by hand")
    weekdays = frozenset((n + 1) % 7 for n in calendar.weekdays)
    has_dates, has_weekdays = len(calendar.days) < DAY.high, len(weekdays) < WEEKDAY.high + 1
    has_seconds = calendar.seconds != frozenset((0,))
    if has_dates and has_weekdays and has_seconds:
        raise RefusedError("both-days", "no rule here has seconds and asks for date and weekday", _BY_HAND)
    parts: list[tuple[Field, frozenset[int]]] = [
        (MINUTE, calendar.minutes), (HOUR, calendar.hours), (DAY, calendar.days),
        (MONTH, calendar.months), (WEEKDAY, weekdays),
    ]  # fmt: skip
    if has_seconds:
        parts.insert(0, (SECOND, calendar.seconds))
    cron = " ".join(format_mask(field, sum(1 << n for n in numbers)) for field, numbers in parts)
    # In Celery's dialect date and weekday must both match, as with systemd.
    dialect: Dialect = "seconds" if has_seconds else "celery" if has_dates and has_weekdays else "standard"
    when = When(cron, calendar.zone, dialect, "systemd")
    try:
        Cron(cron, timezone=calendar.zone, dialect=dialect, dst="systemd")
    except FoliotError as error:
        raise RefusedError("never-fires", error.message, "name a date that some year has") from error
    fires, count = partial(systemd.fires, calendar), partial(systemd.count, calendar)
    return when, Original(calendar.zone, fires, count, window)
