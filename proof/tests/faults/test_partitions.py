"""R1, R3, R4, R5 on PostgreSQL: nodes that die, a network that fails, a server that crashes.

A short trial of each here; as long as you like by `python -m foliot_proof.faults --store postgres`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from foliot_proof.faults import trap
from foliot_proof.faults.fault import OUTAGES
from foliot_proof.faults.fault_injector import Kind
from foliot_proof.faults.trial import Plan, Verdict, run_trial

KILL, FAILPOINT, STOP, TERM = Kind.KILL, Kind.FAILPOINT, Kind.STOP, Kind.TERM
CUT, BLACKHOLE, SLOW, HALFCLOSE = Kind.CUT, Kind.BLACKHOLE, Kind.SLOW, Kind.HALFCLOSE
CUTCOMMIT, RESTART = Kind.CUTCOMMIT, Kind.RESTART
LAST_SEED = 200
NETWORK = {CUT, BLACKHOLE, SLOW, HALFCLOSE, CUTCOMMIT, *OUTAGES}
STEPS = (
    *trap.ENGINE, "claim:before_commit", "claim:after_commit", "finish:before_commit", "finish:after_commit",
    "renew:after_commit", "prepare:after_commit", "reconcile:before_commit",
)  # fmt: skip


def try_all(folder: Path, *plans: Plan) -> list[Verdict]:
    """Trials mostly wait, so some go at the same time; whatever they are about, nothing may be wrong.

    Where a fault hits is chance: one that has hit nothing is tried again.
    """

    async def run(number: int, plan: Plan) -> Verdict:
        place = folder / f"{number}-{plan.seed}"
        place.mkdir()
        verdict = await run_trial(plan, place)
        if verdict.is_clean and not has_hit(plan, verdict) and plan.seed < LAST_SEED:
            return await run(number, replace(plan, seed=plan.seed + 100, store=elsewhere(plan.store)))
        return verdict

    async def run_all() -> list[Verdict]:
        return await asyncio.gather(*(run(n, plan) for n, plan in enumerate(plans)))

    verdicts = asyncio.run(run_all())
    for plan, verdict in zip(plans, verdicts, strict=True):
        assert verdict.is_clean, str(verdict)
        assert verdict.report.measures.excused < 0.5, str(verdict)
        assert verdict.notes["start"] > 20, str(verdict)
        assert any(verdict.injected[kind] for kind in plan.kinds), f"nothing bit\n{verdict}"
    return verdicts


def has_hit(plan: Plan, verdict: Verdict) -> bool:
    """Whether calls have failed where they were to fail, and claims whose answers were to be lost."""
    is_felt = sum(verdict.figures.felt.values()) > 0 or not NETWORK.intersection(plan.kinds)
    return is_felt and (bool(verdict.figures.settled) or CUTCOMMIT not in plan.kinds)


def elsewhere(store: str) -> str:
    """The same server with a schema of its own: of another trial nothing must be found there."""
    server, question, _ = store.partition("?")
    return f"{server}?schema=t_{uuid4().hex}" if question else store


def on(server_url: str, *kinds: Kind, seed: int, spared: int = 1) -> Plan:
    """In a schema of its own of the server that all share; one node is left in peace, to take over."""
    return Plan(store=elsewhere(f"{server_url}?"), spared=spared, kinds=kinds, kills=12, seconds=8, seed=seed)


def test_a_network_that_fails_costs_no_run(server_url: str, tmp_path: Path) -> None:
    plans = [
        on(server_url, CUT, HALFCLOSE, seed=1),
        on(server_url, BLACKHOLE, SLOW, seed=2),
        on(server_url, KILL, CUT, BLACKHOLE, seed=3, spared=0),
        on(server_url, CUTCOMMIT, seed=4),
    ]
    verdicts = try_all(tmp_path, *plans)
    for plan, verdict in zip(plans, verdicts, strict=True):
        assert sum(verdict.figures.felt.values()) > 0, f"no call has failed\n{verdict}"
        assert KILL in plan.kinds or verdict.figures.back, f"nobody was back\n{verdict}"
    check_lost_answers(plans[-1], verdicts[-1])


def check_lost_answers(plan: Plan, verdict: Verdict) -> None:
    """A commit was carried out, and its node never told: its runs start all the same, and the node lives."""
    assert verdict.injected["start"] == plan.nodes, "no node has died"
    assert verdict.figures.settled, f"no claim was hit\n{verdict}"
    assert max(verdict.figures.settled) < plan.lease + 5
    # Who stands still for longer than a lease, on a busy machine, is buried all the same.
    assert verdict.report.measures.outcomes.get("lost", 0) == 0 or verdict.notes["stall"], str(verdict)


def test_deaths_standstills_and_a_server_that_crashes_cost_no_run(server_url: str, tmp_path: Path) -> None:
    crashed, stopped, trapped, killed = try_all(
        tmp_path,
        Plan(store="postgres", kinds=(RESTART,), spared=1, seconds=8, seed=6),
        on(server_url, STOP, seed=7),
        replace(on(server_url, FAILPOINT, seed=8), kills=9, seconds=30, steps=STEPS),
        on(server_url, KILL, KILL, TERM, seed=9),
    )
    assert crashed.figures.felt[RESTART] > 0, str(crashed)
    assert crashed.figures.back[RESTART], "everybody was back, without being started again"
    assert stopped.notes["identity"] > stopped.injected["start"], "who stood still was buried, and rose again"
    assert len(trapped.trapped) >= 7, str(trapped)
    assert killed.kills > 0


def test_what_cannot_be_had_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="use --store postgres"):
        asyncio.run(run_trial(Plan(kinds=(CUT,)), tmp_path))
    with pytest.raises(ValueError, match="only a server of the harness's own"):
        asyncio.run(run_trial(Plan(store="postgresql://127.0.0.1:1/x", kinds=(RESTART,)), tmp_path))
    (tmp_path / "witness_log.jsonl").touch()
    with pytest.raises(ValueError, match="another trial"):
        asyncio.run(run_trial(Plan(), tmp_path))
