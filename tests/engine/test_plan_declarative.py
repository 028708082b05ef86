"""DECL-42 for the planner: the declarative scheduler's theory, under its preset, with no people about."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from engine.plan_cases import Life, make_job
from engine.plan_lives import PEOPLE, START, lives
from foliot.engine.calendar import next_occurrence
from foliot.model.attempt import Attempt, Outcome, Trigger
from foliot.model.policy import Retry
from foliot.model.presets import DECLARATIVE

SECOND = timedelta(seconds=1)
NOBODY = frozenset({*PEOPLE, "cancel", "switch"})
DELAYS = [timedelta(0), 10 * SECOND, 45 * SECOND, timedelta(minutes=10)]
TASKS = [
    make_job(rule, replace(DECLARATIVE, retry=Retry(max=None, delay=delay, is_preempted=True)))
    for rule in ("* * * * *", "0,5,10,15,20,30 * * * *")
    for delay in DELAYS
]
tasks = st.sampled_from(TASKS)
one_task = tasks.flatmap(lambda task: lives(definitions=(task,), without=NOBODY | {"remove", "change"}))
any_tasks = st.tuples(tasks, tasks).flatmap(lambda two: lives(definitions=two, without=NOBODY))


def starts(life: Life) -> list[Attempt]:
    """Every attempt that was started, in order, as it became."""
    return sorted(
        (attempt for attempt in life.attempts if attempt.claimed_at is not None), key=lambda a: a.token
    )


@given(any_tasks)
def test_no_start_without_an_obligation(life: Life) -> None:
    everything = {attempt.key: attempt for attempt in life.attempts}
    for attempt in starts(life):
        assert attempt.claimed_at is not None
        assert attempt.scheduled_for <= attempt.claimed_at
        if attempt.trigger in (Trigger.RETRY, Trigger.LOST):
            cause = everything[attempt.run_key, attempt.number - 1]
            failed = cause.outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
            assert failed is (attempt.trigger is Trigger.RETRY)
            assert cause.finished_at is not None
            assert attempt.claimed_at >= cause.finished_at + (SECOND if failed else timedelta(0))
        else:
            assert attempt.number == 1
            assert attempt.trigger in (Trigger.SCHEDULE, Trigger.CATCH_UP)


@given(one_task)
def test_one_start_at_most_succeeds_between_two_occurrences(life: Life) -> None:
    occurrences, end = [], life.steps[-1].at
    at = next_occurrence(life.steps[0].job, START - timedelta(hours=1))
    while at is not None and at <= end:
        occurrences.append(at)
        at = next_occurrence(life.steps[0].job, at)
    successes = [a.claimed_at for a in starts(life) if a.outcome is Outcome.SUCCEEDED and a.claimed_at]
    assert max(Counter(bisect(occurrences, at) for at in successes).values(), default=0) <= 1


@given(one_task)
def test_an_obligation_leads_to_a_start(life: Life) -> None:
    now = life.steps[-1].at
    if life.running:
        return
    owed = [a for a in life.open if a.wake_at is not None and a.wake_at <= now]
    next_at = life.there.state.next_at
    has_fired = life.there.state.fired_count > 0
    is_due = next_at is not None and next_at <= now
    life.claim(now)
    assert bool(life.running) is (bool(owed) or is_due) or not has_fired


@given(one_task)
def test_a_failure_owes_a_retry_or_the_next_occurrence(life: Life) -> None:
    for step in life.steps:
        if step.what not in (Outcome.FAILED, Outcome.TIMED_OUT) or step.after is None:
            continue
        assert step.before is not None
        retries = [a for a in step.after.attempts if a.trigger is Trigger.RETRY]
        waiting = [a for a in step.before.attempts if not a.is_running]
        next_at = step.before.state.next_at
        if waiting or (next_at is not None and next_at <= step.at):
            assert retries == []
        else:
            (retry,) = retries
            assert retry.wake_at == step.at + max(step.job.policy.retry.delay, SECOND)


@given(any_tasks)
def test_removed_and_added_again_forgets_its_debts(life: Life) -> None:
    """The first run of a task that begins anew is for no occurrence before the minute it began in."""
    began_at = None
    for step in life.steps:
        if step.before is None:
            began_at = step.at.replace(second=0, microsecond=0)
        for attempt in step.decision.attempts:
            if attempt.claimed_at == step.at and began_at is not None:
                assert attempt.number == 1
                assert (attempt.covers_from or attempt.scheduled_for) >= began_at, step
                began_at = None
