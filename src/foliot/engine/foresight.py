"""Why a job runs, ran, or did not: the answer in words, from what is stored and what its rule says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from foliot.engine.hindsight import attempts_for, moment, ran_words, skip_of, skip_words
from foliot.model.attempt import Attempt, format_instant
from foliot.model.job import EARLIEST, Job
from foliot.model.policy import OverlapMode
from foliot.model.state import Record, Skip
from foliot.protocols import JobView
from foliot.schedules import Cron, Schedule
from foliot.schedules.zone import UTC_NAMES, changes, load_zone

_LOOK_BACK = timedelta(days=7)
_LONG = timedelta(seconds=10)  # what is due for longer finds nobody


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

    `rule` and `revision` are those of the job's definition as it is now.
    """

    verdict: Verdict
    text: str
    at: datetime | None = None
    rule: str | None = None
    revision: str | None = None

    def __str__(self) -> str:
        return self.text


def look_back(at: datetime) -> datetime:
    """From when on runs must be known to tell what became of an instant: an older one may be in the way."""
    return at - min(_LOOK_BACK, at - EARLIEST) if at > EARLIEST else at


def rule_text(schedule: Schedule) -> str:
    """A rule, with the zone whose clocks it goes by: `0 7 * * * (Europe/Berlin)`."""
    zone = zone_of(schedule)
    return f"{schedule} ({zone})" if zone else str(schedule)


def zone_of(schedule: Schedule) -> str:
    """The zone whose clocks a rule goes by; empty if that is UTC, or no matter."""
    zone = getattr(schedule, "timezone", None)
    return "" if zone is None or zone in UTC_NAMES else zone


def foresee(  # noqa: PLR0913 - everything that is known
    view: JobView,
    runs: Sequence[Attempt],
    skips: Sequence[Skip],
    *,
    kinds: Collection[str] | None,
    now: datetime,
    at: datetime | None = None,
    revision: str | None = None,
) -> Why:
    """What is to be said about a job: at an instant, or, without one, about what is next.

    `revision` is that of the job's source, for a job that does not know its own.
    """
    if view.record is None or view.damage is not None:
        return Why(Verdict.WILL_NOT, f"its record cannot be read: {view.damage}; declare it anew")
    job = view.record.job
    if at is None:
        answer = _next(view.record, kinds, now)
    elif at > now and not any(run.scheduled_for == at and run.request is None for run in runs):
        answer = _later(view.record, kinds, at)
    else:
        answer = _past(view.record, runs, skips, at)
    return answer._replace(rule=rule_text(job.schedule), revision=job.revision or revision)


def _next(record: Record, kinds: Collection[str] | None, now: datetime) -> Why:
    held = [attempt for attempt in record.attempts if attempt.is_running]
    if held:
        since = f"since {moment(held[0].claimed_at)} on node {held[0].node}"
        return Why(Verdict.RUNS, f"{held[0].run_key} runs {since}", held[0].scheduled_for)
    if obstacle := _obstacle(record, kinds):
        return Why(Verdict.WILL_NOT, obstacle)
    waiting = [attempt for attempt in record.attempts if not attempt.is_running]
    if waiting:
        first = waiting[0]
        return Why(
            Verdict.WAITS,
            f"{first.run_key} waits until {moment(first.wake_at)}: {first.reason}",
            first.wake_at,
        )
    if record.state.next_at is None:
        return Why(Verdict.WILL_NOT, "no occurrence is left")
    due = "is due" if record.state.next_at <= now else "is next"
    remarks = _wanted(record, now) + _again(record, now)
    return Why(
        Verdict.WILL_RUN,
        f"{format_instant(record.state.next_at)} {due}, by {record.job.schedule}{remarks}",
        record.state.next_at,
    )


def _wanted(record: Record, now: datetime) -> str:
    """What a node must have to take a job that nobody takes."""
    job, due_at = record.job, record.state.next_at
    if due_at is None or now - due_at < _LONG:
        return ""
    revision = f" of revision {job.revision[:12]}" if job.revision else ""
    wanted = f"the queue {job.queue}, the action {job.action.kind}{revision}, and a free slot"
    return f"; nobody has taken it yet: it needs a node with {wanted}"


def _again(record: Record, now: datetime) -> str:
    """Why nothing runs before a time that has been once already."""
    served = record.state.served_until
    if served is None or served - now < _LONG:
        return ""
    return f"; the clock was set back, and what comes until {moment(served)} was served before"


def _later(record: Record, kinds: Collection[str] | None, at: datetime) -> Why:
    job = record.job
    if not job.schedule.matches(at):
        following = job.schedule.next_after(at)
        then = (
            f"; the next one after it is {format_instant(following)}"
            if following
            else "; none comes after it"
        )
        return Why(Verdict.WILL_NOT, f"{_no_occurrence(job, at)}{then}", following)
    if job.repeat_until is not None and at > job.repeat_until:
        return Why(Verdict.WILL_NOT, f"it repeats only until {format_instant(job.repeat_until)}")
    served = record.state.served_until
    if served is not None and at <= served:
        reason = f"the clock was set back, and what comes until {moment(served)} was served before"
        return Why(Verdict.WILL_NOT, reason, at)
    if obstacle := _obstacle(record, kinds):
        return Why(Verdict.WILL_NOT, f"unless that changes: {obstacle}", at)
    return Why(Verdict.WILL_RUN, f"{format_instant(at)} is an occurrence of {job.schedule}", at)


def _past(record: Record, runs: Sequence[Attempt], skips: Sequence[Skip], at: datetime) -> Why:
    schedule, state = record.job.schedule, record.state
    if attempts := attempts_for(at, runs, schedule):
        return Why(_verdict(attempts[0]), ran_words(attempts, at), at)
    if skip := skip_of(at, skips, schedule):
        return Why(Verdict.SKIPPED, skip_words(skip, runs, at), at)
    if not schedule.matches(at):
        return Why(Verdict.WILL_NOT, _no_occurrence(record.job, at), at)
    if at < state.created_at:
        return Why(Verdict.WILL_NOT, f"the job is known only since {moment(state.created_at)}", at)
    if state.served_until is not None and at <= state.served_until:
        return Why(Verdict.UNKNOWN, "its history does not go back so far", at)
    obstacle = _obstacle(record, None)
    waits = "it has come, and nobody has taken it yet"
    running = next((attempt for attempt in record.attempts if attempt.is_running), None)
    if running is not None:
        waits = f"it has come while {running.run_key} is still open{_fate(record)}"
    return Why(Verdict.WILL_NOT if obstacle else Verdict.WAITS, obstacle or waits, at)


def _fate(record: Record) -> str:
    """What becomes of an occurrence that comes while a run is open."""
    mode = record.job.policy.overlap.mode
    return {OverlapMode.SKIP: ": it will be skipped", OverlapMode.WAIT: ", and waits for its end"}.get(
        mode, ""
    )


def _verdict(last: Attempt) -> Verdict:
    if last.is_open:
        return Verdict.RUNS if last.is_running else Verdict.WAITS
    return Verdict.SKIPPED if last.node is None else Verdict.RAN


def _no_occurrence(job: Job, at: datetime) -> str:
    return _gap(job.schedule, at) or f"{format_instant(at)} is no occurrence of {job.schedule}"


def _gap(schedule: Schedule, at: datetime) -> str:
    """A wall time of the rule that the clocks left out as they went forward; `at` is when it would be."""
    if not isinstance(schedule, Cron) or schedule.fields is None:
        return ""
    for change in changes(load_zone(schedule.timezone), at.year):
        if change.is_gap and change.at <= at < change.at + (change.after - change.before):
            wall = at + change.before
            if Cron(schedule.canonical, timezone="UTC", dialect=schedule.dialect).matches(wall):
                day = f"{wall:%H:%M} of {wall:%Y-%m-%d}"
                return f"{day} does not exist in {schedule.timezone}: its clocks go forward"
    return ""


def _obstacle(record: Record, kinds: Collection[str] | None) -> str:
    state, job = record.state, record.job
    if state.removed_at is not None:
        return f"it was removed at {moment(state.removed_at)}"
    if state.paused_at is not None:
        return f"it is paused since {moment(state.paused_at)}"
    if not job.enabled:
        return "its definition switches it off"
    if kinds is not None and job.action.kind not in kinds:
        return f"its action {job.action.kind} is not registered in this program"
    return ""
