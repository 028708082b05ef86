"""From a schedule of Celery's to one of Foliot's.

    crontab              Cron(dialect="celery"), from the sets of numbers that Celery itself has read
    schedule (interval)  Every: a grid that all beats agree on, where Celery counts from the last run
    clocked              Once: of django-celery-beat

What is something else is refused by its name.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from foliot.doors.celery_beat.errors import EntryRefusedError
from foliot.errors import FoliotError
from foliot.schedules import Cron, Every, Once, Schedule
from foliot.schedules.cron_format import format_cron
from foliot.schedules.cron_syntax import CronFields
from foliot.schedules.every import whole_seconds

# Classes that are known without an import of their packages, which may not be installed.
_ZONED_CRONTAB = "django_celery_beat.tzcrontab.TzAwareCrontab"
_CLOCKED = "django_celery_beat.clockedschedule.clocked"
_RRULE = "redbeat.schedules.rrule"
_TASK_DECIDES = "write a crontab that is due often enough, and let the task decide whether to go on"


def rule_of(entry: str, schedule: Any, app: Any) -> Schedule:
    """The rule of a schedule. EntryRefusedError if there is none that means the same."""
    from celery import schedules  # noqa: PLC0415 - see the package's docstring

    if schedule is None:
        raise EntryRefusedError(entry, "it has no schedule", hint="such as crontab(minute=0), or 300.0")
    kind = f"{type(schedule).__module__}.{type(schedule).__qualname__}"
    if type(schedule) is schedules.crontab:
        return _cron(entry, schedule, zone_of(entry, app.timezone))
    if kind == _ZONED_CRONTAB:
        return _cron(entry, schedule, zone_of(entry, schedule.tz))
    if type(schedule) is schedules.schedule:
        return _every(entry, schedule)
    if kind == _CLOCKED:
        return Once(as_utc(schedule.clocked_time))
    raise _unknown(entry, schedule, kind, is_solar=isinstance(schedule, schedules.solar))


def refuse_solar(entry: str, event: str) -> EntryRefusedError:
    """There is no schedule by the sun."""
    hint = f"there are no schedules by the sun yet: {_TASK_DECIDES}"
    return EntryRefusedError(entry, f"solar({event!r}) is not supported", hint=hint)


def refuse_rrule(entry: str) -> EntryRefusedError:
    """There is no schedule by the rules of RFC 5545."""
    hint = "write a crontab, which knows days of the month and of the week together, or an interval"
    return EntryRefusedError(entry, "RedBeat's rrule is not supported", hint=hint)


def _unknown(entry: str, schedule: Any, kind: str, *, is_solar: bool) -> EntryRefusedError:
    if is_solar:
        return refuse_solar(entry, schedule.event)
    if kind == _RRULE:
        return refuse_rrule(entry)
    reason = f"its schedule is of the class {kind}, whose is_due() only Celery can ask"
    return EntryRefusedError(entry, reason, hint=f"write a crontab or an interval; or {_TASK_DECIDES}")


def _cron(entry: str, schedule: Any, timezone: str) -> Cron:
    fields = CronFields(
        seconds=1,
        minutes=_mask(schedule.minute),
        hours=_mask(schedule.hour),
        days=_mask(schedule.day_of_month),
        months=_mask(schedule.month_of_year),
        weekdays=_mask(schedule.day_of_week),
        either_day=False,
    )
    if not all((fields.minutes, fields.hours, fields.days, fields.months, fields.weekdays)):
        raise EntryRefusedError(entry, "a field of its crontab is empty", hint="write * for each value")
    try:
        return Cron(format_cron(fields), timezone=timezone, dialect="celery")
    except FoliotError as error:
        raise EntryRefusedError(entry, error.message, hint=error.hint) from error


def _mask(numbers: set[int]) -> int:
    return sum(1 << number for number in numbers)


def _every(entry: str, schedule: Any) -> Every:
    duration: timedelta = schedule.run_every
    try:
        return Every(whole_seconds(duration, duration))
    except FoliotError:
        seconds = max(1, round(duration.total_seconds()))
        reason = f"an interval of {duration.total_seconds():g} s is no whole number of seconds, at least one"
        hint = f"write {seconds}.0; what has to be quicker is the work of a task that goes on by itself"
        raise EntryRefusedError(entry, reason, hint=hint) from None


def zone_of(entry: str, zone: tzinfo | str) -> str:
    """The IANA name of a zone."""
    if zone is UTC:
        return "UTC"
    name = zone if isinstance(zone, str) else getattr(zone, "key", None) or getattr(zone, "zone", None)
    if not isinstance(name, str):
        hint = 'set timezone in the configuration of Celery, such as "Europe/Berlin"'
        raise EntryRefusedError(entry, f"its time zone {zone!r} has no IANA name", hint=hint)
    return name


def as_utc(instant: datetime) -> datetime:
    """An instant in UTC; Celery takes one without a zone to be in UTC, too."""
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
