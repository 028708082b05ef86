"""Nodes on Redis die, the network fails, and the server crashes, hangs, is full, or forgets scripts.

Short trials here; as long as you like by `python -m foliot_proof.faults --store redis`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.test_partitions import check_lost_answers, try_all
from foliot_proof.faults.fault import Kind
from foliot_proof.faults.trial import Plan
from real_redis import redis_url_of


def plan(store: str, *kinds: Kind, seed: int, kills: int = 300) -> Plan:
    """One node is left in peace, to take over."""
    return Plan(store=store, spared=1, kinds=kinds, kills=kills, seconds=8, seed=seed)


@pytest.fixture(autouse=True)
def servers() -> None:
    """Tests that need a server that is not there are skipped."""
    redis_url_of("redis")
    redis_url_of("valkey")


def test_deaths_and_a_network_that_fails_cost_no_run(tmp_path: Path) -> None:
    plans = (
        plan("redis", Kind.KILL, Kind.FAILPOINT, Kind.STOP, seed=1),
        plan("redis", Kind.CUT, Kind.BLACKHOLE, Kind.HALFCLOSE, seed=2),
        plan("redis", Kind.CUTCOMMIT, seed=3),
    )
    killed, disturbed, unanswered = try_all(tmp_path, *plans)
    assert killed.kills > 0
    assert disturbed.figures.back, f"nobody was back\n{disturbed}"
    check_lost_answers(plans[2], unanswered)


def test_a_server_that_crashes_hangs_is_full_or_forgets_its_scripts_costs_no_run(tmp_path: Path) -> None:
    verdicts = try_all(
        tmp_path,
        plan("redis", Kind.RESTART, Kind.HANG, seed=5),
        plan("redis", Kind.FULL, seed=7),
        plan("redis-everysec", Kind.RESTART, seed=8),
        plan("valkey", Kind.SCRIPTFLUSH, seed=9),
    )
    away, full, lazy, valkey = verdicts
    for verdict in verdicts:
        lost = verdict.report.measures.outcomes.get("lost", 0)
        assert verdict.notes["stall"] or not lost, f"no node died, and runs are lost\n{verdict}"
    assert away.figures.felt[Kind.HANG] + away.figures.felt[Kind.RESTART] > 0, str(away)
    assert full.figures.felt[Kind.FULL] > 0, str(full)
    assert lazy.figures.felt[Kind.RESTART] > 0, str(lazy)
    assert valkey.injected[Kind.SCRIPTFLUSH] > 0, str(valkey)
