"""The second half of goal P10: 2,000 backfilled runs of one job delay no other job by more than a second.

    python -m benchmarks.fire.crowd [--store URL] [--runs N]

Fifty jobs run each second, in a real application. Then another program asks for two backfills of a job that
may run in parallel. How late the fifty start is compared before and meanwhile. Without a URL: an SQLite file.
"""

from __future__ import annotations

import asyncio
import json
from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from foliot import Foliot
from foliot.clock import SystemClock
from foliot.engine.plan_command import Backfill, plan_command
from foliot.model.policy import parallel
from foliot.wiring import open_store

GOAL = 1.0  # seconds
OTHERS = 50
_CLOCK = SystemClock()
_A_WHILE = timedelta(seconds=4)
_MOMENT = timedelta(milliseconds=20)
_PATIENCE = 120.0  # seconds


class _Crowd:
    """An application with one job that gets crowded, and others that do not."""

    def __init__(self, url: str) -> None:
        self.app = Foliot(url, name="crowd")
        self.late: list[float] = []
        self.done = 0
        self.app.job("@every 1s", name="crowded", overlap=parallel())(self._crowded)
        for number in range(OTHERS):
            self.app.job("@every 1s", name=f"other-{number}")(self._other)

    async def _crowded(self) -> None:
        self.done += 1

    async def _other(self, run: Any) -> None:
        self.late.append((_CLOCK.now() - run.scheduled_for).total_seconds())

    def take_worst(self) -> float:
        """The longest that one was late since this was asked before."""
        worst, self.late = max(self.late, default=0.0), []
        return worst


async def measure_crowd(url: str, runs: int) -> dict[str, float]:
    """Seconds: how late the others were before and meanwhile, and how long the backfilled runs took."""
    crowd = _Crowd(url)
    async with crowd.app, open_store(url, _CLOCK, lease=timedelta(seconds=30)) as store:
        await _CLOCK.wait(_A_WHILE)
        before, wanted = crowd.take_worst(), crowd.done + runs
        begin, now = perf_counter(), await store.now()
        for part in range(2):
            first = now.replace(microsecond=0) - timedelta(hours=part + 1)
            command = Backfill(first, first + timedelta(seconds=runs // 2 - 1))
            await store.update(
                "crowd/crowded",
                lambda record, command=command: plan_command(record, command, now),  # type: ignore[misc] # mypy: defaults
            )
        while crowd.done < wanted and perf_counter() - begin < _PATIENCE:
            await _CLOCK.wait(_MOMENT)
        took = perf_counter() - begin
        await _CLOCK.wait(_A_WHILE / 2)
        return {"before": before, "meanwhile": crowd.take_worst(), "took": took}


def main() -> None:
    """Measure, and print JSON."""
    parser = ArgumentParser(prog="python -m benchmarks.fire.crowd", description=__doc__.split("\n")[0])
    parser.add_argument("--store", metavar="URL")
    parser.add_argument("--runs", type=int, default=2000)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        url = options.store or f"sqlite:///{Path(folder, 'jobs.db')}"
        seen = asyncio.run(measure_crowd(url, options.runs))
    print(json.dumps({"runs": options.runs, **{name: round(value, 3) for name, value in seen.items()}}))


if __name__ == "__main__":
    main()
