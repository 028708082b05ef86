"""The entries that django-celery-beat keeps in the project's database: rows of `PeriodicTask`.

Rows are only read. What the library does with a row while it runs is done here at once: a row that was sent
once and is `one_off` is over, a row that was never sent counts from its last change.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from foliot.doors.celery_beat.entry import Entry, Found
from foliot.doors.celery_beat.errors import EntryRefusedError, ImportRefusedError
from foliot.doors.celery_beat.rule import as_utc, refuse_solar
from foliot.errors import shorten

_ORIGIN = "django-celery-beat"
_OPTIONS = ("queue", "exchange", "routing_key", "priority")
_TICK = timedelta(microseconds=1)


def read_rows() -> Found:
    """All rows, in the order of their names. ImportRefusedError if they cannot be read."""
    found = Found([], [], [])
    for row in _rows():
        if row.one_off and row.total_run_count > 0:
            found.done.append(row.name)
            continue
        try:
            found.entries.append(_entry(row))
        except EntryRefusedError as error:
            found.refusals.append(error)
    return found


def _rows() -> list[Any]:
    try:
        import django  # noqa: PLC0415 - the project's own

        django.setup()
        from django_celery_beat.models import PeriodicTask  # noqa: PLC0415 - it needs the line above

        schedules = ("interval", "crontab", "solar", "clocked")
        return list(PeriodicTask.objects.select_related(*schedules).order_by("name"))
    except ImportError as error:
        raise ImportRefusedError(_ORIGIN, f"{error.name} is not installed") from error
    except Exception as error:
        reason = f"its rows cannot be read: {type(error).__name__}: {error}"
        hint = "is DJANGO_SETTINGS_MODULE set, and django_celery_beat in INSTALLED_APPS?"
        raise ImportRefusedError(_ORIGIN, reason, hint=hint) from error


def _entry(row: Any) -> Entry:
    if row.solar_id is not None:
        raise refuse_solar(row.name, row.solar.event)
    if row.scheduler is None:
        hint = "give it a crontab, an interval or a time"
        raise EntryRefusedError(row.name, "it has no schedule", hint=hint)
    return Entry(
        name=row.name,
        task=row.task,
        schedule=_schedule(row),
        args=_json(row, "args", "[]"),
        kwargs=_json(row, "kwargs", "{}"),
        options=_options(row),
        enabled=row.enabled,
        last_run_at=_last_run(row),
        start_at=None if row.start_time is None else as_utc(row.start_time),
        until=None if row.expires is None else as_utc(row.expires),
        is_one_off=row.one_off,
    )


def _schedule(row: Any) -> Any:
    try:
        return row.schedule
    except (ValueError, TypeError) as error:
        raise EntryRefusedError(row.name, f"its schedule cannot be read: {error}") from error


def _last_run(row: Any) -> datetime | None:
    """When it was last sent; from then on its occurrences count."""
    if row.clocked_id is not None:
        return as_utc(row.clocked.clocked_time) - _TICK
    if row.last_run_at is not None:
        return as_utc(row.last_run_at)
    if row.start_time is not None:
        return as_utc(row.start_time) - _TICK
    changed: datetime | None = row.date_changed
    return None if changed is None else as_utc(changed)


def _options(row: Any) -> dict[str, Any]:
    """What the library gives to a message of this row."""
    options = {name: getattr(row, name) for name in _OPTIONS if getattr(row, name) is not None}
    if expires := row.expires or row.expire_seconds:
        options["expires"] = expires
    headers = _json(row, "headers", "{}")
    options["headers"] = {**(headers or {}), "periodic_task_name": row.name}
    return options


def _json(row: Any, field: str, usual: str) -> Any:
    text: str = getattr(row, field) or usual
    try:
        return json.loads(text)
    except ValueError as error:
        reason = f"its {field} {shorten(text)} is no JSON: {error}"
        raise EntryRefusedError(row.name, reason) from None
