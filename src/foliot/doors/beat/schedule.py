"""`Schedule`: when which job is enqueued, as its users write it; and what is known of its runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from foliot.doors.beat.errors import InvalidScheduleError
from foliot.errors import FoliotError, shorten
from foliot.model.job import LONGEST_NAME
from foliot.schedules import Cron

PRIORITIES = ("high", "normal", "low")
_ID = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
LARGEST_PAYLOAD = 100_000  # bytes: what is more belongs elsewhere, with its address in the payload


@dataclass(frozen=True, slots=True)
class Schedule:
    """One periodic task. It is checked when it is registered.

    `cron`: five fields, or `@hourly @daily @weekly @monthly @yearly`. `job`: what the queue calls the task.
    `payload`: reaches the queue byte for byte. `priority`: high, normal or low. `timezone`: an IANA name.
    `enabled`: False keeps it registered, and it does not fire.
    """

    id: str
    cron: str
    job: str
    payload: bytes = b""
    priority: str = "normal"
    timezone: str = "UTC"
    enabled: bool = True
    description: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """What Redis has of a schedule's runs.

    `last_run`: when the last job was enqueued; `last_success`: when the queue had it. `next_run`: the first
    occurrence after that run. `run_count`: how many were enqueued. `last_error`: why the last try failed, if
    it did.
    """

    id: str
    last_run: datetime | None = None
    next_run: datetime | None = None
    run_count: int = 0
    last_error: str = ""
    last_success: datetime | None = None


def check_schedule(schedule: object) -> None:
    """InvalidScheduleError if something is wrong with a schedule; it names the first."""
    if not isinstance(schedule, Schedule):
        raise InvalidScheduleError("schedule", schedule, f"{shorten(schedule)} is no Schedule")
    _check_id(schedule.id)
    for field in ("cron", "job", "priority", "timezone", "description"):
        _check_text(field, getattr(schedule, field))
    if not schedule.job:
        raise InvalidScheduleError("job", schedule.job, "job must not be empty", hint="name the task")
    if schedule.priority and schedule.priority not in PRIORITIES:
        reason = f'priority "{shorten(schedule.priority)}" is not known'
        raise InvalidScheduleError(
            "priority", schedule.priority, reason, hint=f"one of: {', '.join(PRIORITIES)}"
        )
    _check_payload(schedule.payload)
    if not isinstance(schedule.enabled, bool):
        raise InvalidScheduleError("enabled", schedule.enabled, "enabled must be True or False")
    rule_of(schedule)


def _check_id(id: object) -> None:  # noqa: A002 - the field's name
    if not isinstance(id, str) or not _ID.fullmatch(id):
        reason = f'ID "{shorten(id)}" must be letters, digits, underscores and hyphens'
        raise InvalidScheduleError("id", id, reason, hint='such as "cleanup_hourly"')
    if len(id) > LONGEST_NAME:
        raise InvalidScheduleError("id", id, f"ID must have at most {LONGEST_NAME} characters")


def _check_text(field: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidScheduleError(field, value, f"{field} must be a text, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        value = "\0"
    if "\0" in value:
        raise InvalidScheduleError(field, value, f"{field} holds NUL or half a surrogate pair")


def _check_payload(payload: object) -> None:
    if not isinstance(payload, bytes):
        reason = f"payload must be bytes, not {type(payload).__name__}"
        raise InvalidScheduleError("payload", payload, reason, hint="""such as b'{"max_age_days": 30}'""")
    if len(payload) > LARGEST_PAYLOAD:
        reason = f"payload has {len(payload):,} bytes, and may have {LARGEST_PAYLOAD:,}"
        raise InvalidScheduleError(
            "payload", b"", reason, hint="keep the data elsewhere, and name it in the payload"
        )


def rule_of(schedule: Schedule) -> Cron:
    """When it fires. InvalidScheduleError if that cannot be known."""
    try:
        return Cron(schedule.cron, timezone=schedule.timezone or "UTC")
    except FoliotError as error:
        field = "timezone" if "timezone" in error.details else "cron"
        raise InvalidScheduleError(field, getattr(schedule, field), error.message, hint=error.hint) from error
