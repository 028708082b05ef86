"""Why a job runs, ran, or did not: the answer in words, from what is stored and what its rule says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from foliot.model.attempt import Attempt, format_instant
from foliot.model.state import Record, Skip
from foliot.protocols import JobView


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
    """An answer: the verdict, and the reason in words a person reads."""

    verdict: Verdict
    text: str
    at: datetime | None = None

    def __str__(self) -> str:
        return self.text


def foresee(  # noqa: PLR0913 - everything that is known
    view: JobView,
    runs: Sequence[Attempt],
    skips: Sequence[Skip],
    *,
    kinds: Collection[str] | None,
    now: datetime,
    at: datetime | None = None,
) -> Why:
    """What is to be said about a job: at an instant, or, without one, about what is next."""
    if view.record is None or view.damage is not None:
        return Why(Verdict.WILL_NOT, f"its record cannot be read: {view.damage}; declare it anew")
    if at is None:
        return _next(view.record, kinds, now)
    if at > now:
        return _later(view.record, kinds, at)
    return _past(view.record, runs, skips, at)


def _next(record: Record, kinds: Collection[str] | None, now: datetime) -> Why:
    held = [attempt for attempt in record.attempts if attempt.is_running]
    if held:
        since = f"since {_when(held[0].claimed_at)} on node {held[0].node}"
        return Why(Verdict.RUNS, f"{held[0].run_key} runs {since}", held[0].scheduled_for)
    if obstacle := _obstacle(record, kinds):
        return Why(Verdict.WILL_NOT, obstacle)
    waiting = [attempt for attempt in record.attempts if not attempt.is_running]
    if waiting:
        first = waiting[0]
        return Why(
            Verdict.WAITS,
            f"{first.run_key} waits until {_when(first.wake_at)}: {first.reason}",
            first.wake_at,
        )
    if record.state.next_at is None:
        return Why(Verdict.WILL_NOT, "no occurrence is left")
    due = "is due" if record.state.next_at <= now else "is next"
    return Why(
        Verdict.WILL_RUN,
        f"{_when(record.state.next_at)} {due}, by {record.job.schedule}",
        record.state.next_at,
    )


def _later(record: Record, kinds: Collection[str] | None, at: datetime) -> Why:
    schedule = record.job.schedule
    if not schedule.matches(at):
        following = schedule.next_after(at)
        then = f"; the next one after it is {_when(following)}" if following else ""
        return Why(Verdict.WILL_NOT, f"{_when(at)} is no occurrence of {schedule}{then}", following)
    until = record.job.repeat_until
    if until is not None and at > until:
        return Why(Verdict.WILL_NOT, f"it repeats only until {_when(until)}")
    if obstacle := _obstacle(record, kinds):
        return Why(Verdict.WILL_NOT, f"unless that changes: {obstacle}", at)
    return Why(Verdict.WILL_RUN, f"{_when(at)} is an occurrence of {schedule}", at)


def _past(record: Record, runs: Sequence[Attempt], skips: Sequence[Skip], at: datetime) -> Why:
    for attempt in runs:
        first = attempt.covers_from or attempt.scheduled_for
        if attempt.request is None and first <= at <= attempt.scheduled_for:
            return _ran(attempt, at)
    for skip in skips:
        if skip.first <= at <= skip.last:
            return Why(Verdict.SKIPPED, f"skipped: {skip.reason}", at)
    if not record.job.schedule.matches(at):
        return Why(Verdict.WILL_NOT, f"{_when(at)} is no occurrence of {record.job.schedule}", at)
    if at < record.state.created_at:
        return Why(Verdict.WILL_NOT, f"the job is known only since {_when(record.state.created_at)}", at)
    if record.state.served_until is None or at > record.state.served_until:
        return Why(Verdict.WAITS, "it has come, and nobody has taken it yet", at)
    return Why(Verdict.UNKNOWN, "its history does not go back so far", at)


def _ran(attempt: Attempt, at: datetime) -> Why:
    covered = "" if at == attempt.scheduled_for else f" by the run of {_when(attempt.scheduled_for)}"
    if attempt.is_open:
        return Why(Verdict.RUNS, f"attempt {attempt.number} is {attempt.state}{covered}", at)
    late = ""
    if attempt.started_at is not None:
        late = (
            f", started {(attempt.started_at - attempt.scheduled_for).total_seconds():.3f} s after its time"
        )
    error = f": {attempt.error.splitlines()[0]}" if attempt.error else ""
    text = f"attempt {attempt.number} {attempt.outcome}{covered} on node {attempt.node}{late}{error}"
    return Why(Verdict.RAN, text, at)


def _obstacle(record: Record, kinds: Collection[str] | None) -> str:
    state, job = record.state, record.job
    if state.removed_at is not None:
        return f"it was removed at {_when(state.removed_at)}"
    if state.paused_at is not None:
        return f"it is paused since {_when(state.paused_at)}"
    if not job.enabled:
        return "its definition switches it off"
    if kinds is not None and job.action.kind not in kinds:
        return f"its action {job.action.kind} is not registered in this program"
    return ""


def _when(instant: datetime | None) -> str:
    return "its job is free" if instant is None else format_instant(instant)
