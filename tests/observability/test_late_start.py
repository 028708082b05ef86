"""A late start is measured, and seen in both the log and the metrics."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot import Foliot, Once
from foliot.clock import SystemClock
from foliot.errors import InvalidPolicyError
from foliot.observability import Metrics

PATIENCE = 20


class SuspendedHost(SystemClock):
    """A clock whose wall time jumps while nothing runs, as when a laptop's lid is closed."""

    def __init__(self) -> None:
        self.slept = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.slept


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/jobs.db"


@pytest.mark.req("DECL-32")
def test_a_start_after_a_suspend_is_late_in_the_log_and_in_the_metrics(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock, metrics = SuspendedHost(), Metrics()
    app = Foliot(url, name="p", clock=clock, lease="1s", metrics=metrics)
    ran = asyncio.Event()

    @app.job(Once(clock.now() + timedelta(seconds=20)), name="x")
    async def x() -> None:
        ran.set()

    async def scene() -> None:
        async with app:
            while metrics.registry.get_sample_value("foliot_last_heartbeat_timestamp_seconds") is None:
                await clock.wait(timedelta(milliseconds=5))
            clock.slept = timedelta(seconds=50)  # so it wakes some thirty seconds after the time
            await ran.wait()
            while "clock_jumped" not in caplog.text:
                await clock.wait(timedelta(milliseconds=5))

    asyncio.run(asyncio.wait_for(scene(), PATIENCE))

    lines: list[Any] = [record.msg for record in caplog.records]
    [line] = [line for line in lines if line.event == "start_late"]
    assert 29 < line.fields["late"] < 40
    assert line.fields["run"].startswith("p/x@")
    name = "foliot_start_lateness_seconds"
    late = metrics.registry.get_sample_value(f"{name}_sum", {"trigger": "schedule"})
    assert late == pytest.approx(line.fields["late"], abs=0.001)
    assert metrics.registry.get_sample_value(f"{name}_bucket", {"trigger": "schedule", "le": "10.0"}) == 0
    assert metrics.registry.get_sample_value("foliot_clock_jumps_total", {"direction": "forward"}) == 1


@pytest.mark.req("DECL-32")
def test_a_start_after_an_overload_is_late_in_the_metrics(url: str) -> None:
    metrics = Metrics()
    app = Foliot(url, slots=1, metrics=metrics)
    at = Once(SystemClock().now() + timedelta(milliseconds=200))
    left = {"a", "b"}
    over = asyncio.Event()

    async def busy(name: str) -> None:
        await SystemClock().wait(timedelta(milliseconds=400))
        left.remove(name)
        if not left:
            over.set()

    async def scene() -> None:
        app.action(busy)
        async with app:
            await app.schedule_many([(name, at, busy, {"name": name}) for name in sorted(left)])
            await asyncio.wait_for(over.wait(), PATIENCE)

    asyncio.run(scene())

    def below(bound: str) -> float | None:
        labels = {"trigger": "schedule", "le": bound}
        return metrics.registry.get_sample_value("foliot_start_lateness_seconds_bucket", labels)

    assert below("+Inf") == 2
    assert metrics.registry.get_sample_value("foliot_open_attempts") == 0
    assert below("0.25") == 1


def test_what_cannot_be_told_anything_is_no_metrics() -> None:
    with pytest.raises(InvalidPolicyError, match="metrics") as refused:
        Foliot("memory://", metrics=True)

    assert refused.value.hint == "Metrics() of foliot.observability"
