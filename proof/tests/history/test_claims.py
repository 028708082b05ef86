"""Each occurrence ends in exactly one way, and each attempt is claimed once: rules of `claims`."""

from __future__ import annotations

import pytest

from foliot.model.attempt import Outcome, Trigger
from foliot.model.policy import Misfire, MisfireMode
from foliot_proof.history import Code, Mark, Operation, Trouble, Verdict
from history.case_builder import CaseBuilder, clock
from history.twins import Twin, Twins, codes

TWINS = Twins()


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_one_fact_decides(twin: Twin) -> None:
    assert twin.judge() == (set(), {twin.code})


@TWINS(Code.MISSED)
def an_occurrence_has_no_trace(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:20", "10:30")
    return case.run("10:10") if is_legal else case


@TWINS(Code.MISSED)
def what_an_outage_missed_has_no_trace(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(misfire=Misfire(mode=MisfireMode.SKIP)).outage("10:05", "10:15")
    case.runs("10:00", "10:20", "10:30")
    return case.skip("10:10") if is_legal else case


@TWINS(Code.MISSED)
def what_came_during_a_run_has_no_trace(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().run("10:00", takes=700).runs("10:20", "10:30")
    return case.skip("10:10", reason="a run was still open") if is_legal else case


@TWINS(Code.MISSED)
def a_removed_job_leaves_something_out(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00").outage("10:05", "10:25").change(Operation.REMOVE, "10:15")
    return case.skip("10:10", reason="the job was removed") if is_legal else case


@TWINS(Code.MISSED)
def a_request_has_no_run(*, is_legal: bool) -> CaseBuilder:
    verdict = Verdict.UNKNOWN if is_legal else Verdict.APPLIED
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")
    return case.change(Operation.RUN_NOW, "10:15", subject="please", verdict=verdict)


@TWINS(Code.DUP_SLOT)
def two_runs_cover_an_occurrence(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:30").outage("10:05", "10:25")
    case.run("10:20", start="10:25:06", covers="10:10", trigger=Trigger.CATCH_UP)
    return case if is_legal else case.run("10:10", start="10:25:38", trigger=Trigger.CATCH_UP)


@TWINS(Code.DUP_SLOT)
def an_outage_is_caught_up_twice(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:30").outage("10:05", "10:25")
    if is_legal:
        return case.run("10:20", start="10:25:06", covers="10:10", trigger=Trigger.CATCH_UP)
    case.run("10:10", start="10:25:06", takes=1, trigger=Trigger.CATCH_UP)
    return case.run("10:20", start="10:25:08", trigger=Trigger.CATCH_UP)


@TWINS(Code.SKIP_AND_RUN)
def what_ran_is_skipped_as_well(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")
    return case.skip("10:05" if is_legal else "10:10")


@TWINS(Code.WRONG_SKIP)
def a_skip_has_no_cause(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().run("10:00", takes=700 if is_legal else 30).runs("10:20", "10:30")
    return case.skip("10:10", reason="a run was still open")


@TWINS(Code.WRONG_SKIP)
def a_policy_that_catches_up_skips(*, is_legal: bool) -> CaseBuilder:
    mode = MisfireMode.SKIP if is_legal else MisfireMode.ONCE
    case = CaseBuilder().declare(misfire=Misfire(mode=mode)).outage("10:05", "10:15")
    return case.runs("10:00", "10:20", "10:30").skip("10:10")


@TWINS(Code.WRONG_SKIP)
def a_job_that_has_run_is_taken_for_new(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(before_first_run=False).runs("10:20", "10:30")
    if is_legal:
        return case.outage("09:58", "10:15").skip("10:00", "10:10")
    return case.outage("10:05", "10:15").run("10:00").skip("10:10")


@TWINS(Code.DUP_CLAIM)
def an_attempt_has_two_rows(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")
    if not is_legal:
        case.attempts.append(case.attempts[1])
    return case


@TWINS(Code.DUP_CLAIM)
def two_claims_start_one_attempt(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")
    if not is_legal:
        case.see(Mark.START, case.attempts[1], "10:11", token=77, node="b")
        case.see(Mark.END, case.attempts[1], "10:12", token=77, node="b")
    return case


@TWINS(Code.DUP_CLAIM)
def the_next_attempt_begins_before_the_loss(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().fault(Trouble.DOWN, "10:01", "10:30", host="b")
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:01:35")
    start = "10:01:36" if is_legal else "10:01:10"
    return case.run("10:00", number=2, start=start, trigger=Trigger.LOST).runs("10:10", "10:20", "10:30")


@TWINS(Code.TOKEN_NOT_MONOTONIC)
def a_later_claim_has_a_lower_token(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare()
    for slot, token in (("10:00", 1), ("10:10", 2 if is_legal else 3), ("10:20", 3 if is_legal else 2)):
        case.run(slot, token=token)
    return case.run("10:30", token=4)


@TWINS(Code.TOKEN_NOT_MONOTONIC)
def two_claims_share_a_token(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().run("10:00", token=1).run("10:10", token=2 if is_legal else 1)
    return case.run("10:20", token=3).run("10:30", token=4)


def test_a_skip_may_be_filled_in_by_a_person_later() -> None:
    case = (
        CaseBuilder().declare(misfire=Misfire(mode=MisfireMode.SKIP)).outage("10:05", "10:15").skip("10:10")
    )
    case.runs("10:00", "10:20").change(Operation.BACKFILL, "10:22", first=clock("10:05"), last=clock("10:15"))
    assert codes(case.run("10:10", start="10:22:30", trigger=Trigger.BACKFILL).runs("10:30")) == set()
