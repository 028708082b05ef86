"""Bugs planted into the engine, the planner and the store: each is found within a few seeds."""

from __future__ import annotations

import pytest

from foliot_proof.history.check import check
from foliot_proof.simulation.simulate import simulate
from simulation.planted import BUGS, Bug
from simulation.planted_alerts import ALERT_BUGS

MOST_SEEDS = 40  # from the first: a bug that is not found must not take as long as a test that hangs


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("bug", [*BUGS, *ALERT_BUGS], ids=lambda bug: bug.plant.__name__)
def test_a_planted_bug_is_found(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    make_store = bug.plant(monkeypatch)

    for seed in range(bug.first_seed, bug.first_seed + MOST_SEEDS):
        history = simulate(seed, days=bug.days, make_store=make_store).history
        found = {violation.code for violation in check(history).violations}
        if found:
            assert found & bug.codes
            return
    pytest.fail(f"{MOST_SEEDS} seeds did not show it")
