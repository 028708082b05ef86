"""What looks wrong and is legal, because the logs leave it open: and what stays wrong all the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from foliot.model.attempt import Outcome, Trigger
from foliot.model.policy import FirstSeen, OnChange, OnLost, Overlap, OverlapMode, parallel
from foliot_proof.history import (
    Code,
    Forgotten,
    History,
    Host,
    Identity,
    Operation,
    Trouble,
    Verdict,
    check,
)
from history.case_builder import JOB, CaseBuilder, clock
from history.twins import codes

# -- definitions -----------------------------------------------------------------------------------


def paused(verdict: Verdict) -> CaseBuilder:
    """A pause that may or may not have taken effect, from 10:05 on."""
    case = CaseBuilder().declare().runs("10:00").change(Operation.PAUSE, "10:05", verdict=verdict)
    return case.change(Operation.RESUME, "10:25").run("10:30")


@pytest.mark.parametrize(
    ("verdict", "ran", "found"),
    [
        (Verdict.APPLIED, False, set()),
        (Verdict.APPLIED, True, {Code.FABRICATED}),
        (Verdict.UNKNOWN, False, set()),
        (Verdict.UNKNOWN, True, set()),
        (Verdict.REFUSED, False, {Code.MISSED}),
        (Verdict.REFUSED, True, set()),
    ],
)
def test_a_pause_whose_answer_was_lost_leaves_both_open(
    verdict: Verdict,
    ran: bool,  # noqa: FBT001 - a column of the table
    found: set[Code],
) -> None:
    case = paused(verdict)
    assert codes(case.runs("10:10", "10:20") if ran else case) == found


def test_what_is_open_may_still_not_happen_twice() -> None:
    case = paused(Verdict.UNKNOWN).runs("10:10", "10:20").skip("10:10")
    assert codes(case) == {Code.SKIP_AND_RUN}


@pytest.mark.parametrize(("asked", "answered"), [("10:09:58", "10:10:03"), ("10:10", "10:10")])
def test_a_change_at_the_moment_of_an_occurrence_leaves_it_open(asked: str, answered: str) -> None:
    case = CaseBuilder().declare().runs("10:00")
    case.change(Operation.PAUSE, asked, answered_at=clock(answered))
    assert codes(case) == set()
    assert codes(case.run("10:10")) == set()
    assert check(case.history()).measures.excuses == {"its definition was unsure": 1}


def test_a_pause_before_anybody_could_start_it_leaves_no_trace() -> None:
    case = CaseBuilder().declare().runs("10:00").outage("10:05", "10:30").change(Operation.PAUSE, "10:15")
    assert codes(case) == set()
    assert check(case.history()).measures.excuses == {"a change came before anybody could take it": 1}


def test_changes_at_the_same_time_may_have_come_in_any_order() -> None:
    case = CaseBuilder().declare().runs("10:00")
    case.change(Operation.PAUSE, "10:05", answered_at=clock("10:06"))
    case.change(Operation.RESUME, "10:05:30", answered_at=clock("10:06:30"))
    assert codes(case) == set()
    assert codes(case.runs("10:10", "10:20", "10:30")) == set()


@pytest.mark.parametrize(
    ("first_seen", "slot", "found"),
    [
        (FirstSeen.WAIT, None, set()),
        (FirstSeen.WAIT, "09:50", {Code.FABRICATED}),
        (FirstSeen.NOW, "09:50", set()),
        (FirstSeen.NOW, None, {Code.MISSED}),
        (FirstSeen.IF_MATCHING, None, set()),
        (FirstSeen.IF_MATCHING, "09:50", {Code.FABRICATED}),
    ],
)
def test_a_new_job_may_owe_its_latest_occurrence(
    first_seen: FirstSeen, slot: str | None, found: set[Code]
) -> None:
    case = CaseBuilder().declare("09:55", first_seen=first_seen).runs("10:00", "10:10", "10:20", "10:30")
    assert codes(case.run(slot, start="09:55:03") if slot else case) == found


def test_the_present_minute_matches() -> None:
    case = CaseBuilder().declare("10:00:20", first_seen=FirstSeen.IF_MATCHING).runs("10:10", "10:20", "10:30")
    assert codes(case) == {Code.MISSED}
    assert codes(case.run("10:00", start="10:00:21")) == set()


@pytest.mark.parametrize("remembers", [True, False])
def test_only_a_job_that_forgets_may_run_again_when_it_comes_back(remembers: bool) -> None:  # noqa: FBT001
    case = CaseBuilder().declare(first_seen=FirstSeen.IF_MATCHING, remembers=remembers).run("10:00", takes=5)
    case.change(Operation.REMOVE, "10:00:20")
    case.declare("10:00:40", first_seen=FirstSeen.IF_MATCHING, remembers=remembers)
    case.run("10:00", start="10:00:41").runs("10:10", "10:20", "10:30")
    newest = replace(case.history(), attempts=tuple(case.history().attempts[1:]))
    found = codes(newest)
    assert (found == set()) is not remembers


def test_a_changed_rule_counts_from_the_last_attempt_if_its_policy_says_so() -> None:
    case = CaseBuilder().declare(on_change=OnChange.LAST).runs("10:00")
    case.declare("10:09", rule="*/4 * * * *", on_change=OnChange.LAST)
    rest = [f"10:{minute}" for minute in range(12, 36, 4)]
    assert codes(case.runs(*rest)) == {Code.MISSED}
    assert codes(case.run("10:08", start="10:09:01", covers="10:04")) == set()


def test_a_changed_rule_counts_from_now_otherwise() -> None:
    case = CaseBuilder().declare(on_change=OnChange.NOW).runs("10:00").declare("10:09", rule="*/4 * * * *")
    rest = [f"10:{minute}" for minute in range(12, 36, 4)]
    assert codes(case.runs(*rest)) == set()
    assert codes(case.run("10:08", start="10:09:01")) == {Code.FABRICATED}


def test_no_occurrence_is_owed_beyond_the_end_of_a_job() -> None:
    case = CaseBuilder().declare().runs("10:00", "10:10")
    definition = case.changes[0].definition
    assert definition is not None
    case.changes[0] = case.changes[0]._replace(definition=definition._replace(repeat_until=clock("10:10")))
    assert codes(case) == set()
    assert codes(case.run("10:20")) == {Code.FABRICATED}


# -- history that is gone --------------------------------------------------------------------------


@pytest.mark.parametrize("remembers", [True, False])
def test_a_job_that_removes_itself_takes_its_history_along_if_it_forgets(*, remembers: bool) -> None:
    case = CaseBuilder().declare(rule="@once 2026-03-02T10:10:00+00:00", remembers=remembers)
    definition = case.changes[0].definition
    assert definition is not None
    case.changes[0] = case.changes[0]._replace(definition=definition._replace(auto_remove=True))
    assert codes(case) == {Code.MISSED}
    gone = replace(case.run("10:10").history(), attempts=())
    assert (codes(gone) == set()) is not remembers


def test_what_was_pruned_is_not_missed() -> None:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")
    pruned = replace(case.history(), attempts=case.history().attempts[2:])
    assert codes(pruned) == {Code.MISSED, Code.UNRECORDED_EFFECT}
    assert codes(replace(pruned, forgotten=(Forgotten(JOB, clock("10:15")),))) == set()
    blind = replace(pruned, forgotten=(Forgotten(JOB, clock("10:15")),), witness=pruned.witness[4:])
    assert codes(blind) == set()
    assert check(blind).measures.excuses == {"its history was dropped": 2}


def test_a_run_that_was_pruned_may_have_been_in_the_way() -> None:
    case = (
        CaseBuilder().declare().runs("10:00", "10:20", "10:30").skip("10:10", reason="a run was still open")
    )
    assert codes(case) == {Code.WRONG_SKIP}
    for until, found in (("10:15", set()), ("10:05", {Code.WRONG_SKIP})):
        assert codes(replace(case.history(), forgotten=(Forgotten(JOB, clock(until)),))) == found


@pytest.mark.parametrize(
    ("first_seen", "found"),
    [(FirstSeen.IF_MATCHING, set()), (FirstSeen.WAIT, {Code.FABRICATED}), (FirstSeen.NOW, {Code.FABRICATED})],
)
def test_a_job_that_never_ran_may_run_for_the_minute_in_which_its_rule_changes(
    first_seen: FirstSeen, found: set[Code]
) -> None:
    case = CaseBuilder().declare(rule="0 12 * * *")
    case.declare("10:00:09", first_seen=first_seen, on_change=OnChange.LAST)
    assert codes(case.run("10:00", start="10:00:10").runs("10:10", "10:20", "10:30")) == found


# -- nodes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("up", "found"),
    [(4, set()), (40, {Code.LATE})],
    ids=["a sliver before a crash owes nothing", "a while does"],
)
def test_ability_must_last(up: float, found: set[Code]) -> None:
    case = CaseBuilder(hosts=("a",)).declare().runs("10:00").fault(Trouble.DOWN, "10:05", "10:12")
    case.fault(Trouble.DOWN, clock("10:12") + timedelta(seconds=5 + up), "10:15")
    assert codes(case.run("10:10", start="10:15:02").runs("10:20", "10:30")) == found


@pytest.mark.parametrize(("slack", "found"), [(0, {Code.LATE}), (8, set())])
def test_a_fault_may_have_lasted_as_long_as_its_slack_says(slack: int, found: set[Code]) -> None:
    case = CaseBuilder(hosts=("a",)).declare().runs("10:00")
    case.fault(Trouble.PARTITIONED, "10:09", "10:10:01", slack=timedelta(seconds=slack))
    assert codes(case.run("10:10", start="10:10:13").runs("10:20", "10:30")) == found


def test_a_store_that_is_down_excuses_everybody() -> None:
    case = CaseBuilder().declare().runs("10:00").fault(Trouble.DOWN, "10:09", "10:12", host=None)
    assert codes(case.run("10:10", start="10:12:03").runs("10:20", "10:30")) == set()


def test_a_node_that_was_asked_to_stop_claims_no_more() -> None:
    case = CaseBuilder(hosts=("a",)).declare().runs("10:00").fault(Trouble.DRAINING, "10:09", "10:12")
    assert codes(case.run("10:10", start="10:12:03").runs("10:20", "10:30")) == set()


def test_the_wall_clock_of_a_host_excuses_nothing() -> None:
    case = CaseBuilder().declare().runs("10:00")
    case.fault(Trouble.CLOCK, "10:05", "10:15", offset=timedelta(hours=1))
    assert codes(case.run("10:10", start="10:10:20").runs("10:20", "10:30")) == {Code.LATE}


def test_while_the_clock_of_the_store_is_wrong_times_prove_nothing_but_doubles_do() -> None:
    case = CaseBuilder("11:00").declare().runs("10:00")
    case.fault(Trouble.CLOCK, "10:05", "10:12", host=None, offset=timedelta(minutes=10))
    case.run("10:10", start="10:05:30").run("10:20", start="10:10:30").runs("10:30", "10:40", "10:50")
    assert codes(case) == set()
    assert codes(case.run("10:20", number=1, start="10:25", token=99)) >= {Code.DUP_CLAIM}


def test_a_node_is_known_by_its_host() -> None:
    case = CaseBuilder().declare(on_lost=OnLost.GIVE_UP).fault(Trouble.DOWN, "10:00:10", "10:05", host="b")
    case.run("10:00", node="n7", outcome=Outcome.LOST, lost_at="10:00:45").runs("10:10", "10:20", "10:30")
    assert codes(case) == {Code.UNEXPLAINED_LOSS}
    assert codes(case.history(identities=(Identity("n7", "b"),))) == set()


@pytest.mark.parametrize(("slots", "found"), [(1, set()), (2, {Code.LATE})])
def test_a_host_whose_slots_are_taken_cannot_start_more(slots: int, found: set[Code]) -> None:
    case = (
        CaseBuilder()
        .declare(overlap=parallel())
        .runs("10:00", "10:20", "10:30")
        .declare(job="s/other", rule="9 * * * *")
    )
    case.run("10:09", takes=120, job="s/other").run("10:10", start="10:11:01")
    crowded = case.history(hosts=(Host("a", (("default", slots),)), Host("b", (("other", 5),))))
    assert codes(crowded) == found


def test_what_another_node_has_released_is_learnt_by_the_next_poll() -> None:
    """Host b ends the run and stops at once: nobody else need know before its next poll."""
    case = CaseBuilder().declare(overlap=Overlap(mode=OverlapMode.WAIT)).run("10:00", node="b", end="10:12")
    case.fault(Trouble.DRAINING, "10:11:59", "10:14", host="b").runs("10:20", "10:30")
    assert codes(_with(case, "10:12:25")) == set()
    assert codes(_with(case, "10:12:50")) == {Code.LATE}


def _with(case: CaseBuilder, start: str) -> History:
    told = CaseBuilder()
    told.__dict__.update(
        {name: list(value) if isinstance(value, list) else value for name, value in vars(case).items()}
    )
    return told.run("10:10", start=start).history()


# -- manual runs -----------------------------------------------------------------------------------


def test_a_person_may_ask_while_the_job_is_paused() -> None:
    case = CaseBuilder().declare().runs("10:00").change(Operation.PAUSE, "10:05")
    case.change(Operation.RUN_NOW, "10:12", subject="please")
    assert codes(case.run("10:12", start="10:12:05", request="please", trigger=Trigger.MANUAL)) == set()


def test_a_run_that_is_still_open_at_the_end_owes_nothing_yet() -> None:
    case = CaseBuilder().declare().runs("10:00").run("10:10", outcome=None)
    assert codes(case) == set()
