"""The benchmark of the pages measures each page, and tells whether it is within its budget."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from benchmarks.pages.__main__ import bench
from benchmarks.pages.measure import BUDGETS

pytestmark = pytest.mark.prove


def test_each_page_is_measured_against_its_budget(tmp_path: Path) -> None:
    found = asyncio.run(bench(f"sqlite:///{tmp_path}/jobs.db", (200, 300), repeats=2))
    assert found["pages"].keys() == BUDGETS.keys()
    assert all(one["p95_ms"] > 0 for one in found["pages"].values())
    first = found["first_visit"]
    if first is not None:  # else there is no browser
        assert first["is_within"]["bytes"]
        assert first["is_within"]["requests"]
        assert first["is_within"]["shift"]
