"""The checker finds what it should: legal histories, spoiled in forty ways, are found out by a fitting code.

FAULTS R15: at least 95 of 100 mutants that are not equivalent to a legal history are caught.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from foliot_proof.history import Code, check
from history.legal import draw_history
from history.mutants import MUTATIONS, Spoiled, spoil

HISTORIES = 36
LEAST_MUTANTS = 500
LEAST_CAUGHT = 0.95


def mutants() -> Iterator[Spoiled]:
    for seed in range(HISTORIES):
        history = draw_history(seed, hours=1, is_stormy=seed % 2 == 1)
        yield from spoil(history, seed)


@pytest.fixture(scope="module")
def verdicts() -> list[tuple[Spoiled, set[Code]]]:
    return [(mutant, set(check(mutant.history).codes)) for mutant in mutants()]


def test_mutants_are_caught_by_a_fitting_code(verdicts: list[tuple[Spoiled, set[Code]]]) -> None:
    survivors = [(mutant.name, codes) for mutant, codes in verdicts if not codes & mutant.codes]
    caught = 1 - len(survivors) / len(verdicts)
    assert len(verdicts) >= LEAST_MUTANTS
    assert caught >= LEAST_CAUGHT, survivors


def test_every_mutation_was_tried_and_none_slips_through(verdicts: list[tuple[Spoiled, set[Code]]]) -> None:
    tried = Counter(mutant.name for mutant, _ in verdicts)
    caught = Counter(mutant.name for mutant, codes in verdicts if codes & mutant.codes)
    assert set(tried) == set(MUTATIONS)
    assert all(caught[name] >= count * 0.9 for name, count in tried.items()), tried - caught


def test_every_code_but_the_zombies_is_the_answer_to_some_mutation() -> None:
    """Those that no mutation here asks for have twins of their own; test_alerts.py has those of alerts."""
    answers = {code for mutant in mutants() for code in mutant.codes}
    of_alerts = {code for code in Code if code.name.startswith("ALERT_")}
    assert set(Code) - answers == {Code.ZOMBIE_OVERLAP} | of_alerts
