"""What the door tells the log, in the document's words: `msg` and `component` stand beside the event."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from foliot.doors.beat.queue import Job
from foliot.doors.beat.state import to_text
from foliot.observability.log import MOST_FAILURES, tell
from foliot.observability.throttle import Throttle

_MESSAGES = {
    "beat_started": "Cron scheduler started",
    "beat_stopping": "Cron scheduler stopping",
    "job_enqueued": "Scheduled job enqueued",
    "enqueues_suppressed": "Scheduled jobs enqueued, or failed to be, without a line each",
    "schedule_locked": "Schedule already locked by another instance",
    "enqueue_failed": "Failed to enqueue scheduled job",
    "lock_failed": "Failed to acquire schedule lock",
    "state_unreadable": "Failed to get schedule state",
    "state_unwritten": "Failed to update schedule state",
    "schedule_unusable": "Failed to calculate next run",
}
_SECOND = timedelta(seconds=1)


def tell_line(event: str, **fields: Any) -> None:
    """A line of this door."""
    tell(event, msg=_MESSAGES[event], component="scheduler", **fields)


class BeatLog:
    """Lines about single schedules: at most a hundred a second.

    A schedule that fails is tried again and again: of its failures in a row the 1st, 2nd, 4th, 8th … is told.
    """

    def __init__(self) -> None:
        self._throttle = Throttle(MOST_FAILURES, _SECOND)
        self._untold = 0
        self._failures: Counter[str] = Counter()

    def enqueued(self, schedule: str, job: Job, next_run: datetime | None, at: datetime) -> None:
        """A queue has taken a job; that also ends a row of failures."""
        failures = self._failures.pop(schedule, 0)
        if self._lets_through(at):
            following = None if next_run is None else to_text(next_run)
            tell_line(
                "job_enqueued", schedule_id=schedule, job_name=job.name, job_id=job.id,
                priority=job.priority, next_run=following, failures=failures or None,
            )  # fmt: skip

    def failed(self, event: str, schedule: str, error: Exception | str, at: datetime, **fields: Any) -> None:
        """A schedule could not do its work this time."""
        self._failures[schedule] += 1
        failures = self._failures[schedule]
        if failures & (failures - 1) == 0 and self._lets_through(at):
            tell_line(event, schedule_id=schedule, **fields, error=str(error), failures=failures)

    def _lets_through(self, at: datetime) -> bool:
        if self._untold and self._throttle.is_over(at):
            tell_line("enqueues_suppressed", count=self._untold)
            self._untold = 0
        if self._throttle.lets_through(at):
            return True
        self._untold += 1
        return False
