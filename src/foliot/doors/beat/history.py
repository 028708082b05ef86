"""What a schedule has done, try by try."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from foliot.doors.beat.state import job_id_of
from foliot.model.attempt import Attempt


@dataclass(frozen=True, slots=True)
class Enqueueing:
    """One try to enqueue a job. `outcome` is None while it runs; all tries of a run have one `job_id`."""

    job_id: str
    run_key: str
    attempt: int
    trigger: str
    scheduled_for: datetime
    started_at: datetime | None
    finished_at: datetime | None
    outcome: str | None
    error: str | None


def enqueueing_of(attempt: Attempt) -> Enqueueing:
    """An attempt in the words of this door."""
    return Enqueueing(
        job_id=job_id_of(attempt.run_key),
        run_key=attempt.run_key,
        attempt=attempt.number,
        trigger=str(attempt.trigger),
        scheduled_for=attempt.scheduled_for,
        started_at=attempt.started_at,
        finished_at=attempt.finished_at,
        outcome=None if attempt.outcome is None else str(attempt.outcome),
        error=attempt.error,
    )
