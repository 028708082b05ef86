"""What becomes of a job when its handler has ended: one pure function.

    next = the interval's first time after (sleep_until + reprocess_delay)
    next is after repeat_until, or there is none   →   remove the document, or set its time to none
    next is before now                             →   now; with catch_up="next": the first time after now

A field that cannot be understood is told as a trouble, and the job is then as one without a next time. The
document is removed only if `auto_remove` says so without a doubt.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from foliot.doors.documents.config import CatchUp
from foliot.doors.documents.errors import BadDocumentError
from foliot.doors.documents.job import Job, JobUpdate, ceil_ms
from foliot.errors import FoliotError
from foliot.schedules import Cron
from foliot.schedules.schedule import check_aware
from foliot.schedules.zone import load_zone

_LAST = datetime.max.replace(tzinfo=UTC) - timedelta(days=2)  # room for any zone, and for a millisecond
_BARE_DATE = len("2026-01-31")
_ENDS = "so the job has no next time"


class Plan(NamedTuple):
    """What to write, or None to remove the document; and what could not be understood, to be told before."""

    update: JobUpdate | None
    troubles: tuple[FoliotError, ...] = ()


class Rules(NamedTuple):
    """What of a config decides about the next time."""

    reprocess_delay: timedelta
    timezone: str
    catch_up: CatchUp = "now"


def after_run(job: Job, now: datetime, rules: Rules) -> Plan:
    """What becomes of a job that has run."""
    troubles: list[FoliotError] = []
    following = None
    try:
        following = next_time(job, now, rules)
    except FoliotError as error:
        troubles.append(error)
    if following is not None:
        return Plan(JobUpdate(sleep_until=following))
    is_removed = False
    try:
        is_removed = _is_true(job)
    except BadDocumentError as error:
        troubles.append(error)
    return Plan(None if is_removed else JobUpdate(sleep_until=None), tuple(troubles))


def next_time(job: Job, now: datetime, rules: Rules) -> datetime | None:
    """When a job runs next, or None if it does not. BadDocumentError if its fields do not tell."""
    interval: object = job.interval
    if interval is None or interval == "":
        return None
    if not isinstance(interval, str):
        raise BadDocumentError(job.id, "interval", interval, f"is no text, {_ENDS}")
    try:
        schedule = Cron(interval, timezone=rules.timezone, dialect="seconds")
    except FoliotError as error:
        raise BadDocumentError(job.id, "interval", interval, f"is refused, {_ENDS}: {error}") from error
    repeat_until = _repeat_until(job, rules.timezone)
    base = now if job.sleep_until is None else job.sleep_until
    check_aware(base)
    if _LAST - base < rules.reprocess_delay:
        return None  # beyond the calendar
    following = _next_after(schedule, base.astimezone(UTC) + rules.reprocess_delay)
    if following is not None and following < now and rules.catch_up == "next":
        following = _next_after(schedule, now)
    if following is None or (repeat_until is not None and following > repeat_until):
        return None
    return ceil_ms(max(following, now))


def _next_after(schedule: Cron, instant: datetime) -> datetime | None:
    following = schedule.next_after(instant)
    return None if following is None else following.astimezone(UTC)


def _repeat_until(job: Job, timezone: str) -> datetime | None:
    """The last time at which a job may run. A text means what it means to Node: a bare date is in UTC."""
    value: object = job.repeat_until
    if isinstance(value, str):
        text = value
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            raise BadDocumentError(job.id, "repeatUntil", text, f"is no date, {_ENDS}") from None
        zone = UTC if len(text) <= _BARE_DATE else load_zone(timezone)
        value = value if value.tzinfo else value.replace(tzinfo=zone)
    if value is not None and not isinstance(value, datetime):
        raise BadDocumentError(job.id, "repeatUntil", value, f"is no date, {_ENDS}")
    if value is not None:
        check_aware(value)
    return value


def _is_true(job: Job) -> bool:
    value: object = job.auto_remove
    if value is None or (isinstance(value, int | float) and value in {0, 1}):
        return bool(value)
    raise BadDocumentError(job.id, "autoRemove", value, "is neither true nor false, so nothing is removed")
