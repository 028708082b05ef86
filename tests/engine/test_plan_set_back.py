"""The clock was set back: by a little a job waits, by hours it goes on from now, and no key runs twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from engine.plan_cases import NODE, instant, make_job
from foliot.engine.plan_command import Pause, RunNow, plan_command
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.plan_set_back import is_ahead, plan_set_back
from foliot.engine.planner import plan_due
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.decision import Happening
from foliot.model.job import Job
from foliot.model.policy import Misfire, MisfireMode, Overlap, OverlapMode, Policy, parallel
from foliot.model.presets import CODE
from foliot.model.state import CORRECTION, Record
from foliot.schedules import Once

NOON = instant("12:00")
HOUR, MINUTE, TICK = timedelta(hours=1), timedelta(minutes=1), timedelta(microseconds=1)
YEARS = timedelta(days=5 * 365)
HOURLY = make_job("0 * * * *")


def served(until: datetime = NOON, job: Job = HOURLY, attempts: Sequence[Attempt] = ()) -> Record:
    """A job that has served its occurrences until then."""
    state = plan_declared(job, None, until - 10 * HOUR).state
    following = job.schedule.next_after(until)
    state = state._replace(
        served_until=until, next_at=following, wake_at=following, fired_count=9, last_attempt_at=until
    )
    return Record(job, state, tuple(attempts))


@pytest.mark.parametrize(
    ("back", "is_it"),
    [
        (-HOUR, False),
        (timedelta(0), False),
        (HOUR, False),
        (CORRECTION, False),
        (CORRECTION + TICK, True),
        (YEARS, True),
    ],
)
def test_a_job_is_ahead_if_it_has_served_what_is_to_come_in_hours(back: timedelta, is_it: bool) -> None:  # noqa: FBT001 - a table
    assert is_ahead(served(), NOON - back) is is_it


def test_what_is_not_ahead_stays_as_it_is() -> None:
    record = served()
    assert plan_set_back(record, NOON - HOUR).is_nothing(record)


def test_a_job_goes_on_from_now_and_tells_so() -> None:
    now = NOON - YEARS + MINUTE
    decision = plan_set_back(served(), now)
    state = decision.state
    assert (state.served_until, state.next_at, state.wake_at) == (now, now + 59 * MINUTE, now + 59 * MINUTE)
    assert (state.created_at, state.last_attempt_at) == (now, now)
    assert state.token == served().state.token + 1
    assert (state.fired_count, state.last_run) == (9, None)
    (event,) = decision.events
    assert event.what is Happening.CLOCK_SET_BACK
    assert "it had come to 2026-03-02T12:00:00Z" in event.reason
    assert plan_set_back(Record(HOURLY, state), now).is_nothing(Record(HOURLY, state)), "once is enough"


def test_what_waits_for_a_time_that_was_wrong_starts_now() -> None:
    retry = Attempt(
        HOURLY.key, 2, Trigger.RETRY, AttemptState.PENDING, NOON, wake_at=NOON + MINUTE, reason="failed"
    )
    now = NOON - YEARS
    decision = plan_set_back(served(attempts=[retry]), now)
    assert decision.attempts == (retry._replace(wake_at=now),)
    assert decision.state.wake_at == now


def test_a_request_of_a_wrong_time_is_enough() -> None:
    asked = plan_command(served(NOON - YEARS - HOUR), RunNow("x"), NOON)
    record = Record(HOURLY, asked.state, asked.attempts)
    assert record.state.served_until == NOON - YEARS - HOUR
    (started,) = plan_set_back(record, NOON - YEARS).attempts
    assert started.wake_at == NOON - YEARS


def test_who_is_paused_switched_off_or_removed_stays_so() -> None:
    now = NOON - YEARS
    paused = plan_command(served(), Pause(), NOON)
    decision = plan_set_back(Record(HOURLY, paused.state), now)
    assert (decision.state.paused_at, decision.state.wake_at) == (now, None)
    off = replace(HOURLY, enabled=False)
    decision = plan_set_back(Record(off, plan_declared(off, served(), NOON).state), now)
    assert (decision.state.next_at, decision.state.wake_at) == (None, None)
    removed = plan_removed(served(), NOON)
    decision = plan_set_back(Record(HOURLY, removed.state), now)
    assert (decision.state.removed_at, decision.state.next_at, decision.remove) == (now, None, False)


def test_a_job_that_is_declared_again_after_a_correction_does_not_wait_for_the_old_time() -> None:
    now = NOON - YEARS
    removed = plan_removed(served(), NOON)
    corrected = plan_set_back(Record(HOURLY, removed.state), now)
    back = plan_declared(HOURLY, Record(HOURLY, corrected.state), now + MINUTE)
    assert back.state.next_at == now + HOUR


# -- what has run comes again ----------------------------------------------------------------------

SKIP = replace(CODE, misfire=Misfire(mode=MisfireMode.SKIP))
ALL = replace(CODE, misfire=Misfire(mode=MisfireMode.ALL, limit=3))
WAIT = replace(CODE, overlap=Overlap(mode=OverlapMode.WAIT))
REPLACE = replace(CODE, overlap=Overlap(mode=OverlapMode.REPLACE))
PARALLEL = replace(CODE, overlap=parallel())


def due_again(
    policy: Policy = CODE,
    late: timedelta = timedelta(0),
    ran: Sequence[int] = (0,),
    open_ones: Sequence[Attempt] = (),
) -> list[str]:
    """What starts, or waits, of a job whose occurrences since ten come again; those of `ran` have run."""
    job = make_job("0 * * * *", policy)
    first = instant("10:00")
    state = served(first - HOUR, job).state
    ended = [
        Attempt(job.key, 1, Trigger.SCHEDULE, AttemptState.ENDED, first + number * HOUR) for number in ran
    ]
    decision = plan_due(Record(job, state, (*open_ones, *ended)), first + late, NODE)
    assert decision.state.next_at == first + (late // HOUR + 1) * HOUR
    assert decision.state.wake_at is None or decision.state.wake_at <= decision.state.next_at
    return [f"{attempt.scheduled_for:%H:%M}" for attempt in decision.attempts]


@pytest.mark.parametrize("policy", [CODE, SKIP, ALL, WAIT, REPLACE, PARALLEL])
def test_an_occurrence_that_has_run_does_not_run_again(policy: Policy) -> None:
    assert due_again(policy) == []


@pytest.mark.parametrize(
    ("policy", "ran", "starts"),
    [
        (CODE, (2,), ["11:00"]),
        (CODE, (0, 2), ["11:00"]),
        (CODE, (0, 1), ["12:00"]),
        (CODE, (0, 1, 2), []),
        (ALL, (1,), ["10:00", "12:00"]),
        (ALL, (0, 2), ["11:00"]),
        (SKIP, (1,), ["12:00"]),
    ],
)
def test_of_several_that_come_again_only_those_run_that_have_not(
    policy: Policy, ran: Sequence[int], starts: list[str]
) -> None:
    assert due_again(policy, 2 * HOUR, ran) == starts


def test_nor_does_one_start_beside_itself() -> None:
    job = make_job("0 * * * *", PARALLEL)
    running = Attempt(
        job.key, 1, Trigger.SCHEDULE, AttemptState.RUNNING, instant("10:00"), node="other", token=1
    )
    assert due_again(PARALLEL, open_ones=[running], ran=()) == []


def test_a_one_time_job_that_has_run_does_not_run_again() -> None:
    job = make_job(Once(NOON))
    record = served(NOON, job)
    decision = plan_set_back(record, NOON - YEARS)
    assert decision.state.next_at == NOON
    ended = Attempt(job.key, 1, Trigger.SCHEDULE, AttemptState.ENDED, NOON)
    again = plan_due(Record(job, decision.state, (ended,)), NOON, NODE)
    assert (again.attempts, again.state.next_at, again.state.wake_at) == ((), None, None)
