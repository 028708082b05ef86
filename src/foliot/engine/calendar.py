"""Occurrences for the planner: in UTC, up to the job's end, and as windows of what is due.

All stored times are UTC, where two equal times are always the same instant.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from foliot.model.job import Job

_TICK = timedelta(microseconds=1)


class Window(NamedTuple):
    """The occurrences that are due: first to last, and the one that follows."""

    first: datetime
    last: datetime
    following: datetime | None


def next_occurrence(job: Job, after: datetime) -> datetime | None:
    """The first occurrence after an instant that the job has."""
    found = job.schedule.next_after(after)
    if found is None or (job.repeat_until is not None and found > job.repeat_until):
        return None
    return found.astimezone(UTC)


def last_occurrence(job: Job, until: datetime) -> datetime | None:
    """The last occurrence at or before an instant that the job has."""
    if job.repeat_until is not None:
        until = min(until, job.repeat_until)
    found = job.schedule.previous(until)
    return None if found is None else found.astimezone(UTC)


def due_window(job: Job, first: datetime, now: datetime) -> Window:
    """The window of due occurrences that begins with `first`.

    It takes two searches, never a loop, however many occurrences are due.
    """
    following = next_occurrence(job, first)
    if following is None or following > now:
        return Window(first, first, following)
    last = last_occurrence(job, now) or first
    return Window(first, max(first, last), next_occurrence(job, now))


def without(job: Job, window: Window, ran: Collection[datetime]) -> Window | None:
    """The window without occurrences at its ends that have run; None if all have run."""
    first, last = window.first, window.last
    while first in ran:
        following = next_occurrence(job, first)
        if following is None or following > last:
            return None
        first = following
    while last in ran:
        last = before(job, last) or first
    return Window(first, last, window.following)


def latest_of(job: Job, window: Window, limit: int) -> list[datetime]:
    """The latest occurrences of a window, at most `limit`, in order."""
    found = [window.last]
    while len(found) < limit:
        earlier = last_occurrence(job, found[-1] - _TICK)
        if earlier is None or earlier < window.first:
            break
        found.append(earlier)
    return found[::-1]


def before(job: Job, occurrence: datetime) -> datetime | None:
    """The occurrence before one."""
    return last_occurrence(job, occurrence - _TICK)
