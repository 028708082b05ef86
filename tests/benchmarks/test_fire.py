"""The benchmark of fired jobs works, and its page says what it found; how fast that is, no test judges."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
GOALS = ["P3", "P4", "P6", "P7", "P8", "P9", "P10"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    path = tmp_path_factory.mktemp("bench") / "fire.json"
    command = [sys.executable, "-m", "benchmarks.fire", "--tiny", "--ours", "--json", str(path)]
    done = subprocess.run(  # noqa: S603 - our own benchmark
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(path.read_text())
    return result


@pytest.mark.prove
def test_every_goal_is_looked_at(found: dict[str, dict[str, object]]) -> None:
    assert list(found["goals"]) == GOALS


@pytest.mark.prove
def test_every_job_has_started_on_the_curve(found: dict[str, dict[str, dict[str, object]]]) -> None:
    ours = found["race"]["Foliot"]
    curve = ours["curve"]
    assert isinstance(curve, list)
    assert curve[0][1] == 1
    assert curve[-1][1] == ours["jobs"] == 40


def test_the_page_says_what_was_found() -> None:
    spec = importlib.util.spec_from_file_location("fire_tables", ROOT / "tools/fire_tables.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    kept = json.loads(tool.FIGURES.read_text())

    assert list(kept["goals"]) == GOALS
    assert tool.PAGE.read_text() == tool.page(), "run make reference"
