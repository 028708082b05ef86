"""Real processes, killed for real: hundreds of times here, as often as you like by `python -m`."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from foliot_proof.faults import trap
from foliot_proof.faults.fault_injector import Kind
from foliot_proof.faults.trial import Plan, Verdict, run_trial

KILL, FAILPOINT, STOP, TERM, CLOCK = Kind.KILL, Kind.FAILPOINT, Kind.STOP, Kind.TERM, Kind.CLOCK
FIRST = (*trap.BIRTH, *trap.ENGINE, *trap.COMMITS[8:12])  # claim, start, finish
SECOND = (*trap.BIRTH, *trap.COMMITS[:8], *trap.COMMITS[12:], *trap.PARTING)  # everything else


def try_all(folder: Path, *plans: Plan) -> list[Verdict]:
    """Trials mostly wait, so some go at the same time."""

    async def run() -> list[Verdict]:
        return await asyncio.gather(*(run_trial(plan, _sub(folder, n)) for n, plan in enumerate(plans)))

    return asyncio.run(run())


def _sub(folder: Path, number: int) -> Path:
    path = folder / str(number)
    path.mkdir()
    return path


@pytest.mark.parametrize(
    "plans",
    [
        pytest.param(
            [
                Plan(kinds=(KILL,), kills=35, seed=1),
                Plan(kinds=(KILL, KILL, KILL, TERM), kills=30, seconds=13, seed=2),
                Plan(nodes=1, kinds=(KILL,), kills=25, seconds=13, seed=3),
            ],
            id="R1 kill -9 at random, while it drains, and of a node that is alone",
        ),
        pytest.param(
            [
                Plan(kinds=(STOP,), seconds=13, seed=4),
                Plan(kinds=(KILL, KILL, STOP), seconds=13, seed=5),
                Plan(kinds=(TERM,), seconds=13, seed=6),
                Plan(kinds=(KILL, CLOCK), seconds=8, seed=9),
            ],
            id="R4 stopped beyond the lease, as a laptop is; P7 stopped in order; R7 the clock jumps",
        ),
    ],
)
def test_nothing_is_lost_and_nothing_runs_twice(plans: list[Plan], tmp_path: Path) -> None:
    for plan, verdict in zip(plans, try_all(tmp_path, *plans), strict=True):
        assert verdict.is_clean, str(verdict)
        assert verdict.kills >= plan.kills or verdict.seconds >= plan.seconds, str(verdict)
        assert CLOCK in plan.kinds or verdict.report.measures.excused < 0.5, str(verdict)
        assert all(verdict.injected[kind] > 0 for kind in plan.kinds), str(verdict)
        assert verdict.notes["start"] > 30, str(verdict)


def test_kill_at_every_named_step(tmp_path: Path) -> None:
    plans = [
        Plan(kinds=(FAILPOINT,), kills=40, seed=7, steps=FIRST),
        Plan(kinds=(FAILPOINT,), kills=50, seed=8, steps=SECOND),
    ]
    verdicts = try_all(tmp_path, *plans)
    for verdict in verdicts:
        assert verdict.is_clean, str(verdict)
    died_at = sum((Counter(verdict.trapped) for verdict in verdicts), Counter[str]())
    assert set(trap.ALL) <= died_at.keys(), f"never hit: {set(trap.ALL) - died_at.keys()}\n{verdicts[1]}"
