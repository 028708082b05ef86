"""The benchmark of plans runs, and tells what it found."""

from __future__ import annotations

from benchmarks.change import measure


def test_each_way_is_measured_and_finds_what_changes() -> None:
    found = measure(100, 5, 1)
    assert {way: rounds[0]["changed"] for way, rounds in found.items()} == {
        "7 days": 5, "400 days": 5, "the same file": 0,
    }  # fmt: skip
    assert all(one["cpu_s"] > 0 for rounds in found.values() for one in rounds)
