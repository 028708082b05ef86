"""Nothing starts too early or too late, and what was missed is caught up once, at once: rules of `timing`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from foliot.model.attempt import Outcome, Trigger
from foliot.model.policy import Misfire, MisfireMode, Overlap, OverlapMode, Retry
from foliot_proof.history import Code, Mark, Operation, Trouble
from history.case_builder import CaseBuilder
from history.twins import Twin, Twins

TWINS = Twins()


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_one_fact_decides(twin: Twin) -> None:
    assert twin.judge() == (set(), {twin.code})


@TWINS(Code.EARLY)
def a_run_starts_before_its_occurrence(*, is_legal: bool) -> CaseBuilder:
    start = "10:09:59.95" if is_legal else "10:09:59"
    return CaseBuilder().declare().runs("10:00").run("10:10", start=start).runs("10:20", "10:30")


@TWINS(Code.EARLY)
def a_retry_starts_before_its_delay(*, is_legal: bool) -> CaseBuilder:
    case = (
        CaseBuilder().declare(retry=Retry(max=1, delay="20s")).run("10:00", outcome=Outcome.FAILED, takes=10)
    )
    start = "10:00:30" if is_legal else "10:00:25"
    case.run("10:00", number=2, start=start, trigger=Trigger.RETRY)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.EARLY)
def a_retry_without_delay_spins(*, is_legal: bool) -> CaseBuilder:
    case = (
        CaseBuilder().declare(retry=Retry(max=1, delay="0s")).run("10:00", outcome=Outcome.FAILED, takes=10)
    )
    start = "10:00:11" if is_legal else "10:00:10.2"
    case.run("10:00", number=2, start=start, trigger=Trigger.RETRY)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.EARLY)
def a_request_starts_before_it_was_made(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")
    case.change(Operation.RUN_NOW, "10:15", subject="please")
    start = "10:15:01" if is_legal else "10:14:30"
    return case.run("10:15", request="please", trigger=Trigger.MANUAL, start=start)


@TWINS(Code.LATE)
def a_run_is_claimed_late(*, is_legal: bool) -> CaseBuilder:
    start = "10:10:04" if is_legal else "10:10:08"
    return CaseBuilder().declare().runs("10:00").run("10:10", start=start).runs("10:20", "10:30")


@TWINS(Code.LATE)
def one_of_two_hosts_is_enough(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().fault(Trouble.DOWN, "10:09", "10:11", host="a").runs("10:00")
    if is_legal:
        case.fault(Trouble.PARTITIONED, "10:09:30", "10:11", host="b")
    return case.run("10:10", start="10:11:03").runs("10:20", "10:30")


@TWINS(Code.LATE)
def a_run_starts_long_after_its_claim(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00")
    case.run("10:10", seen=False).runs("10:20", "10:30")
    attempt = case.attempts[1]
    case.see(Mark.START, attempt, "10:10:03" if is_legal else "10:10:20")
    return case.see(Mark.END, attempt, "10:10:30")


@TWINS(Code.LATE)
def what_waited_starts_late(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(overlap=Overlap(mode=OverlapMode.WAIT)).run("10:00", end="10:12")
    return case.run("10:10", start="10:12:01" if is_legal else "10:12:10").runs("10:20", "10:30")


@TWINS(Code.LATE)
def it_runs_beyond_its_grace(*, is_legal: bool) -> CaseBuilder:
    grace = timedelta(minutes=5 if is_legal else 1)
    case = CaseBuilder().declare(misfire=Misfire(mode=MisfireMode.SKIP, grace=grace)).outage("10:05", "10:12")
    return case.runs("10:00").run("10:10", start="10:12:05").runs("10:20", "10:30")


@TWINS(Code.LATE)
def a_retry_is_claimed_late(*, is_legal: bool) -> CaseBuilder:
    case = (
        CaseBuilder().declare(retry=Retry(max=1, delay="20s")).run("10:00", outcome=Outcome.FAILED, takes=10)
    )
    start = "10:00:31" if is_legal else "10:01:10"
    case.run("10:00", number=2, start=start, trigger=Trigger.RETRY)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.LATE)
def a_restart_is_claimed_late(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().fault(Trouble.DOWN, "10:00:10", "10:05", host="b")
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:00:45")
    start = "10:00:46" if is_legal else "10:01:30"
    case.run("10:00", number=2, start=start, trigger=Trigger.LOST)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.LATE_CATCHUP)
def a_catch_up_is_claimed_late(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().outage("10:05", "10:25").runs("10:00")
    start = "10:25:10" if is_legal else "10:26"
    case.run("10:20", start=start, covers="10:10", trigger=Trigger.CATCH_UP)
    return case.runs("10:30")


@TWINS(Code.WRONG_COALESCE)
def it_covers_what_could_have_run(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00")
    if is_legal:
        case.outage("10:05", "10:19:58")
    return case.run("10:20", start="10:20:03", covers="10:10").runs("10:30")


@TWINS(Code.WRONG_COALESCE)
def it_is_not_for_the_latest(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().outage("10:05", "10:25").runs("10:00", "10:30")
    if is_legal:
        return case.run("10:20", start="10:25:06", covers="10:10", trigger=Trigger.CATCH_UP)
    case.run("10:10", start="10:25:06", trigger=Trigger.CATCH_UP).drop("10:20", "10:25:07")
    return case


@TWINS(Code.WRONG_COALESCE)
def it_covers_though_each_has_its_own(*, is_legal: bool) -> CaseBuilder:
    mode = MisfireMode.ONCE if is_legal else MisfireMode.SKIP
    grace = timedelta(minutes=6)
    case = CaseBuilder().declare(misfire=Misfire(mode=mode, grace=grace)).outage("10:05", "10:25")
    return case.runs("10:00").run("10:20", start="10:25:06", covers="10:10").runs("10:30")


@TWINS(Code.WRONG_COALESCE)
def more_are_caught_up_than_may(*, is_legal: bool) -> CaseBuilder:
    misfire = Misfire(mode=MisfireMode.ALL, limit=3 if is_legal else 2)
    case = (
        CaseBuilder("10:55").declare(misfire=misfire).outage("10:05", "10:35").runs("10:00", "10:40", "10:50")
    )
    for slot, start in (("10:10", "10:35:06"), ("10:20", "10:35:40"), ("10:30", "10:36:15")):
        case.run(slot, start=start, trigger=Trigger.CATCH_UP)
    return case
