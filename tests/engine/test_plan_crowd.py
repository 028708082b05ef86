"""A job with very many open runs: what one decision starts, and where more are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foliot.engine.plan_command import Backfill, RunNow, plan_command
from foliot.engine.planner import CROWDED, plan_any_ended, plan_due, plan_ended, plan_lost
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Attempt, AttemptState, Ending, Outcome, Trigger
from foliot.model.job import Action, Job
from foliot.model.policy import MOST_OPEN, Overlap, Policy, Retry, parallel
from foliot.model.state import Record, State
from foliot.schedules import Cron

NOW = datetime(2026, 3, 2, 9, 0, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def crowded(count: int, overlap: Overlap, *, is_due: bool = False, retry: Retry | None = None) -> Record:
    """A job of each minute, with so many runs that may start."""
    policy = Policy(overlap=overlap, retry=retry or Retry())
    job = Job(source="s", name="job", schedule=Cron("* * * * *"), action=Action(kind="k"), policy=policy)
    minute = NOW.replace(second=0)
    next_at = minute if is_due else minute + MINUTE
    state = State(7, NOW - timedelta(days=9), NOW, served_until=next_at - MINUTE, next_at=next_at)
    pending = tuple(
        Attempt(
            job.key, 1, Trigger.BACKFILL, AttemptState.PENDING, minute - (n + 5) * MINUTE,
            wake_at=NOW - timedelta(seconds=1), reason="asked for",
        )
        for n in range(count)
    )  # fmt: skip
    return Record(job, state, pending)


def after(record: Record, attempts: tuple[Attempt, ...], state: State) -> Record:
    current = {attempt.key: attempt for attempt in record.attempts} | {a.key: a for a in attempts}
    return Record(record.job, state, tuple(a for a in current.values() if a.is_open))


@pytest.mark.parametrize(
    ("overlap", "most", "started"),
    [(parallel(), 5, 5), (parallel(), 99, 9), (parallel(3), 99, 3), (Overlap(), 99, 1), (parallel(), 0, 0)],
)
def test_one_decision_starts_as_many_as_may_run_and_have_room(
    overlap: Overlap, most: int, started: int
) -> None:
    decision = plan_due(crowded(9, overlap), NOW, "n", most)
    running = [attempt for attempt in decision.attempts if attempt.is_running]
    assert len(running) == started
    assert [attempt.token for attempt in running] == [8 + n for n in range(started)]
    assert decision.state.fired_count == started
    assert decision.state.token == 7 + started or not started
    oldest_first = sorted(running, key=lambda attempt: attempt.scheduled_for)
    assert running == oldest_first, "what has waited for longest starts first"


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.INTERRUPTED])
def test_many_ends_together_come_to_the_same_as_one_by_one(outcome: Outcome) -> None:
    record = crowded(6, parallel(), retry=Retry(max=2))
    decision = plan_due(record, NOW, "n", 6)
    record = after(record, decision.attempts, decision.state)
    endings = [
        Ending(a.job, a.run_key, a.number, a.token, outcome, NOW, NOW + MINUTE / 4, "it did")
        for a in record.attempts
    ]
    now = NOW + MINUTE / 4
    together = plan_any_ended(record, endings, now)
    one_by_one = record
    for ending in endings:
        single = plan_ended(one_by_one, [ending], now)
        one_by_one = after(one_by_one, single.attempts, single.state)
    at_once = after(record, together.attempts, together.state)
    assert {a.key: a for a in at_once.attempts} == {a.key: a for a in one_by_one.attempts}
    assert at_once.state._replace(token=0) == one_by_one.state._replace(token=0)


def test_many_losses_together_come_to_the_same_as_one_by_one() -> None:
    record = crowded(6, parallel())
    decision = plan_due(record, NOW, "n", 6)
    record = after(record, decision.attempts, decision.state)
    together = plan_lost(record, [a.key for a in record.attempts], NOW)
    one_by_one = record
    for attempt in record.attempts:
        single = plan_lost(one_by_one, [attempt.key], NOW)
        one_by_one = after(one_by_one, single.attempts, single.state)
    at_once = after(record, together.attempts, together.state)
    assert {a.key: a for a in at_once.attempts} == {a.key: a for a in one_by_one.attempts}
    assert at_once.state._replace(token=0) == one_by_one.state._replace(token=0)


def test_more_open_runs_than_can_be_handled_are_refused() -> None:
    record = crowded(MOST_OPEN, parallel())
    with pytest.raises(CommandRefusedError, match="10,000 of its runs are open"):
        plan_command(record, RunNow("one more"), NOW)
    first = NOW - timedelta(days=20)
    with pytest.raises(CommandRefusedError, match="may be"):
        plan_command(record, Backfill(first, first + 3 * MINUTE), NOW)
    assert len(plan_command(crowded(MOST_OPEN - 1, parallel()), RunNow("r"), NOW).attempts) == 1


def test_an_occurrence_that_finds_too_many_open_runs_is_skipped_with_that_reason() -> None:
    record = crowded(MOST_OPEN, parallel(), is_due=True)
    decision = plan_due(record, NOW, "n", 1)
    assert [skip.reason for skip in decision.skips] == [CROWDED]
    assert decision.state.next_at == NOW.replace(second=0) + MINUTE
