"""The benchmark of alerts runs, and tells what it found."""

from __future__ import annotations

import asyncio

import pytest
from benchmarks.alerts import measure


@pytest.mark.prove
def test_a_small_flood_is_measured_and_told() -> None:
    found = asyncio.run(measure(30, 2))
    assert found["without_alerts"]["starts"] > 0
    assert found["with_alerts"]["told"] == 30
    assert 0 < found["with_alerts"]["messages"] <= 20
