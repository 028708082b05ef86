"""The planner's answers to definitions: a job is declared, declared again, or removed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from foliot.engine.calendar import due_window, last_occurrence, next_occurrence
from foliot.engine.draft import Draft
from foliot.model.alike import AlikeNew
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.decision import Decision, Happening
from foliot.model.job import Job
from foliot.model.policy import FirstSeen, OnChange
from foliot.model.splay import offset_of
from foliot.model.state import Record, State
from foliot.schedules import Once

_TICK = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CHANGED = "its definition changed"
_OUTDATED = "its definition changed before it could start"
_SWITCHED_OFF = "the job was switched off"


class PlanDeclared:
    """A source declares jobs: one, or all new jobs that are alike.

    `known`: names of jobs that this process has declared before and that the store has lost. They are not
    new, so none of them runs at once.
    """

    def __init__(self, now: datetime, known: Collection[str] = ()) -> None:
        self._now = now
        self._known = known

    def __call__(self, job: Job, record: Record | None) -> Decision:
        """What happens to one job."""
        if record is None and job.name in self._known:
            return plan_new(job, self._now, is_known=True).decision(job.key)
        return plan_declared(job, record, self._now)

    def new(self, job: Job) -> AlikeNew | None:
        """The decision for all new jobs like this one; None if each needs its own, as with a splay."""
        is_each_its_own = job.policy.splay is not None or self._known
        return None if is_each_its_own else plan_new(job, self._now)


def plan_declared(job: Job, record: Record | None, now: datetime) -> Decision:
    """A source declares a job: new, unchanged, changed, or back from having been removed."""
    if record is None:
        return plan_new(job, now).decision(job.key)
    if not record.job.extra or job.extra:
        return _plan_again(job, record, now)
    # An older node that declares the job keeps the fields of a newer one.
    whole = replace(job, extra=record.job.extra)
    return _plan_again(whole, record, now)._replace(job=whole)


def _plan_again(job: Job, record: Record, now: datetime) -> Decision:
    if record.state.removed_at is not None:
        return _plan_back(job, record, now)
    if job.says_the_same(record.job):
        return Decision(record.state)
    return _plan_changed(job, record, now)


def plan_new(job: Job, now: datetime, *, is_known: bool = False) -> AlikeNew:
    """Occurrences count from now on; the policy may also owe the latest one.

    The result depends neither on the data of the action nor, without a splay, on the job's name. `is_known`:
    the job is not new; the store has lost it.
    """
    served, reason = now, "declared; waits for its next occurrence"
    first_seen = FirstSeen.WAIT if is_known else job.policy.first_seen
    latest = last_occurrence(job, now) if job.enabled and first_seen is not FirstSeen.WAIT else None
    if latest is not None and first_seen is FirstSeen.NOW:
        served, reason = latest - _TICK, "declared; runs at once"
    elif latest is not None and first_seen is FirstSeen.IF_MATCHING and job.schedule.matches(now):
        served, reason = latest - _TICK, "declared; the present minute matches, so it runs at once"
    next_at = next_occurrence(job, served) if job.enabled else None
    token = (now - _EPOCH) // timedelta(milliseconds=1)
    wake_at = None if next_at is None else next_at + offset_of(job)
    state = State(token, created_at=now, wake_at=wake_at, served_until=served, next_at=next_at)
    if job.policy.is_watched:
        state = _watched(job, state, now)
    return AlikeNew(state, now, reason)


def _watched(job: Job, state: State, now: datetime) -> State:
    """The state of a new job with alerts: it also has the time of the first check."""
    return Draft(Record(job, state), now).decide(looks_at_once=True).state._replace(token=state.token)


def _plan_back(job: Job, record: Record, now: datetime) -> Decision:
    """A removed job is declared again. Occurrences during its absence are not owed."""
    since = _counted_from(job, record.state, now)
    next_at = next_occurrence(job, since) if job.enabled else None
    if job.auto_remove and job.enabled and next_at is None and not record.attempts:
        return Decision(record.state)  # it removed itself, or would do so at once
    draft = Draft(record._replace(job=job), now)
    draft.state = draft.state._replace(removed_at=None)
    draft.serve(since, next_at)
    draft.tell(Happening.DECLARED, "declared again; remembers what it has served")
    return _count_version(draft.decide(looks_at_once=True), record.state, now)


def _plan_changed(job: Job, record: Record, now: datetime) -> Decision:
    old = record.job
    draft = Draft(record._replace(job=job), now)
    draft.tell(Happening.CHANGED, _CHANGED)
    if not job.enabled:
        _settle(draft, old, _SWITCHED_OFF)
        _drop_scheduled(draft, _SWITCHED_OFF)
        draft.serve(now, None)
    elif not old.enabled:
        _settle(draft, old, _SWITCHED_OFF)
        draft.serve(now, next_occurrence(job, now))
    elif (job.schedule, job.repeat_until) != (old.schedule, old.repeat_until):
        _count_anew(draft, old)
    return _count_version(draft.decide(looks_at_once=True), record.state, now)


def _count_version(decision: Decision, before: State, now: datetime) -> Decision:
    """Count a new version of the definition. That alone does not change the token."""
    return decision._replace(state=decision.state._replace(version=before.version + 1, defined_at=now))


def _count_anew(draft: Draft, old: Job) -> None:
    """Count occurrences by the new rule: from now, or from the last attempt."""
    job, state, now = draft.job, draft.before, draft.now
    since = _counted_from(job, state, now)
    if job.policy.on_change is OnChange.LAST:
        since = _last_looked_at(job, state, now)
    first = next_occurrence(job, since)
    if first is None or first > now:
        if not _keep_debt(draft, old):
            _settle(draft, old, _OUTDATED)
            _owe_the_present(draft)
        draft.serve(now, first)
        return
    # Occurrences of the new rule replace those of the old rule in that time; the rest is skipped.
    owed = due_window(job, first, now)
    _settle(draft, old, _OUTDATED, until=owed.first - _TICK)
    _settle(draft, old, _OUTDATED, since=owed.last)
    draft.state = draft.state._replace(next_at=first)


def _keep_debt(draft: Draft, old: Job) -> bool:
    """Whether a failed job still owes one run, because an occurrence replaced its retry.

    The rule of that occurrence is gone, but the failed work is still not done.
    """
    state, now, first = draft.before, draft.now, draft.before.next_at
    has_failed = state.failures_in_row > 0 and draft.policy.retry.is_preempted
    if (
        draft.policy.on_change is not OnChange.LAST
        or not has_failed
        or draft.open
        or not draft.is_live
        or first is None
        or first > now
    ):
        return False
    window = due_window(old, first, now)
    covers = window.first if window.first < window.last else None
    draft.open_attempt(
        Attempt(
            draft.job.key, 1, Trigger.CATCH_UP, AttemptState.PENDING, window.last,
            covers_from=covers, wake_at=now, reason="was owed when its definition changed",
        ),
        Happening.WAITS,
    )  # fmt: skip
    return True


def _last_looked_at(job: Job, state: State, now: datetime) -> datetime:
    """The time of the last attempt. A job that never ran owes only the present minute, like a new job."""
    if state.last_attempt_at is not None:
        return max(state.last_attempt_at, state.served_until or state.last_attempt_at)
    present = _present(job, state, now)
    is_ahead = present is not None and (state.served_until is None or present > state.served_until)
    return present - _TICK if present is not None and is_ahead else now


def _present(job: Job, state: State, now: datetime) -> datetime | None:
    """The occurrence of this minute, for a job that never ran and whose policy is `if_matching`."""
    is_wanted = job.policy.first_seen is FirstSeen.IF_MATCHING and state.last_attempt_at is None
    return last_occurrence(job, now) if is_wanted and job.schedule.matches(now) else None


def _owe_the_present(draft: Draft) -> None:
    """Open a run for the present minute, if the policy owes it and nothing is open."""
    job, state, now = draft.job, draft.before, draft.now
    present = _present(job, state, now) if job.policy.on_change is OnChange.LAST else None
    if present is None or draft.open or not draft.is_live:
        return
    draft.open_attempt(
        Attempt(
            job.key, 1, Trigger.SCHEDULE, AttemptState.PENDING, present,
            wake_at=now, reason="its definition changed, and matches the present minute",
        ),
        Happening.WAITS,
    )  # fmt: skip


def _counted_from(job: Job, state: State, now: datetime) -> datetime:
    """From now on. A one-time job may have been declared slightly too late; then from its own time."""
    if job.policy.first_seen is FirstSeen.NOW and isinstance(job.schedule, Once):
        at = job.schedule.at - _TICK
        return min(now, max(at, state.served_until or at))
    return now


def _settle(
    draft: Draft, old: Job, reason: str, *, since: datetime | None = None, until: datetime | None = None
) -> None:
    """Record skips for occurrences of the old rule, up to now, that will not run."""
    state, until = draft.before, until or draft.now
    if state.paused_at is not None:
        reason = "the job was paused"
    elif not old.enabled:
        reason = _SWITCHED_OFF
    served = state.served_until or state.created_at
    first = next_occurrence(old, served if since is None else max(served, since))
    if first is not None and first <= until:
        last = last_occurrence(old, until) or first
        draft.skip(first, max(first, last), reason)


def _drop_scheduled(draft: Draft, reason: str) -> None:
    """Drop pending scheduled runs; manual requests stay."""
    for attempt in list(draft.open.values()):
        is_asked_for = attempt.trigger in (Trigger.MANUAL, Trigger.BACKFILL)
        if attempt.state is AttemptState.PENDING and not is_asked_for:
            draft.drop(attempt, reason)


def plan_removed(record: Record, now: datetime) -> Decision:
    """A source no longer declares the job. It becomes a tombstone; running attempts may end."""
    draft = Draft(record, now)
    reason = "the job was removed"
    if record.state.removed_at is not None:
        return Decision(record.state)
    _settle(draft, record.job, reason)
    for attempt in list(draft.open.values()):
        if attempt.state is AttemptState.PENDING:
            draft.drop(attempt, reason)
    draft.state = draft.state._replace(removed_at=now, next_at=None)
    draft.serve(now, None)
    draft.tell(Happening.REMOVED, reason)
    return draft.decide()
