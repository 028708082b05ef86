"""Many tasks: each is called within its minute."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from doors.declarative.scene import MINUTE
from foliot.clock import SystemClock
from foliot.doors.declarative import Scheduler

pytestmark = pytest.mark.prove

COUNT = 20_000


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_ten_thousands_that_are_due_at_once_are_called_within_seconds(kind: str, tmp_path: Path) -> None:
    """R1 in small; the million is measured by the benchmarks."""
    called = 0

    async def callback() -> None:
        nonlocal called
        called += 1
        if called == COUNT:
            done.set()

    async def main() -> float:
        await scheduler.initialize([(f"t{n}", "* * * * *", callback, MINUTE) for n in range(COUNT)])
        began_at = SystemClock().monotonic()
        await asyncio.wait_for(done.wait(), 60)
        took = SystemClock().monotonic() - began_at
        await scheduler.stop()
        return took

    done = asyncio.Event()
    scheduler = Scheduler("memory://" if kind == "memory" else f"sqlite:///{tmp_path}/tasks.db")
    assert asyncio.run(main()) < 60
