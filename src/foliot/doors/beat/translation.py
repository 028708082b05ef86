"""Schedules as jobs of Foliot, and runs of those as jobs of a queue."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from foliot.app.options import JobOptions
from foliot.doors.beat import queue
from foliot.doors.beat.schedule import Schedule, rule_of
from foliot.doors.beat.state import job_id_of, to_text
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.presets import BEAT
from foliot.protocols import Run

PREFIX = "beat"
_KIND = f"{PREFIX}:enqueue"


def policy_of(interval: timedelta) -> Policy:
    """How schedules behave: what fails is tried again after the interval, until the next occurrence comes."""
    return replace(BEAT, retry=replace(BEAT.retry, delay=interval))


def options_of(schedule: Schedule, policy: Policy) -> JobOptions:
    """The same, for a job that is added while the program runs."""
    return {
        "first_seen": policy.first_seen,
        "overlap": policy.overlap,
        "retry": policy.retry,
        "enabled": schedule.enabled,
    }


def job_of(schedule: Schedule, source: str, policy: Policy) -> Job:
    """The job that a schedule is in the store."""
    return Job(
        source=source,
        name=schedule.id,
        schedule=rule_of(schedule),
        action=action_of(schedule),
        policy=policy,
        enabled=schedule.enabled,
    )


def action_of(schedule: Schedule) -> Action:
    """What is to be enqueued, as JSON; the payload is kept as it is, never read as JSON and written again."""
    data: dict[str, Any] = {"job": schedule.job, "priority": schedule.priority or "normal"}
    if schedule.payload:
        try:
            text = schedule.payload.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:  # no text for a store
            data["payload_base64"] = b64encode(schedule.payload).decode()
        else:
            data["payload"] = text
    if schedule.description:
        data["description"] = schedule.description
    return Action(kind=_KIND, data=data)


def queue_job(run: Run, fired_at: datetime) -> queue.Job:
    """What the queue gets for a run. Every try of the run has the same id."""
    data, (run_key, number) = run.data, run.key
    metadata = {
        "schedule_id": run.name,
        "scheduled_at": to_text(fired_at),
        "trigger_type": "manual" if run.is_requested else "cron",
        "scheduled_for": to_text(run.scheduled_for),
        "run_key": run_key,
        "attempt": str(number),
    }
    return queue.Job(job_id_of(run_key), str(data["job"]), _payload(data), str(data["priority"]), metadata)


def _payload(data: Mapping[str, Any]) -> bytes:
    if "payload_base64" in data:
        return b64decode(str(data["payload_base64"]))
    return str(data.get("payload", "")).encode()
