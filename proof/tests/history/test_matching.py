"""The blind cross-check: greedy matching is exact, and it speaks where a run is said to have started."""

from __future__ import annotations

import random
from itertools import product

import pytest

from foliot.model.attempt import Outcome
from foliot_proof.history import Mark, Trouble
from foliot_proof.history.check import open_cases
from foliot_proof.history.matching import count_matches, unmatched
from history.case_builder import CaseBuilder, clock
from history.twins import codes


def by_brute_force(targets: list[tuple[int, int]], starts: list[int]) -> int:
    """The most targets that can have a start of their own, by trying every assignment."""
    choices = [
        [None, *(i for i, start in enumerate(starts) if low <= start <= high)] for low, high in targets
    ]
    sizes = (
        len(taken)
        for assignment in product(*choices)
        if len(taken := [i for i in assignment if i is not None]) == len(set(taken))
    )
    return max(sizes, default=0)


def test_earliest_deadline_first_is_exact() -> None:
    rng = random.Random(20260302)  # noqa: S311 - chance that can be repeated
    for _ in range(3000):
        lows = [rng.randrange(12) for _ in range(rng.randint(0, 5))]
        targets = [(low, low + rng.randrange(7)) for low in lows]
        starts = [rng.randrange(15) for _ in range(rng.randint(0, 5))]
        assert count_matches(targets, starts) == by_brute_force(targets, starts), (targets, starts)


@pytest.mark.parametrize(
    ("targets", "starts", "expected"),
    [
        ([], [], 0),
        ([(0, 9)], [], 0),
        ([(0, 9)], [9], 1),
        ([(0, 9)], [10], 0),
        ([(0, 9), (0, 3)], [2, 5], 2),
        ([(0, 9), (0, 3)], [5, 6], 1),
        ([(0, 1), (0, 1), (0, 1)], [0, 1], 2),
    ],
)
def test_matches(targets: list[tuple[int, int]], starts: list[int], expected: int) -> None:
    assert count_matches(targets, starts) == expected


def test_a_hundred_thousand_targets_are_no_matter() -> None:
    targets = [(n, n + 50) for n in range(100_000)]
    assert count_matches(targets, range(100_000)) == 100_000


def blind(built: CaseBuilder) -> list[str]:
    """What the blind check says on its own; in a report it speaks only where no other rule has."""
    (case,) = open_cases(built.history())
    return [finding.text for finding in unmatched(case)]


def test_seen_starts_match_what_was_owed() -> None:
    case = CaseBuilder().declare().outage("10:05", "10:12").runs("10:00").run("10:10", start="10:12:05")
    case.run("10:20", outcome=Outcome.FAILED).run(
        "10:30", outcome=Outcome.LOST, lost_at="10:30:50", seen=False
    )
    assert blind(case) == []


@pytest.mark.parametrize("missing", [0, 1, 3])
def test_a_start_that_nobody_saw_is_missed(missing: int) -> None:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")
    del case.witness[missing * 2]
    assert blind(case) == ["blind: of 4 occurrences that were to start, 3 can have been seen to"]


def test_a_start_at_another_time_is_not_that_of_the_occurrence() -> None:
    case = CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30")
    case.witness[2] = case.witness[2]._replace(at=clock("10:15"))
    assert blind(case) == ["blind: of 4 occurrences that were to start, 3 can have been seen to"]


def test_who_claimed_in_time_may_have_been_held_up() -> None:
    case = CaseBuilder().declare().runs("10:00").fault(Trouble.PAUSED, "10:10:00.5", "10:10:18")
    case.run("10:10", seen=False).runs("10:20", "10:30")
    late = case.attempts[1]
    case.see(Mark.START, late, "10:10:18.1").see(Mark.END, late, "10:10:30")
    assert codes(case) == set()
    assert blind(case) == []
