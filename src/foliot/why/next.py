"""What a job does next, or at an instant that is still to come: from its record and its rule."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from foliot.model.attempt import format_instant
from foliot.model.job import Job
from foliot.model.splay import offset_of
from foliot.model.state import Record
from foliot.schedules import Never
from foliot.schedules.explain import explain
from foliot.why.answer import Verdict, Why, no_occurrence, obstacle, time_text
from foliot.why.waiting import GroupCount, group_words

_LONG = timedelta(seconds=10)  # if a job is due for longer than this, no node takes it


def next_run(
    record: Record, kinds: Collection[str] | None, now: datetime, group: GroupCount | None = None
) -> Why:
    """What a job does now, or does next."""
    held = [attempt for attempt in record.attempts if attempt.is_running]
    if held:
        since = f"since {time_text(held[0].claimed_at)} on node {held[0].node}"
        return Why(Verdict.RUNS, f"{held[0].run_key} runs {since}", held[0].scheduled_for)
    if reason := obstacle(record, kinds):
        return Why(Verdict.WILL_NOT, reason)
    waiting = [attempt for attempt in record.attempts if not attempt.is_running]
    full = group_words(group)
    if waiting:
        first = waiting[0]
        is_ready = first.wake_at is not None and first.wake_at <= now
        waits = full if full and is_ready else f"waits until {time_text(first.wake_at)}"
        return Why(Verdict.WAITS, f"{first.run_key} {waits}: {first.reason}", first.wake_at)
    if record.state.next_at is None:
        return Why(Verdict.WILL_NOT, _without_a_time(record.job))
    is_due = record.state.next_at + offset_of(record.job) <= now
    if is_due and full:
        text = f"{format_instant(record.state.next_at)} is due, by {record.job.schedule}, and {full}"
        return Why(Verdict.WAITS, text, record.state.next_at)
    due = "is due" if is_due else "is next"
    remarks = splay_words(record, record.state.next_at) + _wanted(record, now) + _again(record, now)
    return Why(
        Verdict.WILL_RUN,
        f"{format_instant(record.state.next_at)} {due}, by {record.job.schedule}{remarks}",
        record.state.next_at,
    )


def _without_a_time(job: Job) -> str:
    """Why a job has no next occurrence."""
    if isinstance(job.schedule, Never) and job.policy.after is not None and not job.schedule.at_boot:
        return "it has no time of its own"
    if isinstance(job.schedule, Never):
        return f"its schedule is {job.schedule}: it runs {explain(job.schedule)}"
    return "no occurrence is left"


def _wanted(record: Record, now: datetime) -> str:
    """Which node a job needs that no node has taken."""
    job, due_at = record.job, record.state.next_at
    if due_at is None or now - due_at - offset_of(job) < _LONG:
        return ""
    revision = f" of revision {job.revision[:12]}" if job.revision else ""
    allowed = _leave(job) if job.action.kind.startswith("shell:") else ""
    wanted = f"the queue {job.queue}, the action {job.action.kind}{revision}{allowed}, and a free slot"
    return f"; no node has taken it yet: it needs a node with {wanted}"


def _leave(job: Job) -> str:
    """The permission of the operator that a command needs."""
    if user := job.action.data.get("user"):
        return f", permission to run jobs as {user} (foliot serve --run-as {user}, as root)"
    return ", permission to run jobs that name no user (with --run-as, a daemon needs --run-as root)"


def _again(record: Record, now: datetime) -> str:
    """Explain that nothing runs until the clock passes a time that it has reached before."""
    served = record.state.served_until
    if served is None or served - now < _LONG:
        return ""
    return f"; the clock was set back, and all occurrences until {time_text(served)} were served before"


def future(record: Record, kinds: Collection[str] | None, at: datetime) -> Why:
    """What a job does at an instant that is still to come."""
    job = record.job
    if not job.schedule.matches(at):
        following = job.schedule.next_after(at)
        then = (
            f"; the next one after it is {format_instant(following)}"
            if following
            else "; none comes after it"
        )
        return Why(Verdict.WILL_NOT, f"{no_occurrence(job, at)}{then}", following)
    if job.repeat_until is not None and at > job.repeat_until:
        return Why(Verdict.WILL_NOT, f"it repeats only until {format_instant(job.repeat_until)}")
    served = record.state.served_until
    if served is not None and at <= served:
        reason = f"the clock was set back, and all occurrences until {time_text(served)} were served before"
        return Why(Verdict.WILL_NOT, reason, at)
    if reason := obstacle(record, kinds):
        return Why(Verdict.WILL_NOT, f"unless that changes: {reason}", at)
    words = f"{format_instant(at)} is an occurrence of {job.schedule}{splay_words(record, at)}"
    return Why(Verdict.WILL_RUN, words, at)


def splay_words(record: Record, at: datetime) -> str:
    """When the run of an occurrence starts, if a splay delays it."""
    offset = offset_of(record.job)
    return f"; by its splay it starts at {format_instant(at + offset)}" if offset else ""
