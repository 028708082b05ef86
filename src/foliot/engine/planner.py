"""The planner: what happens to a job, as a pure function of its record, an event, and the time.

    due      a claim finds the job's time to wake           ─┐
    ended    a node reports how an attempt ended             ├─▶  Decision: new state, attempts opened
    lost     the node of an attempt was declared dead        │    or changed, skips, events with reasons
    declared, removed, commands: see `plan_definition`,      │
                                 `plan_command`             ─┘

It reads no clock, has no state, and does no I/O: the same record, event and time give the same
decision, so a store may ask again when a write collides. One decision covers everything that has happened to
the job: it starts as many attempts as there are free slots, or ends as many as were reported. Decisions about
runs without problems are in `herd`, made once for all jobs that are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from foliot.engine.calendar import Window, due_window, latest_of, next_occurrence, without
from foliot.engine.draft import Draft
from foliot.engine.herd import end_in_peace, is_plain, plan_alike, start_alike
from foliot.engine.retry import MOST_LOSSES, may_restart, may_retry, retry_at
from foliot.model.alert import AlertKind
from foliot.model.alike import ON_TIME, Alike
from foliot.model.attempt import Attempt, AttemptState, Ending, Outcome, Trigger
from foliot.model.decision import Decision, Happening
from foliot.model.job import Job
from foliot.model.policy import MOST_OPEN, MisfireMode, OnLost, OverlapMode
from foliot.model.state import OVERLAP, Problem, Record

_SHOWN = 200
_AGAIN = (Trigger.RETRY, Trigger.LOST)
_KEEP_ONE = (OverlapMode.WAIT, OverlapMode.REPLACE)
_ASKED_FOR = (Trigger.MANUAL, Trigger.BACKFILL, Trigger.AFTER, Trigger.REBOOT)
_FAILURES = (Outcome.FAILED, Outcome.TIMED_OUT)
CROWDED = f"{MOST_OPEN:,} runs of the job were open, and more may not be"
_TOO_LATE = "missed by more than its grace"
_OVERTAKEN = "a later occurrence came before it could start"
_DEAD = "its node was declared dead"
_HOPELESS = f"its node was declared dead, as were those of {MOST_LOSSES - 1} attempts before: it is given up"
_AFTER = {outcome: f"the attempt before it {outcome}" for outcome in _FAILURES}


class PlanDue:
    """The planner of a claim: decides about due jobs, one by one, or all that are alike."""

    def __call__(self, record: Record, now: datetime, node: str, most: int = 1) -> Decision:
        """The decision about one job; at most `most` attempts start, none if its group is full."""
        first = record.state.next_at
        if first is not None and first <= now and most > 0 and is_plain(record):
            alike = plan_alike(record.job, first)
            if alike is not None and now <= alike.until:
                return start_alike(record, alike, now, node)
        return plan_any_due(record, now, node, most)

    def alike(self, job: Job, first: datetime) -> Alike | None:
        """The decision for all plain records of jobs like this one whose next occurrence is `first`."""
        return plan_alike(job, first)


plan_due = PlanDue()


def plan_any_due(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
    """The decision for any record: handle due occurrences, and start what may start."""
    draft = Draft(record, now)
    draft.end_pause_in_time()
    first = draft.state.next_at
    # A job that only waits for its group stays due, and is handled when the group has a free place.
    if most <= 0 and not draft.is_busy:
        return draft.decide(looks_at_once=True)
    if draft.is_live and first is not None and first <= draft.come_until:
        due = due_window(draft.job, first, draft.come_until)
        if (window := without(draft.job, due, draft.ran)) is not None:
            _meet_occurrences(draft, window)
        else:
            draft.serve(due.last, due.following)  # they ran before the clock was set back
    _start_ready(draft, node, most)
    return draft.decide()


def _meet_occurrences(draft: Draft, window: Window) -> None:
    if len(draft.open) >= MOST_OPEN:
        draft.skip(window.first, window.last, CROWDED, AlertKind.SKIPPED)
        draft.serve(window.last, window.following)
        return
    if draft.policy.retry.is_preempted:
        for attempt in [a for a in draft.open.values() if not a.is_running and a.trigger in _AGAIN]:
            draft.tell(Happening.RETRY_PREEMPTED, "a new occurrence takes its place", attempt)
            draft.drop(attempt, "a new occurrence took its place", is_told=True)
    overlap, misfire = draft.policy.overlap.mode, draft.policy.misfire
    if not draft.is_busy:
        if overlap in _KEEP_ONE and misfire.mode is not MisfireMode.ALL:
            for attempt in draft.queued:
                draft.drop(attempt, "a newer occurrence took its place")
        _open_due(draft, window)
    elif overlap not in _KEEP_ONE or (overlap is OverlapMode.WAIT and draft.queued):
        return  # the end of the open run handles it
    elif misfire.mode is MisfireMode.SKIP and draft.come_until - window.last > misfire.grace:
        draft.skip(window.first, window.last, _TOO_LATE, AlertKind.MISSED)
        draft.serve(window.last, window.following)
    elif overlap is OverlapMode.REPLACE:
        _replace_open(draft, window)
    else:
        _wait_for_open(draft, window)


def _open_due(draft: Draft, window: Window) -> None:
    """Nothing is in the way: open a run for the due occurrence, or for missed ones."""
    misfire = draft.policy.misfire
    is_late = draft.come_until - window.last > misfire.grace
    owes_first = window.first <= draft.state.created_at  # its policy is to run when it is first seen
    draft.serve(window.last, window.following)
    if is_late and not owes_first and draft.state.fired_count == 0 and not draft.policy.before_first_run:
        reason = "missed, and the job had never run before"
        draft.skip(window.first, window.last, reason, AlertKind.MISSED)
    elif misfire.mode is MisfireMode.ALL and not owes_first:
        _open_all(draft, window)
    elif misfire.mode is MisfireMode.SKIP and not owes_first:
        if is_late:
            draft.skip(window.first, window.last, _TOO_LATE, AlertKind.MISSED)
        else:
            draft.skip_all_but(window, window.last, _OVERTAKEN, AlertKind.MISSED)
            _open_pending(draft, window.last, Trigger.SCHEDULE, ON_TIME)
    else:
        trigger = Trigger.CATCH_UP if is_late else Trigger.SCHEDULE
        reason = "catches up what was missed" if is_late or window.first < window.last else ON_TIME
        covers = window.first if window.first < window.last else None
        _open_pending(draft, window.last, trigger, reason, covers_from=covers)


def _open_all(draft: Draft, window: Window) -> None:
    misfire = draft.policy.misfire
    kept = latest_of(draft.job, window, misfire.limit)
    draft.skip_all_but(window, kept[0], f"more than {misfire.limit} were missed", AlertKind.MISSED)
    for occurrence in [at for at in kept if at not in draft.ran]:
        is_late = draft.come_until - occurrence > misfire.grace
        trigger = Trigger.CATCH_UP if is_late else Trigger.SCHEDULE
        _open_pending(draft, occurrence, trigger, "catches up what was missed" if is_late else ON_TIME)


def _wait_for_open(draft: Draft, window: Window) -> None:
    """Let one occurrence wait for the open run: the first, or the last if late ones are skipped."""
    misfire, occurrence = draft.policy.misfire, window.first
    if misfire.mode is MisfireMode.SKIP and draft.come_until - occurrence > misfire.grace:
        occurrence = window.last
        draft.skip_all_but(window, occurrence, _OVERTAKEN, AlertKind.SKIPPED)
    _open_pending(draft, occurrence, Trigger.SCHEDULE, "waits for the open run to end", must_wait=True)
    draft.serve(occurrence, next_occurrence(draft.job, occurrence))


def _replace_open(draft: Draft, window: Window) -> None:
    """Ask the open runs to end; after that the latest occurrence starts."""
    for attempt in list(draft.open.values()):
        if attempt.state is AttemptState.RUNNING:
            reason = "the next occurrence replaces it"
            draft.tell(Happening.CANCEL_ASKED, reason, attempt)
            draft.change(attempt, state=AttemptState.CANCELLING, reason=reason)
        elif attempt.state is AttemptState.PENDING and attempt.trigger not in _ASKED_FOR:
            # A retry that waits is of a run that has failed by itself: that is told.
            draft.drop(attempt, "a newer occurrence replaced it", is_told=attempt.trigger in _AGAIN)
    draft.skip_all_but(window, window.last, "a newer occurrence replaced it", AlertKind.SKIPPED)
    reason = "replaces the open run"
    _open_pending(draft, window.last, Trigger.SCHEDULE, reason, must_wait=not draft.is_free)
    draft.serve(window.last, window.following)


def _open_pending(  # noqa: PLR0913 - the facts of an attempt
    draft: Draft,
    occurrence: datetime,
    trigger: Trigger,
    reason: str,
    *,
    covers_from: datetime | None = None,
    must_wait: bool = False,
) -> None:
    draft.open_attempt(
        Attempt(
            draft.job.key, 1, trigger, AttemptState.PENDING, occurrence,
            covers_from=covers_from,
            wake_at=None if must_wait else draft.now,
            reason=reason,
        ),
        Happening.WAITS,
    )  # fmt: skip


def _start_ready(draft: Draft, node: str, most: int) -> None:
    """Start the earliest pending attempts, as many as the job and the node allow."""
    ready = [a for a in draft.open.values() if a.wake_at is not None and a.wake_at <= draft.now]
    room = most if draft.places is None else min(most, draft.places)
    if ready and room > 0:
        first = sorted(ready, key=lambda a: (a.wake_at, a.scheduled_for)) if len(ready) > 1 else ready
        for attempt in first[:room]:
            draft.start(attempt, node)


def plan_ended(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
    """A node reports ended attempts. After a plain success the state does not change."""
    peaceful = end_in_peace(record, endings[0], now) if len(endings) == 1 else None
    return peaceful or plan_any_ended(record, endings, now)


def plan_any_ended(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
    """The decision for any record: note the ends, plan retries, and start what waited."""
    draft = Draft(record, now)
    held = {attempt.key: attempt for attempt in record.attempts}
    for ending in endings:
        attempt = held[ending.run_key, ending.number]
        _end(draft, attempt, ending)
        _follow(draft, attempt, ending)
        if ending.outcome is not Outcome.SUCCEEDED:
            is_told = attempt.state is AttemptState.RUNNING
            draft.note_problem(attempt, Problem(ending.outcome.value), is_told=is_told)
    is_settled = _release(draft)
    is_awake = not draft.was_asleep or record.state.next_at is None
    return draft.decide(looks_at_once=is_awake or not is_settled)


def _end(draft: Draft, attempt: Attempt, ending: Ending) -> None:
    outcome = ending.outcome
    ended = draft.change(
        attempt,
        state=AttemptState.ENDED,
        outcome=outcome,
        started_at=ending.started_at,
        finished_at=ending.finished_at,
        error=ending.error,
        exit_code=ending.exit_code,
    )
    if ending.has_output:
        draft.wrote.add(ended.key)
    is_told_why = ending.error and outcome is not Outcome.SUCCEEDED
    draft.tell(Happening.ENDED, f"{outcome}: {_first_line(ending.error)}" if is_told_why else outcome, ended)
    if outcome is Outcome.SUCCEEDED:
        draft.state = draft.state._replace(failures_in_row=0, last_problem=None)
    elif outcome in _FAILURES:
        draft.state = draft.state._replace(last_failure_at=ending.finished_at)


def _follow(draft: Draft, attempt: Attempt, ending: Ending) -> None:
    """Plan another attempt of the same run, if the policy says so and no one asked it to end."""
    if attempt.state is AttemptState.CANCELLING or draft.state.removed_at is not None:
        return
    if ending.outcome is Outcome.INTERRUPTED:
        _restart(draft, attempt, "its node was stopped")
    elif ending.outcome in _FAILURES and not ending.is_final and may_retry(draft.policy.retry, attempt):
        passed = draft.state.next_at is not None and draft.state.next_at <= draft.come_until and draft.is_live
        if draft.policy.retry.is_preempted and (passed or draft.queued):
            draft.tell(Happening.RETRY_PREEMPTED, "an occurrence came during the run", attempt)
            return
        at = retry_at(draft.policy.retry, attempt, ending.finished_at, ending.retry_after)
        reason = _AFTER[ending.outcome]
        retry = _again(attempt, Trigger.RETRY, at, reason)._replace(retries=attempt.retries + 1)
        draft.open_attempt(retry, Happening.RETRY_PLANNED)


def _restart(draft: Draft, attempt: Attempt, reason: str, *, losses: int = 0) -> None:
    if draft.policy.retry.is_preempted and draft.queued:
        draft.tell(Happening.RETRY_PREEMPTED, "an occurrence came during the run", attempt)
    elif draft.policy.on_lost is OnLost.RESTART:
        restart = _again(attempt, Trigger.LOST, draft.now, reason)._replace(losses=losses)
        draft.open_attempt(restart, Happening.RESTART_PLANNED)


def _again(attempt: Attempt, trigger: Trigger, wake_at: datetime, reason: str) -> Attempt:
    return Attempt(
        attempt.job, attempt.number + 1, trigger, AttemptState.PENDING, attempt.scheduled_for,
        request=attempt.request, covers_from=attempt.covers_from, wake_at=wake_at, reason=reason,
        retries=attempt.retries, payload=attempt.payload,
    )  # fmt: skip


def _release(draft: Draft) -> bool:
    """The job is free again: start what waited, and handle occurrences that a claim saw meanwhile.

    The job has no time to wake exactly if a claim has seen an occurrence and found the job busy.
    """
    if not draft.is_free:
        return True
    waited = draft.waiting
    for attempt in waited:
        draft.change(attempt, wake_at=draft.now)
    first = draft.state.next_at
    if not draft.was_asleep or not draft.is_live or first is None or first > draft.come_until:
        return True
    if draft.policy.overlap.mode is OverlapMode.WAIT and not waited:
        return False
    window = due_window(draft.job, first, draft.come_until)
    draft.skip(window.first, window.last, OVERLAP, AlertKind.SKIPPED)
    draft.serve(window.last, window.following)
    return True


def plan_lost(record: Record, lost: Sequence[tuple[str, int]], now: datetime) -> Decision:
    """The nodes of these attempts were declared dead: the results are unknown, and stay unknown."""
    draft = Draft(record, now)
    held = {attempt.key: attempt for attempt in record.attempts}
    for key in lost:
        _lose(draft, held[key])
    if draft.is_free:
        for waiting in draft.waiting:
            draft.change(waiting, wake_at=now)
    return draft.decide(looks_at_once=True)


def _lose(draft: Draft, attempt: Attempt) -> None:
    may_follow = attempt.state is AttemptState.RUNNING and draft.state.removed_at is None
    is_hopeless = draft.policy.on_lost is OnLost.RESTART and not may_restart(draft.policy.retry, attempt)
    reason = _HOPELESS if may_follow and is_hopeless else _DEAD
    ended = draft.change(
        attempt, state=AttemptState.ENDED, outcome=Outcome.LOST, finished_at=draft.now, reason=reason
    )
    draft.tell(Happening.ENDED, reason, ended)
    if may_follow and not is_hopeless:
        _restart(draft, attempt, reason, losses=attempt.losses + 1)
    draft.note_problem(attempt, Problem.LOST, is_told=attempt.state is AttemptState.RUNNING)


def _first_line(error: str | None) -> str:
    """The first line of an error, for events; the attempt has the whole text."""
    return (error or "").partition("\n")[0][:_SHOWN]
