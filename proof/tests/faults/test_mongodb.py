"""Nodes on MongoDB die, the network fails, and the server crashes or hangs.

Short trials here; as long as you like by `python -m foliot_proof.faults --store mongodb`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.test_partitions import check_lost_answers, try_all
from foliot_proof.faults.fault import Kind
from foliot_proof.faults.trial import Plan
from real_mongodb import shared_mongodb_url


def plan(store: str, *kinds: Kind, seed: int) -> Plan:
    """One node is left in peace, to take over."""
    return Plan(store=store, spared=1, kinds=kinds, seconds=8, seed=seed)


@pytest.fixture(autouse=True)
def servers() -> None:
    """Tests that need a server that is not there are skipped."""
    shared_mongodb_url()


def test_deaths_and_a_network_that_fails_cost_no_run(tmp_path: Path) -> None:
    plans = (
        plan("mongodb", Kind.KILL, Kind.FAILPOINT, Kind.STOP, seed=1),
        plan("mongodb-set", Kind.CUT, Kind.BLACKHOLE, Kind.HALFCLOSE, seed=2),
        plan("mongodb", Kind.CUTCOMMIT, seed=3),
    )
    killed, disturbed, unanswered = try_all(tmp_path, *plans)
    assert killed.kills > 0
    assert disturbed.figures.back, f"nobody was back\n{disturbed}"
    check_lost_answers(plans[2], unanswered)


def test_a_server_that_crashes_or_hangs_costs_no_run(tmp_path: Path) -> None:
    verdicts = try_all(
        tmp_path,
        plan("mongodb", Kind.RESTART, Kind.HANG, seed=5),
        plan("mongodb-set", Kind.RESTART, seed=6),
    )
    for verdict in verdicts:
        lost = verdict.report.measures.outcomes.get("lost", 0)
        assert verdict.notes["stall"] or not lost, f"no node died, and runs are lost\n{verdict}"
        assert verdict.figures.felt[Kind.HANG] + verdict.figures.felt[Kind.RESTART] > 0, str(verdict)
