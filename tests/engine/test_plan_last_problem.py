"""A job says honestly how it fared last: whether its run failed for good, was lost, cut off or missed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.plan_cases import Life, instant, make_job
from foliot.model.attempt import Outcome
from foliot.model.policy import Misfire, MisfireMode, OnLost, Overlap, OverlapMode, Policy, Retry
from foliot.model.presets import CODE
from foliot.model.state import Problem, Skip, SkipCode

STRICT = replace(
    CODE,
    misfire=Misfire(mode=MisfireMode.SKIP, grace=timedelta(seconds=30)),
    overlap=Overlap(mode=OverlapMode.SKIP),
    on_lost=OnLost.GIVE_UP,
    retry=Retry(max=0),
)


def begun(policy: Policy = STRICT) -> Life:
    """A job each five minutes whose first run has succeeded."""
    life = Life()
    life.declare(make_job("*/5 * * * *", policy), instant("09:59"))
    life.claim(instant("10:00"))
    life.end(life.running[0], instant("10:00:01"), Outcome.SUCCEEDED)
    return life


def fared(life: Life) -> tuple[str | None, int]:
    return life.there.state.last_problem, life.there.state.failures_in_row


@pytest.mark.req("OWN-01")
@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.SUCCEEDED, (None, 0)),
        (Outcome.FAILED, ("failed", 1)),
        (Outcome.TIMED_OUT, ("timed_out", 1)),
        (Outcome.CANCELLED, ("cancelled", 0)),
        (Outcome.INTERRUPTED, ("interrupted", 0)),
    ],
)
def test_how_the_last_run_ended_is_kept_until_one_succeeds(
    outcome: Outcome, expected: tuple[str | None, int]
) -> None:
    life = begun()
    life.claim(instant("10:05"))
    life.end(life.running[0], instant("10:05:01"), outcome)
    assert fared(life) == expected
    life.claim(instant("10:10"))
    assert fared(life) == expected, "what runs now tells nothing yet"
    life.end(life.running[0], instant("10:10:01"), Outcome.SUCCEEDED)
    assert fared(life) == (None, 0)


@pytest.mark.req("OWN-01")
def test_a_run_that_is_lost_and_given_up_is_a_problem_and_one_that_starts_again_is_none() -> None:
    for policy, expected in ((STRICT, "lost"), (replace(STRICT, on_lost=OnLost.RESTART), None)):
        life = begun(policy)
        life.claim(instant("10:05"))
        life.lose(life.running[0], instant("10:06"))
        assert fared(life) == (expected, 0)


def test_runs_are_counted_not_attempts() -> None:
    life = begun(replace(STRICT, retry=Retry(max=2, delay="10s")))
    for run in (1, 2):
        for second in (0, 20, 40):
            life.claim(instant(f"10:{5 * run:02}:{second:02}"))
            assert fared(life)[1] == run - 1
            life.end(life.running[0], instant(f"10:{5 * run:02}:{second + 1:02}"), Outcome.FAILED)
        assert fared(life) == ("failed", run)


def test_a_retry_that_helps_leaves_no_problem() -> None:
    life = begun(replace(STRICT, retry=Retry(max=1, delay="10s")))
    life.claim(instant("10:05"))
    life.end(life.running[0], instant("10:05:01"), Outcome.FAILED)
    life.claim(instant("10:05:20"))
    life.end(life.running[0], instant("10:05:21"), Outcome.SUCCEEDED)
    assert fared(life) == (None, 0)


def test_a_retry_whose_place_is_taken_counts_as_a_failure() -> None:
    life = begun(replace(STRICT, retry=Retry(max=9, delay="10m", is_preempted=True)))
    life.claim(instant("10:05"))
    life.end(life.running[0], instant("10:05:01"), Outcome.FAILED)
    assert fared(life) == (None, 0)
    life.claim(instant("10:10"))
    assert fared(life) == ("failed", 1)


@pytest.mark.req("OWN-01")
def test_what_nobody_looked_at_in_time_is_missed() -> None:
    life = begun()
    life.claim(instant("10:07"))
    assert fared(life) == ("missed", 0)
    assert [skip.code for skip in life.skips] == [SkipCode.LATE]


def test_what_found_its_job_busy_is_skipped_until_the_open_run_succeeds() -> None:
    life = begun()
    life.claim(instant("10:05"))
    life.claim(instant("10:10"))
    life.end(life.running[0], instant("10:11"), Outcome.SUCCEEDED)
    assert [skip.code for skip in life.skips] == [SkipCode.OVERLAP]
    assert fared(life) == ("skipped", 0)
    life.claim(instant("10:15"))
    life.end(life.running[0], instant("10:15:01"), Outcome.SUCCEEDED)
    assert fared(life) == (None, 0)


@pytest.mark.parametrize(
    ("reason", "code", "problem"),
    [
        ("missed by more than its grace", SkipCode.LATE, Problem.MISSED),
        ("more than 5 were missed", SkipCode.TOO_MANY, Problem.MISSED),
        ("10,000 runs of the job were open, and more may not be", SkipCode.CROWDED, Problem.SKIPPED),
        ("the job was paused", SkipCode.PAUSED, None),
        ("its definition changed before it could start", SkipCode.CHANGED, None),
        ("words of another release", SkipCode.OTHER, None),
    ],
)
def test_the_reason_of_a_skip_has_a_code(reason: str, code: SkipCode, problem: Problem | None) -> None:
    skip = Skip("a/b", instant("10:00"), instant("10:00"), reason)
    assert (skip.code, skip.problem) == (code, problem)
