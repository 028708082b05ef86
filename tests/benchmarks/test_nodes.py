"""The benchmark of many nodes works, and its page says what it found; how fast that is, no test judges."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_every_goal_is_looked_at(found: dict[str, dict[str, object]]) -> None:
    assert list(found["goals"]) == GOALS


def test_nodes_share_all_jobs(found: dict[str, list[dict[str, object]]]) -> None:
    assert [race["nodes"] for race in found["race"]] == [1, 2]
    for race in found["race"]:
        shares, curve = race["shares"], race["curve"]
        assert isinstance(shares, list)
        assert isinstance(curve, list)
        assert len(shares) == race["nodes"]
        assert sum(shares) == curve[-1][1] == race["jobs"] == 40


def test_both_stores_are_compared_with_their_drivers(found: dict[str, dict[str, list[object]]]) -> None:
    assert {name: len(speeds) for name, speeds in found["store"].items()} == {"PostgreSQL": 2, "SQLite": 2}


def test_the_page_says_what_was_found() -> None:
    spec = importlib.util.spec_from_file_location("nodes_tables", ROOT / "tools/nodes_tables.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    kept = json.loads(tool.FIGURES.read_text())

    assert list(kept["goals"]) == GOALS
    assert tool.PAGE.read_text() == tool.page(), "run make reference"
