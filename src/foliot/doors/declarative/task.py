"""Persisted tasks, as they are shown: the document's states and timestamps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from foliot.doors.declarative.damage import error_of
from foliot.doors.declarative.naming import shown_name, task_name
from foliot.model.attempt import AttemptState, Trigger, format_instant
from foliot.model.damage import Damage
from foliot.model.state import Record
from foliot.protocols import JobQuery, JobView, Store

_PAGE = 1000


class TaskState(StrEnum):
    """Where a task stands."""

    AWAITING_RUN = "awaiting_run"
    RUNNING = "running"
    AWAITING_RETRY = "awaiting_retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as it is stored; an instant that is None has not been yet."""

    name: str
    cron: str
    timezone: str
    retry_delay: timedelta
    state: TaskState
    last_attempt_at: datetime | None
    last_success_at: datetime | None
    last_failure_at: datetime | None
    pending_retry_until: datetime | None
    started_by: str | None  # the identifier of the scheduler whose callback runs

    def as_json(self) -> dict[str, Any]:
        """The documented form: snake_case keys, instants in UTC with a Z, the delay in milliseconds."""
        return {
            "name": self.name,
            "cron": self.cron,
            "timezone": self.timezone,
            "retry_delay_ms": self.retry_delay / timedelta(milliseconds=1),
            "state": str(self.state),
            "last_attempt_at": _text(self.last_attempt_at),
            "last_success_at": _text(self.last_success_at),
            "last_failure_at": _text(self.last_failure_at),
            "pending_retry_until": _text(self.pending_retry_until),
            "started_by": self.started_by,
        }


async def read_tasks(store: Store, namespace: str = "declarative") -> dict[str, Task]:
    """All tasks of a namespace, by their names. The TaskTryDeserializeError that fits if one is damaged."""
    tasks = {}
    after = ""
    while page := await store.jobs(JobQuery(source=namespace, after=after, limit=_PAGE)):
        for view in page:
            record = sound(view, namespace)
            task = _task(record, view.last_success_at)
            tasks[task.name] = task
        after = page[-1].key
    return tasks


def sound(view: JobView, namespace: str) -> Record:
    """The record of a job that can be read; the error that fits if it cannot."""
    if view.damage is not None or view.record is None:
        raise error_of(
            shown_name(view.key.removeprefix(f"{namespace}/")), view.damage or Damage("it cannot be read")
        )
    return view.record


def _task(record: Record, last_success_at: datetime | None) -> Task:
    job, state, attempts = record
    running = next((a for a in attempts if a.is_running), None)
    retry = next(
        (a for a in attempts if a.state is AttemptState.PENDING and a.trigger is Trigger.RETRY), None
    )
    stands = TaskState.AWAITING_RETRY if retry else TaskState.AWAITING_RUN
    return Task(
        name=task_name(job),
        cron=str(job.schedule),
        timezone=getattr(job.schedule, "timezone", "UTC"),
        retry_delay=job.policy.retry.delay,
        state=TaskState.RUNNING if running else stands,
        last_attempt_at=state.last_attempt_at,
        last_success_at=last_success_at,
        last_failure_at=state.last_failure_at,
        pending_retry_until=retry.wake_at if retry else None,
        started_by=(running.node or "").partition(".")[0] if running else None,
    )


def _text(at: datetime | None) -> str | None:
    return None if at is None else format_instant(at)
