"""Splay: the same occurrences, each run started later by the same offset on every node."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.plan_cases import DAY, make_job
from engine.plan_lives import START, jobs
from foliot.engine.herd import is_plain
from foliot.engine.plan_command import Pause, Resume, plan_command
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_any_due, plan_any_ended, plan_due
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.policy import Misfire, MisfireMode, Policy
from foliot.model.splay import offset_of
from foliot.model.state import Record
from foliot.operations.ledger import tell_fates
from foliot.protocols import JobView
from foliot.schedules import Cron
from foliot.why import explain
from foliot.why.past import Traces

MINUTE, HOUR, ZERO = timedelta(minutes=1), timedelta(hours=1), timedelta(0)
DAILY = Cron("0 2 * * *")


def splayed(**fields: object) -> Job:
    """A daily job that starts some minutes after two."""
    policy = replace(Policy(), splay=HOUR, **fields)  # type: ignore[arg-type] # fields of a policy
    job = make_job(DAILY, policy)
    assert MINUTE < offset_of(job) < HOUR
    return job


def after(record: Record | None, job: Job, decision: Decision) -> Record:
    held = {attempt.key: attempt for attempt in (record.attempts if record else ())}
    held |= {attempt.key: attempt for attempt in decision.attempts}
    return Record(job, decision.state, tuple(attempt for attempt in held.values() if attempt.is_open))


@given(st.text(min_size=1, max_size=20).filter(str.isprintable), st.integers(1, 86_400))
def test_an_offset_is_whole_seconds_below_the_splay(name: str, seconds: int) -> None:
    job = replace(make_job(policy=Policy(splay=timedelta(seconds=seconds))), name=name)

    assert ZERO <= offset_of(job) < timedelta(seconds=seconds)
    assert offset_of(job).microseconds == 0
    assert offset_of(replace(job, policy=Policy())) == ZERO


def test_an_offset_is_the_same_in_every_process() -> None:
    job = splayed()
    code = (
        "import sys; from datetime import timedelta; from foliot.model.splay import _offset; "
        "print(_offset(sys.argv[1], 3600))"
    )
    told = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code, job.key], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == str(offset_of(job))


def test_offsets_of_many_jobs_are_spread() -> None:
    job = make_job(policy=Policy(splay=HOUR))
    offsets = {offset_of(replace(job, name=f"job-{n}")) for n in range(1000)}
    assert len(offsets) > 800
    assert max(offsets) - min(offsets) > 50 * MINUTE


events = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from(["look", "look", "end", "fail"])), min_size=1, max_size=25
)


@pytest.mark.req("OWN-21")
@given(jobs(), st.integers(1, 900), events)
def test_a_splayed_job_lives_the_same_life_later(
    plain: Job, seconds: int, events: list[tuple[int, str]]
) -> None:
    """The law: of two jobs that are driven, one later by its offset, the same is decided, but later."""
    # What is expected of a job counts from its declaration, whatever its splay.
    plain = replace(plain, policy=replace(plain.policy, splay=None, notify=None, expect=None))
    later = replace(plain, policy=replace(plain.policy, splay=timedelta(seconds=seconds)))
    offset = offset_of(later)
    one = after(None, plain, plan_declared(plain, None, START))
    two = after(None, later, plan_declared(later, None, START))
    now = START
    for wait, what in events:
        now += timedelta(seconds=wait)
        first, second = (_decided(record, at, what) for record, at in ((one, now), (two, now + offset)))
        assert _nominal(second, offset) == _nominal(first, ZERO)
        one, two = after(one, plain, first), after(two, later, second)
        assert _wake(two, offset) == _wake(one, ZERO)


def _decided(record: Record, at: datetime, what: str) -> Decision:
    held = [attempt for attempt in record.attempts if attempt.is_running]
    if what == "look" or not held:
        return plan_due(record, at, "node")
    ending = Ending(
        held[0].job, held[0].run_key, held[0].number, held[0].token,
        Outcome.SUCCEEDED if what == "end" else Outcome.FAILED, held[0].claimed_at, at, None,
    )  # fmt: skip
    return plan_any_ended(record, [ending], at)


def _nominal(decision: Decision, offset: timedelta) -> object:
    """What was decided, with times that are the clock's taken back by the offset."""

    def back(instant: datetime | None) -> datetime | None:
        return None if instant is None else instant - offset

    def taken_back(attempt: Attempt) -> Attempt:
        names = ("wake_at", "claimed_at", "deadline_at", "started_at", "finished_at")
        changed: dict[str, Any] = {name: back(getattr(attempt, name)) for name in names}
        return attempt._replace(**changed)

    state = decision.state
    return (
        state.served_until, state.next_at, state.fired_count, state.last_run, state.token,
        [taken_back(attempt) for attempt in decision.attempts],
        decision.skips,
        [(event.what, event.reason, event.run_key, back(event.at)) for event in decision.events],
    )  # fmt: skip


def _wake(record: Record, offset: timedelta) -> datetime | None:
    return None if record.state.wake_at is None else record.state.wake_at - offset


def test_a_run_keeps_its_occurrence_and_starts_later() -> None:
    job = splayed()
    offset = offset_of(job)
    record = after(None, job, plan_declared(job, None, DAY))
    two = DAY + 2 * HOUR

    assert (record.state.next_at, record.state.wake_at) == (two, two + offset)
    assert not is_plain(record)
    assert plan_due.alike(job, two) is None
    assert plan_any_due(record, two + offset - timedelta(microseconds=1), "n").attempts == ()
    (attempt,) = plan_due(record, two + offset, "n").attempts
    assert attempt.run_key == f"{job.key}@{two:%Y-%m-%dT%H:%M:%SZ}"
    (event,) = plan_due(record, two + offset, "n").events
    assert event.at - attempt.scheduled_for == event.offset == offset


def test_grace_counts_from_the_start() -> None:
    job = splayed(misfire=Misfire(mode=MisfireMode.SKIP, grace=MINUTE))
    record = after(None, job, plan_declared(job, None, DAY))
    start = DAY + 2 * HOUR + offset_of(job)

    assert plan_due(record, start + MINUTE, "n").attempts
    (skip,) = plan_due(record, start + MINUTE + timedelta(microseconds=1), "n").skips
    assert skip.first == DAY + 2 * HOUR


def test_a_pause_that_ends_before_the_start_skips_nothing() -> None:
    job = splayed()
    record = after(None, job, plan_declared(job, None, DAY))
    two, offset = DAY + 2 * HOUR, offset_of(job)
    paused = after(record, job, plan_command(record, Pause(), two - MINUTE))

    soon = plan_command(paused, Resume(), two + offset - MINUTE)
    assert (soon.skips, soon.state.next_at, soon.state.wake_at) == ((), two, two + offset)
    late = plan_command(paused, Resume(), two + offset + MINUTE)
    assert [(skip.first, skip.last) for skip in late.skips] == [(two, two)]


def test_another_splay_moves_what_is_to_start_and_a_removal_leaves_a_trace() -> None:
    job = splayed()
    record = after(None, job, plan_declared(job, None, DAY))
    two = DAY + 2 * HOUR

    bare = replace(job, policy=replace(job.policy, splay=None))
    assert plan_declared(bare, record, two + MINUTE).state.wake_at == two
    removed = plan_removed(record, two + MINUTE)
    assert [(skip.first, skip.last) for skip in removed.skips] == [(two, two)]


@pytest.mark.parametrize("at", [None, DAY + 2 * HOUR])
@pytest.mark.parametrize("now", [DAY, DAY + 2 * HOUR + timedelta(seconds=1)])
def test_why_tells_both_times(at: datetime | None, now: datetime) -> None:
    job = splayed()
    record = after(None, job, plan_declared(job, None, DAY))
    answer = explain(JobView(job.key, record), (), (), kinds=None, now=now, at=at)

    starts = (DAY + 2 * HOUR + offset_of(job)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert answer.verdict == "will_run"
    assert f"by its splay it starts at {starts}" in answer.text


def test_an_occurrence_is_planned_until_its_start_and_missed_after_its_grace() -> None:
    job = splayed()
    record = after(None, job, plan_declared(job, None, DAY))
    two = DAY + 2 * HOUR
    start = two + offset_of(job)

    def fate(now: datetime) -> str:
        (occurrence,) = tell_fates(record, Traces(), [two], now)
        return occurrence.fate

    times = (two + MINUTE, start, start + MINUTE, start + 2 * MINUTE)
    assert [fate(now) for now in times] == ["planned", "waits", "waits", "missed"]


def test_why_tells_of_a_run_that_its_splay_moved_it() -> None:
    job = splayed()
    record = after(None, job, plan_declared(job, None, DAY))
    two = DAY + 2 * HOUR
    decision = plan_due(record, two + offset_of(job), "n")
    answer = explain(
        JobView(job.key, after(record, job, decision)), decision.attempts, (), kinds=None,
        now=two + HOUR, at=two,
    )  # fmt: skip

    seconds = offset_of(job) // timedelta(seconds=1)
    assert answer.text.endswith(f"by its splay it starts {seconds} s after its time")
