"""Several nodes live through months of faults, and the checker finds nothing to complain about."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from foliot.testing.history.check import check
from foliot.testing.simulation.simulate import simulate

SEEDS = int(os.environ.get("FOLIOT_SEEDS", "500"))
PARTS = 50
CODE = "from foliot.testing.simulation.simulate import simulate; print(simulate({seed}, days=10).digest)"


@pytest.mark.parametrize("part", range(PARTS))
def test_no_seed_breaks_a_promise(part: int) -> None:
    """R2: `FOLIOT_SEEDS=10000`, or `python -m foliot.testing.simulation`, looks further."""
    for seed in range(part, SEEDS, PARTS):
        violations = check(simulate(seed).history).violations
        assert not violations, f"seed {seed}: {violations[0]}"


@pytest.mark.parametrize("seed", [1, 4])
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
