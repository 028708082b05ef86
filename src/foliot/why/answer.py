"""An answer to "why?", and the texts that answers about the past and the future share."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from foliot.model.attempt import format_instant
from foliot.model.job import Job
from foliot.model.kinds import serves
from foliot.model.state import Record
from foliot.schedules import Cron, OnDays, Schedule
from foliot.schedules.zone import UTC_NAMES, Change, changes, load_zone


class Verdict(StrEnum):
    """What is true of a job at an instant."""

    RAN = "ran"
    SKIPPED = "skipped"
    RUNS = "runs"
    WAITS = "waits"
    WILL_RUN = "will_run"
    WILL_NOT = "will_not"
    UNKNOWN = "unknown"


class Why(NamedTuple):
    """An answer: the verdict, and the reason in words a person reads.

    `rule`, `revision` and `version` are those of the definition that decided. `is_replaced`: the job has
    another one now. `version` is None if an older program decided, which did not count versions.
    """

    verdict: Verdict
    text: str
    at: datetime | None = None
    rule: str | None = None
    revision: str | None = None
    version: int | None = None
    is_replaced: bool = False

    def __str__(self) -> str:
        return self.text


def rule_text(schedule: Schedule) -> str:
    """A rule with its time zone: `0 7 * * * (Europe/Berlin)`."""
    zone = zone_of(schedule)
    return f"{schedule} ({zone})" if zone else str(schedule)


def zone_of(schedule: Schedule) -> str:
    """The time zone of a rule; empty if it is UTC, or has no effect."""
    zone = getattr(schedule, "timezone", None)
    return "" if zone is None or zone in UTC_NAMES else zone


def time_text(instant: datetime | None) -> str:
    """An instant to the second. None: the attempt waits only for its job."""
    return "its job is free" if instant is None else format_instant(instant.replace(microsecond=0))


def no_occurrence(job: Job, at: datetime) -> str:
    """Why an instant is no occurrence of a job's rule."""
    rule = job.schedule
    reason = ""
    if isinstance(rule, OnDays):
        reason, rule = rule.keeps_out(at), rule.rule
    return reason or _gap(rule, at) or f"{format_instant(at)} is no occurrence of {job.schedule}"


def _gap(schedule: Schedule, at: datetime) -> str:
    """Explain a wall time that a clock change skips or repeats; `at` is when it would be."""
    if not isinstance(schedule, Cron) or schedule.fields is None:
        return ""
    for change in changes(load_zone(schedule.timezone), at.year):
        if change.at <= at < change.at + change.length:
            wall = at + (change.before if change.is_gap else change.after)
            if Cron(schedule.canonical, timezone="UTC", dialect=schedule.dialect).matches(wall):
                return _say_change(schedule, change, f"{wall:%H:%M} of {wall:%Y-%m-%d}")
    return ""


def _say_change(rule: Cron, change: Change, wall: str) -> str:
    if not change.is_gap:
        return (
            f"{wall} comes twice in {rule.timezone}, and by dst={rule.dst} the rule runs the first time only"
        )
    words = f"{wall} does not exist in {rule.timezone}: its clocks go forward"
    is_late = rule.around is not None and rule.around.is_late(change)
    return f"{words}; by dst={rule.dst} it runs at {format_instant(change.at)} instead" if is_late else words


def obstacle(record: Record, kinds: Collection[str] | None) -> str:
    """Why a job does not run, whatever its rule says; empty if it may run.

    `kinds`: the kinds of action that the program knows; None: any.
    """
    state, job = record.state, record.job
    if state.removed_at is not None:
        return f"it was removed at {time_text(state.removed_at)}"
    if state.paused_at is not None:
        until = f" until {time_text(state.paused_until)}" if state.paused_until else ""
        why = f": {state.paused_reason}" if state.paused_reason else ""
        return f"it is paused since {time_text(state.paused_at)}{until}{why}"
    if not job.enabled:
        return "its definition switches it off"
    if not serves(kinds, job.action.kind):
        return f"its action {job.action.kind} is not registered in this program"
    return ""
