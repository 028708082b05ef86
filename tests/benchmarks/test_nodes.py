"""The benchmark of many nodes works, and its page says what it found; how fast that is, no test judges."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.fire.usage import Usage
from benchmarks.nodes.race import Race
from benchmarks.nodes.report import gain_until_a_limit

ROOT = Path(__file__).parent.parent.parent
GOALS = ["P3", "P9 nodes", "P9 growth", "million"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    path = tmp_path_factory.mktemp("bench") / "nodes.json"
    command = [sys.executable, "-m", "benchmarks.nodes", "--tiny", "--json", str(path)]
    done = subprocess.run(  # noqa: S603 - our own benchmark
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if "there is no PostgreSQL here" in done.stderr and not os.environ.get("CI"):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(path.read_text())
    return result


@pytest.mark.prove
def test_every_goal_is_looked_at(found: dict[str, dict[str, object]]) -> None:
    assert list(found["goals"]) == GOALS


@pytest.mark.prove
def test_nodes_share_all_jobs(found: dict[str, list[dict[str, object]]]) -> None:
    assert [race["nodes"] for race in found["race"]] == [1, 2]
    for race in found["race"]:
        shares, curve = race["shares"], race["curve"]
        assert isinstance(shares, list)
        assert isinstance(curve, list)
        assert len(shares) == race["nodes"]
        assert sum(shares) == curve[-1][1] == race["jobs"] == 40


@pytest.mark.prove
def test_both_stores_are_compared_with_their_drivers(found: dict[str, dict[str, list[object]]]) -> None:
    assert {name: len(speeds) for name, speeds in found["store"].items()} == {"PostgreSQL": 2, "SQLite": 2}


@pytest.mark.parametrize(
    ("races", "is_met"),
    [
        ([(10_000, 0.6), (16_000, 0.7), (24_000, 0.8)], True),  # each doubling brings more
        ([(10_000, 0.6), (14_000, 0.9), (14_500, 0.9)], True),  # as much as the cores have
        ([(10_000, 0.9), (9_500, 0.9), (9_200, 0.9)], True),  # one node has them busy already
        ([(10_000, 0.6), (14_000, 0.7)], False),  # some cores were idle
        ([(10_000, 0.6), (14_000, 0.9), (11_000, 0.9)], False),  # busy, and slower
        ([(10_000, 0.9), (9_500, 0.9), (8_800, 0.9)], False),  # slower step by step
    ],
)
def test_more_nodes_bring_more_until_the_cores_are_the_limit(
    races: list[tuple[int, float]],
    is_met: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert gain_until_a_limit([_race(2**step, *seen) for step, seen in enumerate(races)]) is is_met


def _race(nodes: int, pace: int, busy: float) -> Race:
    """A race of so many nodes, with so many starts a second, that had this part of the cores busy."""
    cores = Usage(busy * (os.cpu_count() or 1), 0.0, 0.0)
    return Race(
        nodes=nodes, jobs=pace, first=0.0, median=0.5, last=1.0, recorded=1.0, declaring=1.0, shares=(),
        cores=cores, waits={}, curve=(),
    )  # fmt: skip


def test_the_page_says_what_was_found() -> None:
    spec = importlib.util.spec_from_file_location("nodes_tables", ROOT / "tools/nodes_tables.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    kept = json.loads(tool.FIGURES.read_text())

    assert list(kept["goals"]) == GOALS
    assert tool.PAGE.read_text() == tool.page(), "run make reference"
