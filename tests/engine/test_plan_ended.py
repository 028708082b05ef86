"""An attempt ends, or its node dies: retries, restarts, and what becomes of the job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.plan_cases import Case, Life, case, instant, make_job
from foliot.model.attempt import Outcome
from foliot.model.policy import OnLost, Policy, Retry
from foliot.model.presets import API, BEAT, CODE, DECLARATIVE, ROLLCRON

TWICE = replace(CODE, retry=Retry(max=2, delay="10s"))

RETRY_CASES = [
    case(
        "none: a failure is the end of the run (RAT-09: the schedule moves on)",
        API,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:00:05 fail    | end 10:00 failed; wake 10:05
        10:05    claim   | start 10:05 schedule; wake 10:10
        """,
        rule="*/5 * * * *",
    ),
    case(
        "max 2: two retries, each counted from the end before it, then no more",
        TWICE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:00:05 fail    | end 10:00 failed; plan 10:00#2 retry at 10:00:15; wake 10:00:15
        10:00:14 claim   | -
        10:00:15 claim   | start 10:00#2 retry; wake 10:05
        10:00:20 fail    | end 10:00#2 failed; plan 10:00#3 retry at 10:00:30; wake 10:00:30
        10:00:31 claim   | start 10:00#3 retry; wake 10:05
        10:00:40 fail    | end 10:00#3 failed; wake 10:05
        10:00:40 told    | declared started ended retry_planned started ended retry_planned started ended \
                           failed_for_good
        """,
        rule="*/5 * * * *",
    ),
    case(
        "DECL-15 a retry counts from the callback's end, not from when it was reported",
        DECLARATIVE,
        """
        09:59:30 declare                | wake 10:00
        10:00    claim                  | start 10:00 schedule; wake 10:05
        10:00:50 fail finished=10:00:05 | end 10:00 failed; plan 10:00#2 retry at 10:00:15; wake 10:00:15
        10:00:50 claim                  | start 10:00#2 retry; wake 10:05
        """,
        rule="*/5 * * * *",
    ),
    case(
        "DECL-15 a delay of zero is spaced by one second",
        replace(DECLARATIVE, retry=Retry(max=None, delay="0s", is_preempted=True)),
        """
        09:59:30   declare | wake 10:00
        10:00      claim   | start 10:00 schedule; wake 10:05
        10:00:05.5 fail    | end 10:00 failed; plan 10:00#2 retry at 10:00:06.500000; wake 10:00:06.500000
        10:00:06.5 claim   | start 10:00#2 retry; wake 10:05
        """,
        rule="*/5 * * * *",
    ),
    case(
        "ROLL-12 a timeout counts as a failure",
        replace(ROLLCRON, retry=Retry(max=1, delay="10s")),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:00:10 timeout | end 10:00 timed_out; plan 10:00#2 retry at 10:00:20; wake 10:00:20
        """,
        rule="*/5 * * * *",
    ),
    case(
        "DECL-17 a success leaves no retry",
        DECLARATIVE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:00:05 fail    | end 10:00 failed; plan 10:00#2 retry at 10:00:15; wake 10:00:15
        10:00:15 claim   | start 10:00#2 retry; wake 10:05
        10:00:16 ok      | end 10:00#2 succeeded; wake 10:05
        10:00:40 claim   | -
        """,
        rule="*/5 * * * *",
    ),
    case(
        "BAN-10 a failed enqueue keeps its occurrence due: a second later it is tried again",
        BEAT,
        """
        10:00    declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:00    fail    | end 10:00 failed; plan 10:00#2 retry at 10:00:01; wake 10:00:01
        10:00:01 claim   | start 10:00#2 retry; wake 10:05
        10:00:01 fail    | end 10:00#2 failed; plan 10:00#3 retry at 10:00:02; wake 10:00:02
        10:00:02 claim   | start 10:00#3 retry; wake 10:05
        10:00:02 ok      | end 10:00#3 succeeded; wake 10:05
        """,
        rule="*/5 * * * *",
    ),
]

PREEMPTION_CASES = [
    case(
        "what waits starts in the order of its time: a retry before a request that came after it",
        TWICE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:00:05 fail    | end 10:00 failed; plan 10:00#2 retry at 10:00:15; wake 10:00:15
        10:00:20 run a   | plan !a manual at 10:00:20; wake 10:00:15
        10:00:30 claim   | start 10:00#2 retry; wake 10:05
        10:00:40 ok      | end 10:00#2 succeeded; wake 10:00:20
        10:00:40 claim   | start !a manual; wake 10:05
        """,
        rule="*/5 * * * *",
    ),
    case(
        "a retry stands for all that its run stands for",
        TWICE,
        """
        09:59:30 declare | wake 10:00
        10:20    claim   | start 10:20 schedule covers 10:00; wake 10:25
        10:20:05 fail    | end 10:20 failed; plan 10:20#2 retry at 10:20:15; wake 10:20:15
        10:20:15 claim   | start 10:20#2 retry covers 10:00; wake 10:25
        """,
        rule="*/5 * * * *",
    ),
    case(
        "DECL-16 an occurrence takes the place of a retry that waits: one run",
        replace(DECLARATIVE, retry=Retry(max=None, delay="30m", is_preempted=True)),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:00:05 fail    | end 10:00 failed; plan 10:00#2 retry at 10:30:05; wake 10:05
        10:00:05 told    | declared started ended retry_planned
        10:05    claim   | drop 10:00#2 (a new occurrence took its place); start 10:05 schedule; wake 10:10
        10:05    told    | retry_preempted ended failed_for_good started
        10:05:30 ok      | end 10:05 succeeded; wake 10:10
        10:31    claim   | start 10:30 schedule covers 10:10; wake 10:35
        """,
        rule="*/5 * * * *",
    ),
    case(
        "declarative: a retry and an occurrence fall together: the occurrence wins",
        replace(DECLARATIVE, retry=Retry(max=None, delay="55s", is_preempted=True)),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:04:05 fail    | end 10:00 failed; plan 10:00#2 retry at 10:05; wake 10:05
        10:05    claim   | drop 10:00#2 (a new occurrence took its place); start 10:05 schedule; wake 10:10
        """,
        rule="*/5 * * * *",
    ),
    case(
        "declarative: an occurrence passed during the run: one follow-up at once, and no retry",
        DECLARATIVE,
        """
        10:00    declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    claim   | wait 10:01 schedule; asleep
        10:03:30 fail    | end 10:00 failed; release 10:01; \
                           skip 10:02..10:03 (a run was still open); wake 10:03:30
        10:03:30 told    | declared started waits ended retry_preempted failed_for_good skipped
        10:03:30 claim   | start 10:01 schedule; wake 10:04
        10:03:40 ok      | end 10:01 succeeded; wake 10:04
        10:03:50 claim   | -
        """,
    ),
    case(
        "declarative: an occurrence passed during the run, unseen by a claim: the same",
        DECLARATIVE,
        """
        10:00    declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:03:30 fail    | end 10:00 failed; wake 10:01
        10:03:30 told    | declared started ended retry_preempted failed_for_good
        10:03:30 claim   | start 10:03 schedule covers 10:01; wake 10:04
        """,
    ),
    case(
        "declarative: the follow-up comes after a success too",
        DECLARATIVE,
        """
        10:00    declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    claim   | wait 10:01 schedule; asleep
        10:01:30 ok      | end 10:00 succeeded; release 10:01; wake 10:01:30
        10:01:30 claim   | start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "not pre-empted: the retry keeps its time while occurrences pass",
        replace(CODE, retry=Retry(max=1, delay="2m")),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:00:30 fail    | end 10:00 failed; plan 10:00#2 retry at 10:02:30; wake 10:01
        10:01    claim   | wake 10:02:30
        10:02:30 claim   | start 10:00#2 retry; asleep
        10:02:40 fail    | end 10:00#2 failed; skip 10:01..10:02 (a run was still open); wake 10:03
        """,
    ),
]

LOST_CASES = [
    case(
        "DECL-24 restart: a run whose node died starts again at once, as another attempt",
        DECLARATIVE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:02    lose    | end 10:00 lost; plan 10:00#2 lost at 10:02; wake 10:02
        10:02    claim   | start 10:00#2 lost; wake 10:05
        10:02    told    | declared started ended restart_planned started
        """,
        rule="*/5 * * * *",
    ),
    case(
        "declarative: occurrences missed with the node cause one run, which pre-empts the restart",
        DECLARATIVE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:33    lose    | end 10:00 lost; plan 10:00#2 lost at 10:33; wake 10:05
        10:33    claim   | drop 10:00#2 (a new occurrence took its place); \
                           start 10:30 catch_up covers 10:05; wake 10:35
        """,
        rule="*/5 * * * *",
    ),
    case(
        "give_up: a run whose node died is over",
        ROLLCRON,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:02    lose    | end 10:00 lost; wake 10:05
        10:02    told    | declared started ended failed_for_good
        """,
        rule="*/5 * * * *",
    ),
    case(
        "restart under skip: what was missed meanwhile found the run open",
        CODE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:33    lose    | end 10:00 lost; plan 10:00#2 lost at 10:33; wake 10:05
        10:33    claim   | start 10:00#2 lost; asleep
        10:34    ok      | end 10:00#2 succeeded; skip 10:05..10:30 (a run was still open); wake 10:35
        """,
        rule="*/5 * * * *",
    ),
    case(
        "interrupted by a drain: as lost, but told by the node itself",
        CODE,
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 10:05
        10:02    interrupt | end 10:00 interrupted; plan 10:00#2 lost at 10:02; wake 10:02
        10:02    claim     | start 10:00#2 lost; wake 10:05
        """,
        rule="*/5 * * * *",
    ),
    case(
        "interrupted under give_up: over",
        ROLLCRON,
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 10:05
        10:02    interrupt | end 10:00 interrupted; wake 10:05
        10:02    told      | declared started ended failed_for_good
        """,
        rule="*/5 * * * *",
    ),
    case(
        "a run that was asked to end is not restarted when its node dies",
        replace(CODE, on_lost=OnLost.RESTART),
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 10:05
        10:01    cancel 10:00 | cancel 10:00; wake 10:05
        10:02    lose         | end 10:00 lost; wake 10:05
        10:02    told         | declared started cancel_asked ended
        """,
        rule="*/5 * * * *",
    ),
]


@pytest.mark.parametrize("case", [*RETRY_CASES, *PREEMPTION_CASES, *LOST_CASES], ids=lambda case: case.id)
def test_what_follows_an_end(case: Case) -> None:
    assert case.played() == case.expected()


def ended(policy: Policy, *outcomes: Outcome) -> Life:
    """A life of runs that ended so, one every five minutes, each reported a second after its end."""
    life = Life()
    life.declare(make_job("*/5 * * * *", policy), instant("09:59:30"))
    for minute, outcome in zip(range(0, 60, 5), outcomes, strict=False):
        life.claim(instant(f"10:{minute:02}"))
        life.end(life.running[0], instant(f"10:{minute:02}:08"), outcome, instant(f"10:{minute:02}:07"))
    return life


@pytest.mark.parametrize(
    ("outcomes", "failures"),
    [
        ([Outcome.SUCCEEDED], 0),
        ([Outcome.FAILED], 1),
        ([Outcome.FAILED, Outcome.TIMED_OUT], 2),
        ([Outcome.FAILED, Outcome.FAILED, Outcome.SUCCEEDED], 0),
        ([Outcome.FAILED, Outcome.CANCELLED], 1),
    ],
)
def test_failures_in_a_row_are_counted(outcomes: list[Outcome], failures: int) -> None:
    assert ended(API, *outcomes).there.state.failures_in_row == failures


def test_the_last_failure_outlives_success_and_change() -> None:  # DECL-35
    life = ended(API, Outcome.FAILED, Outcome.SUCCEEDED)
    life.declare(make_job("*/7 * * * *", API), instant("10:06"))
    state = life.there.state
    assert (state.last_failure_at, state.last_attempt_at) == (instant("10:00:07"), instant("10:05"))
    assert state.last_run == "tests/job@2026-03-02T10:05:00Z"
    assert state.fired_count == 2


def test_a_retry_is_the_same_run_and_has_a_deadline_of_its_own() -> None:
    life = ended(replace(ROLLCRON, retry=Retry(max=1, delay="10s")), Outcome.FAILED)
    life.claim(instant("10:00:20"))
    (retry,) = life.running
    assert retry.deadline_at == instant("10:00:30")
    assert life.there.state.fired_count == 1
    assert life.there.state.last_attempt_at == instant("10:00:20")
    assert retry.run_key == life.there.state.last_run == life.ended[0].run_key


def test_an_attempt_carries_its_deadline_token_and_error() -> None:
    life = ended(ROLLCRON, Outcome.TIMED_OUT)
    (attempt,) = life.ended
    assert attempt.deadline_at == instant("10:00:10")
    assert attempt.token == life.steps[1].decision.state.token == life.steps[0].decision.state.token + 1
    assert (attempt.error, attempt.finished_at) == ("it timed_out", instant("10:00:07"))
