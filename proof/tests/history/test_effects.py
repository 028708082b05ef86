"""What the jobs saw is what the ledger says, once, and not over each other: rules of `effects`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from foliot.model.attempt import Outcome, Trigger
from foliot.model.policy import OnLost, Overlap, OverlapMode, Retry, parallel
from foliot_proof.history import Bounds, Code, Finish, History, Mark, Operation, Trouble, check
from history.case_builder import JOB, CaseBuilder, clock
from history.twins import Twin, Twins, codes

TWINS = Twins()


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_one_fact_decides(twin: Twin) -> None:
    assert twin.judge() == (set(), {twin.code})


def plain() -> CaseBuilder:
    return CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")


@TWINS(Code.TOKEN_MISMATCH)
def the_witness_has_another_token(*, is_legal: bool) -> CaseBuilder:
    case = plain()
    token = case.attempts[1].token
    case.witness = [
        w._replace(token=token if is_legal else 99) if w.token == token else w for w in case.witness
    ]
    return case


@TWINS(Code.TOKEN_MISMATCH)
def the_witness_is_on_another_node(*, is_legal: bool) -> CaseBuilder:
    case = plain()
    if not is_legal:
        case.witness = [w._replace(node="b") for w in case.witness]
    return case


@TWINS(Code.DUP_EFFECT)
def one_claim_starts_twice(*, is_legal: bool) -> CaseBuilder:
    case = plain()
    if not is_legal:
        case.see(Mark.START, case.attempts[1], "10:12").see(Mark.END, case.attempts[1], "10:13")
    return case


@TWINS(Code.UNRECORDED_EFFECT)
def a_second_attempt_has_no_row(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(retry=Retry(max=1)).runs("10:00", "10:10", "10:20", "10:30")
    if not is_legal:
        ghost = case.attempts[1]._replace(number=2, token=9)
        case.see(Mark.START, ghost, "10:12").see(Mark.END, ghost, "10:13")
    return case


@TWINS(Code.FABRICATED)
def a_success_has_no_witness(*, is_legal: bool) -> CaseBuilder:
    return CaseBuilder().declare().runs("10:00", "10:10", "10:20").run("10:30", seen=is_legal)


@TWINS(Code.FABRICATED)
def a_success_was_never_seen_to_end(*, is_legal: bool) -> CaseBuilder:
    case = plain()
    return case if is_legal else _without_last_line(case)


def _without_last_line(case: CaseBuilder) -> CaseBuilder:
    case.witness.pop()
    return case


@TWINS(Code.FABRICATED)
def a_run_is_for_no_occurrence(*, is_legal: bool) -> CaseBuilder:
    return plain() if is_legal else plain().run("10:15")


@TWINS(Code.FABRICATED)
def a_run_is_for_a_time_of_pause(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00").change(Operation.PAUSE, "10:05")
    case.change(Operation.RESUME, "10:25")
    case = case.skip("10:10", "10:20") if is_legal else case.run("10:10").skip("10:20")
    return case.run("10:30")


@TWINS(Code.FABRICATED)
def nobody_asked_for_it(*, is_legal: bool) -> CaseBuilder:
    case = plain().run("10:15", request="please", trigger=Trigger.MANUAL, start="10:15:02")
    return case.change(Operation.RUN_NOW, "10:15", subject="please") if is_legal else case


@TWINS(Code.FABRICATED)
def a_backfill_goes_beyond_what_was_asked(*, is_legal: bool) -> CaseBuilder:
    case = plain().change(Operation.BACKFILL, "10:15", first=clock("10:00"), last=clock("10:00"))
    slot = "10:00" if is_legal else "10:10"
    return case.run(slot, number=2, start="10:15:02", trigger=Trigger.BACKFILL)


@TWINS(Code.FABRICATED)
def a_retry_goes_beyond_the_policy(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(retry=Retry(max=1, delay="10s")).run("10:00", outcome=Outcome.FAILED)
    outcome = Outcome.SUCCEEDED if is_legal else Outcome.FAILED
    case.run("10:00", number=2, start="10:00:40", trigger=Trigger.RETRY, outcome=outcome)
    if not is_legal:
        case.run("10:00", number=3, start="10:01:20", trigger=Trigger.RETRY)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.STALE_FINISH)
def what_was_restarted_ends_well(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().fault(Trouble.PAUSED, "10:00:10", "10:00:50", host="b")
    outcome = Outcome.LOST if is_legal else Outcome.SUCCEEDED
    case.run("10:00", node="b", end="10:00:38", outcome=outcome)
    case.run("10:00", number=2, start="10:00:40", trigger=Trigger.LOST)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.STALE_FINISH)
def a_buried_node_reports(*, is_legal: bool) -> CaseBuilder:
    case = (
        CaseBuilder()
        .declare(on_lost=OnLost.GIVE_UP)
        .fault(Trouble.PARTITIONED, "10:00:10", "10:03", host="b")
    )
    if is_legal:
        case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:00:45")
        case.see(Mark.END, case.attempts[0], "10:02")
    else:
        case.run("10:00", node="b", end="10:02")
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.STALE_FINISH)
def the_store_takes_an_ending_of_another(*, is_legal: bool) -> CaseBuilder:
    case = plain()
    attempt = case.attempts[1]
    token = attempt.token if is_legal else attempt.token - 1
    case.finishes.append(Finish(JOB, attempt.run_key, 1, token, "a", clock("10:10:30")))
    return case


@TWINS(Code.OVERLAP)
def a_run_goes_on_into_the_next(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(overlap=parallel() if is_legal else Overlap(mode=OverlapMode.REPLACE))
    return case.run("10:00", end="10:10:01").runs("10:10", "10:20", "10:30")


@TWINS(Code.OVERLAP)
def more_run_at_once_than_may(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(overlap=parallel(3 if is_legal else 2)).run("10:00", end="10:25")
    return case.run("10:10", end="10:25").run("10:20", end="10:22").run("10:30")


@TWINS(Code.OVERLAP)
def a_node_that_is_back_goes_on(*, is_legal: bool) -> History:
    end = "10:03:05" if is_legal else "10:04"
    return zombie(end).history()


def zombie(end: str) -> CaseBuilder:
    case = CaseBuilder().declare().fault(Trouble.PARTITIONED, "10:00:10", "10:03", host="b")
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:00:45")
    case.see(Mark.END, case.attempts[0], end)
    case.run("10:00", number=2, start="10:00:46", takes=300, trigger=Trigger.LOST)
    return case.runs("10:10", "10:20", "10:30")


@pytest.mark.parametrize(
    ("budget", "found"),
    [(None, set()), (1, set()), (0, {Code.ZOMBIE_OVERLAP})],
    ids=["only counted", "within the budget", "beyond the budget"],
)
def test_overlaps_with_a_node_that_was_cut_off_have_a_budget(budget: int | None, found: set[Code]) -> None:
    report = check(zombie("10:03:02").history(Bounds(zombies=budget)))
    assert len(report.zombies) == 1
    assert set(report.codes) == found


def test_an_end_that_was_never_written_is_that_of_the_process() -> None:
    """A killed job writes nothing; the restart does not overlap with it."""
    case = CaseBuilder().declare().fault(Trouble.DOWN, "10:00:10", "10:20", host="b")
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:00:45")
    case.run("10:00", number=2, start="10:00:46", trigger=Trigger.LOST).runs("10:10", "10:20", "10:30")
    report = check(case.history())
    assert not report.violations
    assert not report.zombies


def test_history_that_the_store_has_dropped_is_missed_by_nobody() -> None:
    case = CaseBuilder().declare(remembers=False).runs("10:00", "10:10").change(Operation.REMOVE, "10:15")
    dropped = replace(case.history(), attempts=())
    assert codes(dropped) == set()
    kept = replace(dropped, changes=case.history().changes[:1], final=clock("10:15") - timedelta(seconds=1))
    assert codes(kept) == {Code.UNRECORDED_EFFECT, Code.MISSED}
