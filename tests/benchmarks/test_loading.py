"""The benchmark of loading runs, and tells what it found."""

from __future__ import annotations

import asyncio

from benchmarks.loading import HERDS, measure


def test_each_herd_is_loaded_and_told() -> None:
    found = asyncio.run(measure(300, None, 1))
    assert found.keys() == HERDS.keys()
    assert all(one["jobs_per_second"] > 0 for rounds in found.values() for one in rounds)
