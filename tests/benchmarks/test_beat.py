"""The benchmark of the beat runs, and tells what it found."""

from __future__ import annotations

import asyncio

import pytest
from benchmarks.beat.__main__ import measure

from real_redis import redis_url_of


@pytest.mark.prove
@pytest.mark.req("BAN-18")
def test_parts_and_turns_are_measured_beside_the_peers() -> None:
    assert redis_url_of("redis")  # who has no Redis skips here

    found = asyncio.run(measure((20, 40), times=5, seconds=3))

    assert set(found["parts_us"]) >= {"lock", "lock_redis_py", "read_state", "write_state"}
    assert min(found["parts_us"].values()) > 0
    few, more = found["turns"]["20"], found["turns"]["40"]
    for turn in (few, more):
        assert turn["foliot"]["all_due"]["ms"] > 0
        assert min(turn["redbeat"].values()) > 0
        assert min(turn[name] for name in ("time_of_redbeat", "time_of_celery_beat", "cpu_of_redbeat")) > 0
    asked = [turn["foliot"]["none_due"]["commands_a_second"] for turn in (few, more)]
    assert asked[1] <= 2 * asked[0] + 5, "how many schedules there are does not matter"
