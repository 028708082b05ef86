"""The benchmark of shell commands works, and its page says what it found; how fast that is, no test says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.shell.page import FIGURES, PAGE, page

ROOT = Path(__file__).parent.parent.parent
GOALS = ["P5", "ROLL-19"]


@pytest.mark.prove
def test_every_contender_runs_and_every_goal_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "shell.json"
    command = [sys.executable, "-m", "benchmarks.shell", "--quick", "--json", str(path)]
    done = subprocess.run(  # noqa: S603 - our own benchmark
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(path.read_text())
    assert list(found["goals"]) == GOALS
    assert found["burst"]["commands"] == 200
    assert all(seen["per_second"] > 0 for seen in found["race"].values())


def test_the_page_says_what_was_found() -> None:
    assert list(json.loads(FIGURES.read_text())["goals"]) == GOALS
    assert PAGE.read_text() == page(), "run python -m benchmarks.shell"
