"""A job as its application shows it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from foliot.model.kinds import serves
from foliot.protocols import JobView


class JobStatus(NamedTuple):
    """A job's next occurrence, its last results, and its problem, if it has one."""

    name: str
    schedule: str
    next_at: datetime | None
    is_paused: bool
    is_running: bool
    failures_in_row: int
    last_outcome: str | None
    last_success_at: datetime | None
    problem: str | None


def status_of(view: JobView, kinds: Collection[str]) -> JobStatus:
    """The status of a job, for a program that can run these kinds of action."""
    name = view.key.partition("/")[2]
    if view.record is None:
        return JobStatus(
            name, "", None, is_paused=False, is_running=False, failures_in_row=0, last_outcome=None,
            last_success_at=view.last_success_at, problem=view.problem,
        )  # fmt: skip
    job, state, attempts = view.record
    problem = view.problem
    if problem is None and not serves(kinds, job.action.kind):
        problem = f"its action {job.action.kind} is not registered in this program"
    return JobStatus(
        name=name,
        schedule=str(job.schedule),
        next_at=state.next_at,
        is_paused=state.paused_at is not None,
        is_running=any(attempt.is_running for attempt in attempts),
        failures_in_row=state.failures_in_row,
        last_outcome=view.last_outcome,
        last_success_at=view.last_success_at,
        problem=problem,
    )
