"""Several nodes live through months of faults, and the checker finds nothing to complain about."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from foliot.engine.fitness import Fitness
from foliot.model.alert import AlertKind
from foliot.model.attempt import Outcome, Trigger
from foliot_proof.history.check import check
from foliot_proof.history.facts import Trouble
from foliot_proof.simulation.simulate import simulate

SEEDS = int(os.environ.get("FOLIOT_SEEDS", "500"))
PARTS = 50
CODE = "from foliot_proof.simulation.simulate import simulate; print(simulate({seed}, days=10).digest)"


@pytest.mark.req("OWN-02")
@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_seed_breaks_a_promise(part: int) -> None:
    """R2: `FOLIOT_SEEDS=10000`, or `python -m foliot_proof.simulation`, looks further."""
    for seed in range(part, SEEDS, PARTS):
        simulated = simulate(seed)
        violations = check(simulated.history).violations
        assert not violations, f"seed {seed}: {violations[0]}"
        assert not simulated.unfit_starts, f"seed {seed}: a node started what it could not know"


def test_the_faults_bite() -> None:
    """Months in which nothing happens prove nothing: all triggers, outcomes and faults are among them."""
    simulated = [simulate(seed) for seed in range(8)]
    histories = [each.history for each in simulated]
    attempts = [attempt for history in histories for attempt in history.attempts]

    assert {attempt.trigger for attempt in attempts} == set(Trigger) - {
        Trigger.BACKFILL,
        Trigger.AFTER,
        Trigger.REBOOT,
    }
    assert {attempt.outcome for attempt in attempts} >= set(Outcome)
    faults = {fault.kind for history in histories for fault in history.faults}
    assert faults == {
        Trouble.DOWN, Trouble.DRAINING, Trouble.PAUSED, Trouble.PARTITIONED, Trouble.CLOCK,
    }  # fmt: skip
    assert {skip.reason for history in histories for skip in history.skips}
    assert all(each.passed_over for each in simulated)  # each had a node that was behind the others


def test_channels_have_their_troubles() -> None:
    """Alerts of all kinds, told again and refused; and jobs that start after their occurrences."""
    histories = [simulate(seed).history for seed in (3, 17, 20)]
    told = [one for history in histories for one in history.told]
    definitions = [c.definition for history in histories for c in history.changes if c.definition]

    pings = {AlertKind.ENDED, AlertKind.TRIED, AlertKind.AFTER}
    silent_in_simulations = {AlertKind.OUTPUT, AlertKind.SOURCE} | pings
    assert {one.kind for one in told} == set(AlertKind) - silent_in_simulations
    assert {one.channel for one in told} == {"ops", "admins"}
    assert any(one.reminder for one in told)
    assert any(one.is_refused for one in told)
    again = Counter((one.channel, one.id) for one in told)
    assert sum(count > 1 for count in again.values()) > 50
    assert any(definition.offset for definition in definitions)


def test_a_node_that_takes_what_it_cannot_know_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fitness, "guard", lambda _, decide: decide)

    assert any(simulate(seed).unfit_starts for seed in range(5))


@pytest.mark.parametrize("seed", [1, 3])
def test_one_seed_replays_one_history_bit_for_bit_in_any_process(seed: int) -> None:
    digests = {
        subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-c", CODE.format(seed=seed)],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        ).stdout
        for hash_seed in ("0", "1", "random")
    }

    assert len(digests) == 1
    assert digests != {simulate(seed + 1, days=10).digest + "\n"}
