"""Many tasks in the same minute. A million of them: `python -m benchmarks.declarative --tasks 1000000`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.prove

ROOT = Path(__file__).parents[3]
TASKS = 20_000


@pytest.mark.req("DECL-30")
def test_each_of_many_tasks_starts_within_a_minute_of_its_boundary() -> None:
    done = subprocess.run(  # noqa: S603 - our own benchmark
        [sys.executable, "-m", "benchmarks.declarative", "--tasks", str(TASKS), "--hasty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["started"], found["within_a_minute"]) == (TASKS, TASKS)
    assert found["first_s"] >= 0
