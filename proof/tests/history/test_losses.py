"""What a node held when it died is found, explained, and followed up: rules of `losses`."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.model.attempt import AttemptState, Outcome, Trigger
from foliot.model.policy import OnLost, Overlap, OverlapMode, Retry, parallel
from foliot_proof.history import Code, Operation, Trouble
from history.case_builder import CaseBuilder, clock
from history.twins import Twin, Twins

TWINS = Twins()


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_one_fact_decides(twin: Twin) -> None:
    assert twin.judge() == (set(), {twin.code})


def one_loss(lost_at: str = "10:00:45", **policy: Any) -> CaseBuilder:
    """Host b dies in the middle of a run."""
    case = CaseBuilder().declare(**policy).fault(Trouble.DOWN, "10:00:10", "10:05", host="b")
    return case.run("10:00", node="b", outcome=Outcome.LOST, lost_at=lost_at)


@TWINS(Code.STUCK)
def a_loss_is_found_too_late(*, is_legal: bool) -> CaseBuilder:
    case = one_loss("10:00:48" if is_legal else "10:02", on_lost=OnLost.GIVE_UP)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.STUCK)
def a_dead_nodes_attempt_stays_open(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20").run("10:30", node="b", outcome=None)
    if not is_legal:
        case.fault(Trouble.DOWN, "10:30:10", "10:31", host="b")
    return case


@TWINS(Code.STUCK)
def a_buried_nodes_attempt_stays_open(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20").run("10:30", node="b", outcome=None)
    return case.fault(Trouble.PARTITIONED, "10:30:10", "10:30:48" if is_legal else "10:32", host="b")


@TWINS(Code.STUCK)
def an_end_is_never_recorded(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")
    if not is_legal:
        open_ = {"state": AttemptState.RUNNING, "outcome": None, "finished_at": None}
        case.attempts[-1] = case.attempts[-1]._replace(**open_)  # type: ignore[arg-type]  # names are checked
    return case


@TWINS(Code.STUCK)
def a_claim_is_never_started(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder("10:30:38" if is_legal else "10:35").declare()
    return case.runs("10:00", "10:10", "10:20").run("10:30", outcome=None, seen=False)


@TWINS(Code.STUCK)
def a_run_goes_on_beyond_its_deadline(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20").run("10:30", outcome=None)
    case.attempts[-1] = case.attempts[-1]._replace(deadline_at=clock("10:35" if is_legal else "10:30:30"))
    return case


@TWINS(Code.STUCK)
def what_is_pending_never_starts(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(overlap=Overlap(mode=OverlapMode.WAIT)).runs("10:00", "10:10")
    case.run("10:20", end="10:34:53" if is_legal else "10:30:10").drop("10:30", "10:30")
    waiting = case.attempts[-1]._replace(state=AttemptState.PENDING, outcome=None, finished_at=None)
    case.attempts[-1] = waiting
    return case


@TWINS(Code.STUCK)
def what_a_node_holds_that_stands_still_is_found_late(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(on_lost=OnLost.GIVE_UP).fault(Trouble.PAUSED, "10:00:10", "10:05", host="b")
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:00:45" if is_legal else "10:04:50")
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.UNEXPLAINED_LOSS)
def a_healthy_node_loses(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(on_lost=OnLost.GIVE_UP)
    case.fault(Trouble.PAUSED, "10:00:10", "10:00:50" if is_legal else "10:00:18", host="b")
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:00:45")
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.UNEXPLAINED_LOSS)
def an_outage_is_long_over(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(on_lost=OnLost.GIVE_UP)
    case.fault(Trouble.PARTITIONED, "10:00:10", "10:00:40", host=None)
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:01:20" if is_legal else "10:01:30")
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.UNEXPLAINED_LOSS)
def somebody_could_have_found_it_sooner(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(on_lost=OnLost.GIVE_UP)
    case.fault(Trouble.PARTITIONED, "10:00:10", "10:00:40", host=None)
    for begin, end in (("10:01:10", "10:01:15"), ("10:01:45", "10:01:50")) if is_legal else ():
        case.fault(Trouble.PARTITIONED, begin, end, host=None)  # each too short to be a cause of its own
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:02:20")
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.ORPHAN_DROPPED)
def a_loss_is_not_restarted(*, is_legal: bool) -> CaseBuilder:
    case = one_loss(on_lost=OnLost.GIVE_UP if is_legal else OnLost.RESTART)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.ORPHAN_DROPPED)
def an_interrupted_run_is_not_restarted(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare().fault(Trouble.DRAINING, "10:00:10", "10:05", host="b")
    case.run("10:00", node="b", outcome=Outcome.INTERRUPTED, takes=20)
    if is_legal:
        case.run("10:00", number=2, start="10:00:50", trigger=Trigger.LOST)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.ORPHAN_DROPPED)
def nobody_cancelled_what_was_lost(*, is_legal: bool) -> CaseBuilder:
    case = one_loss().runs("10:10", "10:20", "10:30")
    subject = case.attempts[0 if is_legal else 1].run_key
    return case.change(Operation.CANCEL, "10:00:20", subject=subject)


@TWINS(Code.RETRY_DROPPED)
def a_failure_is_not_retried(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(retry=Retry(max=0 if is_legal else 1)).run("10:00", outcome=Outcome.FAILED)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.RETRY_DROPPED)
def only_the_next_occurrence_takes_its_place(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(
        retry=Retry(max=None, is_preempted=is_legal), overlap=Overlap(mode=OverlapMode.WAIT)
    )
    case.run("10:00", end="10:11", outcome=Outcome.FAILED).run("10:10", start="10:11:01")
    return case.runs("10:20", "10:30")


@TWINS(Code.RETRY_DROPPED)
def a_restart_uses_up_no_retry(*, is_legal: bool) -> CaseBuilder:
    case = one_loss(retry=Retry(max=1, delay="10s"))
    case.run("10:00", number=2, start="10:00:50", trigger=Trigger.LOST, outcome=Outcome.FAILED, takes=5)
    if is_legal:
        case.run("10:00", number=3, start="10:01:05", trigger=Trigger.RETRY)
    return case.runs("10:10", "10:20", "10:30")


@TWINS(Code.RETRY_NOT_PREEMPTED)
def a_retry_comes_after_the_next_occurrence(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(
        retry=Retry(max=1, delay="10m", is_preempted=not is_legal), overlap=parallel()
    )
    case.run("10:00", outcome=Outcome.FAILED).runs("10:10")
    case.run("10:00", number=2, start="10:10:31", trigger=Trigger.RETRY)
    return case.runs("10:20", "10:30")


@TWINS(Code.RETRY_NOT_PREEMPTED)
def a_retry_comes_though_an_occurrence_came_during_the_run(*, is_legal: bool) -> CaseBuilder:
    case = CaseBuilder().declare(
        retry=Retry(max=1, delay="10s", is_preempted=not is_legal), overlap=Overlap(mode=OverlapMode.WAIT)
    )
    case.run("10:00", end="10:10:20", outcome=Outcome.FAILED)
    case.run("10:10", start="10:10:21", takes=5)
    case.run("10:00", number=2, start="10:10:30", trigger=Trigger.RETRY)
    return case.runs("10:20", "10:30")
