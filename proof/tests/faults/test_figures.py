"""What a trial measures, and which of it is too slow."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot_proof.faults.fault import InjectedFault, Kind
from foliot_proof.faults.figures import Figures, measure
from foliot_proof.faults.witness_log import Note, Times
from foliot_proof.history.facts import Bounds, Fault, History, Host, Identity, Mark, Trouble, Witness

TIMES = Times()
T0 = TIMES.now()
BOUNDS = Bounds(lease=timedelta(seconds=3), beat=timedelta(seconds=1), heal=timedelta(seconds=2))


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def note(what: str, seconds: float, host: str = "a", since: float = 0.0, **facts: Any) -> Note:
    reading = TIMES._reading + since
    return Note(what, host, at(seconds), {"since": reading, **facts})


def injury(
    kind: Kind, begin: float, end: float, host: str | None = "a", *, words: str = "", bites: int = 1
) -> InjectedFault:
    return InjectedFault(kind, host, at(begin), at(end), words, bites)


def attempt(claimed: float, finished: float | None, number: int = 1, **facts: Any) -> Attempt:
    return Attempt(
        job="app/x", scheduled_for=at(0), number=number, token=number, state=AttemptState.ENDED,
        trigger=Trigger.SCHEDULE, claimed_at=at(claimed),
        finished_at=None if finished is None else at(finished), **facts,
    )  # fmt: skip


def history(*attempts: Attempt, faults: tuple[Fault, ...] = (), witness: tuple[Witness, ...] = ()) -> History:
    nodes = Identity("n-a", "a"), Identity("n-b", "b")
    return History(
        final=at(60), bounds=BOUNDS, hosts=(Host("a"), Host("b")), changes=(), attempts=attempts,
        faults=faults, identities=nodes, witness=witness,
    )  # fmt: skip


def test_who_was_cut_off_is_back_with_the_first_claim() -> None:
    injected = [injury(Kind.CUT, 10, 12), injury(Kind.RESTART, 20, 22, host=None)]
    notes = [note("trouble", 11), note("back", 12.5), note("back", 23), note("back", 24, host="b")]
    found = measure(history(), injected, notes, TIMES)
    assert found.felt == {Kind.CUT: 1, Kind.RESTART: 0}
    assert found.back == {Kind.CUT: [0.5], Kind.RESTART: [1.0, 2.0]}


@pytest.mark.parametrize("other", [injury(Kind.KILL, 12.2, 12.2), injury(Kind.RESTART, 11, 13, host=None)])
def test_where_two_faults_meet_nothing_is_measured(other: InjectedFault) -> None:
    found = measure(history(), [injury(Kind.CUT, 10, 12), other], [note("back", 12.5)], TIMES)
    assert Kind.CUT not in found.back


def test_a_fault_that_hurt_nobody_is_none() -> None:
    found = measure(history(), [injury(Kind.CUT, 10, 12, bites=0)], [note("back", 13)], TIMES)
    assert (found.felt, found.back) == ({}, {})


@pytest.mark.parametrize(
    ("troubled", "found"), [(None, {Kind.KILL: [4.5]}), ("b", {})], ids=["by one who was well", "by nobody"]
)
def test_a_run_that_was_lost_is_taken_over(troubled: str | None, found: dict[Kind, list[float]]) -> None:
    lost = attempt(9, 14, node="n-a", outcome=Outcome.LOST)
    again = attempt(14.5, 15, number=2, node="n-b", outcome=Outcome.SUCCEEDED)
    faults = (Fault(Trouble.PARTITIONED, at(11), at(12), troubled),) if troubled else ()
    measured = measure(history(lost, again, faults=faults), [injury(Kind.KILL, 10, 10)], [], TIMES)
    assert measured.recovered == found


def test_who_has_to_wait_its_turn_is_not_measured() -> None:
    lost = attempt(9, 14, node="n-a", outcome=Outcome.LOST)
    again = attempt(18, 19, number=2, node="n-b", outcome=Outcome.SUCCEEDED)
    other = attempt(13, 17, node="n-b", outcome=Outcome.SUCCEEDED)._replace(scheduled_for=at(12))
    found = measure(history(lost, again, other), [injury(Kind.KILL, 10, 10)], [], TIMES)
    assert found.recovered == {}


OUTAGE = injury(Kind.RESTART, 10, 14, host=None)


@pytest.mark.parametrize(
    ("injected", "fault", "is_robbed"),
    [
        ([OUTAGE], Trouble.PARTITIONED, True),
        ([OUTAGE], Trouble.PAUSED, False),
        ([OUTAGE], Trouble.DOWN, False),
        ([OUTAGE, injury(Kind.CUT, 11, 12)], Trouble.PARTITIONED, False),
        ([OUTAGE, injury(Kind.CUT, 11, 12, host="b")], Trouble.PARTITIONED, True),
        ([injury(Kind.RESTART, 20, 24, host=None)], Trouble.PARTITIONED, False),
    ],
)
def test_an_outage_of_the_store_takes_nothing_from_a_node_that_lives(
    injected: list[InjectedFault], fault: Trouble, *, is_robbed: bool
) -> None:
    lost = attempt(9, 15, node="n-a", outcome=Outcome.LOST)
    found = measure(history(lost, faults=(Fault(fault, at(11), at(12), "a"),)), injected, [], TIMES)
    assert bool(found.robbed) == is_robbed
    assert any("by an outage" in problem for problem in found.problems(is_server=True)) == is_robbed


@pytest.mark.parametrize(
    ("seconds", "word"),
    [
        (14.1, "by an outage"),
        (15.3, "by an outage"),
        (15.6, "did not renew for 1.6 s after the store was back"),
        (20, "did not renew for 6.0 s after"),
        (200, "did not renew for 186.0 s after"),
    ],
)
def test_who_does_not_renew_in_the_time_that_it_has_is_rightly_buried_and_too_slow(
    seconds: float, word: str
) -> None:
    lost = attempt(9, seconds, node="n-a", outcome=Outcome.LOST)
    found = measure(history(lost), [OUTAGE], [], TIMES)
    (problem,) = found.problems(is_server=True, is_strict=True)
    assert word in problem
    is_told = bool(list(found.problems(is_server=True)))  # if not strictly: a busy machine is late, too
    assert is_told == ("by an outage" in word)


@pytest.mark.parametrize(
    ("lost", "injected", "faults"),
    [
        ((9, 20, "n-a"), [OUTAGE], (Fault(Trouble.PAUSED, at(15), at(16), "a"),)),
        ((9, 20, "n-a"), [OUTAGE, injury(Kind.CUT, 16, 17)], ()),
        ((15, 20, "n-a"), [OUTAGE], ()),
        ((9, 20, "n-a"), [injury(Kind.RESTART, 21, 24, host=None)], ()),
    ],
    ids=["it stood still", "it was cut off", "claimed after the outage", "lost before the outage"],
)
def test_what_something_else_may_have_cost_is_not_laid_to_slowness(
    lost: tuple[float, float, str], injected: list[InjectedFault], faults: tuple[Fault, ...]
) -> None:
    claimed, finished, node = lost
    told = history(attempt(claimed, finished, node=node, outcome=Outcome.LOST), faults=faults)
    assert measure(told, injected, [], TIMES).unrenewed == {}


def test_slowness_is_counted_from_the_last_outage() -> None:
    again = injury(Kind.RESTART, 30, 34, host=None)
    lost = attempt(9, 37, node="n-a", outcome=Outcome.LOST)
    (seconds,) = measure(history(lost), [OUTAGE, again], [], TIMES).unrenewed.values()
    assert seconds == pytest.approx(3)


def test_a_claim_whose_answer_was_lost_is_settled_when_it_starts_or_ends() -> None:
    cut = injury(Kind.CUTCOMMIT, 10, 10, words="COMMIT of a claim: its answer")
    started = attempt(9.9, 20, node="n-a", outcome=Outcome.SUCCEEDED)
    seen = Witness(Mark.START, "app/x", started.run_key, 1, 1, "n-a", at(11.25))
    assert measure(history(started, witness=(seen,)), [cut], [], TIMES).settled == (1.25,)
    elsewhere = attempt(9.9, 20, node="n-b", outcome=Outcome.SUCCEEDED)
    assert measure(history(elsewhere), [cut], [], TIMES).settled == ()
    never = attempt(9.9, None, node="n-a")
    (problem,) = measure(history(never), [cut], [], TIMES).problems(is_server=True)
    assert "nothing of it known" in problem


def test_the_slowest_call_is_one_in_which_the_process_did_not_stand_still() -> None:
    notes = [note("took", 3, since=2.5, verb="claim"), note("took", 9, since=4, verb="claim")]
    paused = Fault(Trouble.PAUSED, at(5), at(8), "a")
    assert measure(history(faults=(paused,)), [], notes, TIMES).slowest == {"claim": 0.5}
    assert measure(history(), [], notes, TIMES).slowest == {"claim": 5.0}


def test_failed_calls_are_explained_by_somebodys_fault_or_by_none() -> None:
    injected = [injury(Kind.CUT, 10, 12), injury(Kind.STOP, 30, 36, host="b")]
    notes = [note("trouble", 11), note("trouble", 31), note("trouble", 50)]
    assert measure(history(), injected, notes, TIMES).blame == {"own": 1, "of others": 1, "none known": 1}


@pytest.mark.parametrize(
    ("figures", "word"),
    [
        (Figures(lease=3, back={"cut": [0.5, 5.5]}), "first claim 5.5 s after cut"),
        (Figures(lease=3, recovered={"kill": [8.5]}), "taken over 8.5 s after kill"),
        (Figures(lease=3, settled=(9.0,)), "nothing of it known"),
        (Figures(lease=3, slowest={"claim": 1.9}), "claim took 1.90 s, instead of 0.75"),
    ],
)
def test_what_takes_longer_than_promised_is_a_problem(figures: Figures, word: str) -> None:
    (problem,) = figures.problems(is_server=True)
    assert word in problem


def test_what_is_in_time_is_none_and_all_is_told() -> None:
    figures = Figures(
        lease=3, felt={"cut": 2}, back={"cut": [0.5, 4.5]}, recovered={"kill": [7.5]}, settled=(1.0,),
        slowest={"claim": 0.75, "reconcile": 1.2}, blame={"own": 3},
    )  # fmt: skip
    assert list(figures.problems(is_server=True)) == []
    text = "\n".join(figures.lines())
    for part in ("cut 4.5, most 4.5 s", "kill 7.5", "within 1.00 s", "claim 0.75 s, 1.00 of", "3 own"):
        assert part in text
    assert figures.as_json()["back"] == {"cut": {"count": 2, "p50": 4.5, "most": 4.5}}
