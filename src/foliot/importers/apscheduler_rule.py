"""A cron or interval trigger of APScheduler as a schedule here, and the model of what it was."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from foliot.errors import FoliotError
from foliot.importers.draft import Note, Original, When
from foliot.importers.model import apscheduler
from foliot.importers.model.numbers import UnreadableError
from foliot.importers.refused import RefusedError
from foliot.schedules import Cron
from foliot.schedules.cron_format import format_mask
from foliot.schedules.cron_syntax import Dialect
from foliot.schedules.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Field

_BY_HAND = "write the rule by hand"
_MANY_DAYS = 86_400 * 366
_WEEK = 7


def translate_cron(fields: Any, zone: str) -> tuple[When, Original]:
    """The schedule and its original; RefusedError if no rule here means the same."""
    is_right = isinstance(fields, dict) and all(isinstance(text, str) for text in fields.values())
    if not is_right:
        raise RefusedError(
            "unreadable", "the fields of its trigger are not texts by name", "write str(field)"
        )
    try:
        rule = apscheduler.read_fields(fields, zone)
    except UnreadableError as error:
        raise RefusedError("fields", f"{error} is not translated", _BY_HAND) from error
    days, weekdays = _days(rule)
    both = len(days) < DAY.high and len(weekdays) < _WEEK
    has_seconds = rule.seconds != frozenset((0,))
    if both and has_seconds:
        raise RefusedError("both-days", "no rule here has seconds and asks for date and weekday", _BY_HAND)
    parts: list[tuple[Field, frozenset[int]]] = [
        (MINUTE, rule.minutes), (HOUR, rule.hours), (DAY, days), (MONTH, rule.months),
        (WEEKDAY, frozenset((n + 1) % _WEEK for n in weekdays)),
    ]  # fmt: skip
    if has_seconds:
        parts.insert(0, (SECOND, rule.seconds))
    cron = " ".join(format_mask(field, sum(1 << n for n in numbers)) for field, numbers in parts)
    # In Celery's dialect date and weekday must both match, as with APScheduler.
    dialect: Dialect = "seconds" if has_seconds else "celery" if both else "standard"
    try:
        Cron(cron, timezone=zone, dialect=dialect)
    except FoliotError as error:
        raise RefusedError("never-fires", error.message, "name a date that some year has") from error
    model = partial(apscheduler.fires, rule), partial(apscheduler.count, rule)
    return When(cron, zone, dialect), Original(zone, *model, loses="midnight-lost")


def _days(rule: apscheduler.CronFields) -> tuple[frozenset[int], frozenset[int]]:
    """Dates and weekdays; the first Monday is a Monday among the first seven days."""
    if not rule.positions:
        return rule.days, rule.weekdays
    wanted = {weekday for _, weekday in rule.positions}
    if rule.days or len(wanted) > 1:
        raise RefusedError("fields", "days of several kinds are not translated", _BY_HAND)
    numbers = {7 * (place - 1) + n for place, _ in rule.positions for n in range(1, _WEEK + 1)}
    return frozenset(n for n in numbers if n <= DAY.high), rule.weekdays & wanted


def translate_interval(
    seconds: Any, start: datetime | None, zone: str
) -> tuple[When, Original | None, tuple[Note, ...]]:
    """`@every` counts from 1970, and an interval from its start: equal if the start is a multiple of it."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or seconds != round(seconds) or not 1 <= seconds <= _MANY_DAYS or start is None:
        raise RefusedError("span", f"{str(seconds)[:20]} seconds are no span for @every", _BY_HAND)
    span, begin = round(seconds), start.timestamp()
    when = When(f"@every {span}s", zone)
    if begin % span:
        late = round(begin % span)
        text = f"APScheduler counts from {start:%Y-%m-%d %H:%M:%S} UTC, and @every from 1970: this runs "
        text += f"{late} s earlier"
        return when, None, (Note("phase", text, needs_person=True),)
    return when, Original(zone, partial(_multiples, span), lambda *ends: len(_multiples(span, *ends))), ()


def _multiples(span: int, first: int, last: int) -> range:
    return range(-(-first // span) * span, last, span)
