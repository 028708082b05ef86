"""The benchmark of the store on Redis works; what it finds is no matter for a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from real_redis import redis_url_of


@pytest.mark.prove
def test_the_store_and_the_bare_loop_do_the_same_runs() -> None:
    redis_url_of("redis")  # who has none skips
    command = [sys.executable, "-m", "benchmarks.redis", "--runs", "600", "--jobs", "600", "--rounds", "1"]
    done = subprocess.run(  # noqa: S603 - our own program
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["p3"]["ratio"] > 0
    assert found["memory"]["job"] > 0
    assert found["scripts"]["jobs"] == 600
    names = found["scripts"]["changed_under_load"]["each"]
    assert {"stage.apply", "herd.start", "herd.end", "look"} <= names.keys()
