"""Plans of changes of a rollcron.yaml, for tests: both sides as text, and the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from foliot.doors.rollcron import read_config
from foliot.engine.change import (
    ChangePlan,
    Code,
    JobChange,
    Known,
    Severity,
    as_declared,
    bare_record,
    plan_change,
)
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import Snapshot

NOON = datetime(2026, 11, 16, 11, tzinfo=UTC)  # a Monday, 12:00 in Berlin
WEEK = timedelta(days=7)
MINUTE = timedelta(minutes=1)
_HEAD = "defaults: {timezone: Europe/Berlin, timeout: 1h}\n"


def jobs_of(text: str) -> tuple[Job, ...]:
    """The jobs of lines such as `backup: {schedule: "0 3 * * *", run: ./backup}`."""
    lines = "".join(f"  {line.strip()}\n" for line in text.strip().splitlines() if line.strip())
    return read_config(f"{_HEAD}jobs:\n{lines}" if lines else "jobs: {}\n", source="ops")


def planned(
    before: str | Mapping[str, Record],
    after: str,
    *,
    now: datetime = NOON,
    horizon: timedelta = WEEK,
    took: Mapping[str, Sequence[timedelta]] | None = None,
    **known: Any,
) -> ChangePlan:
    """The plan of a change. Without records, each job was declared long ago and has served all."""
    facts = Known(durations={f"ops/{name}": times for name, times in (took or {}).items()}, **known)
    if isinstance(before, str):
        records = {job.name: bare_record(job, now) for job in jobs_of(before)}
        facts = facts._replace(prepare=as_declared(now))
    else:
        records = dict(before)
    return plan_change("ops", records, Snapshot("r2", jobs_of(after)), now, now + horizon, facts)


def record_of(line: str, now: datetime = NOON) -> Record:
    """The record of one job that was declared long ago and has served all."""
    (job,) = jobs_of(line)
    return as_declared(now)(bare_record(job, now))


def only(plan: ChangePlan) -> JobChange:
    """The one job that changes."""
    (change,) = plan.jobs
    return change


def text_of(change: JobChange, code: Code) -> str | None:
    """What is said about one code; None: nothing is."""
    return next((effect.text for effect in change.effects if effect.code is code), None)


def warned(change: JobChange) -> set[str]:
    """The codes of the warnings."""
    return {effect.code.value for effect in change.effects if effect.severity is Severity.WARNING}
