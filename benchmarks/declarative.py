"""Declarative tasks, all due in the same minute: `python -m benchmarks.declarative --tasks 1000000`.

The document allows a hundred minutes for a million tasks; the promise is that each starts within the minute.
Real time, a real file, `synchronous=FULL`, and the door as its users have it.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from argparse import ArgumentParser
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from foliot.clock import SystemClock
from foliot.doors.declarative import Scheduler

_MINUTE = timedelta(minutes=1)
_RATE = 8_000  # tasks that are declared in a second, at the least: the boundary lies behind that
_PATIENCE = timedelta(minutes=5)


class HastyClock(SystemClock):
    """A clock whose next minute begins in so many seconds: nobody has to wait for the real one."""

    def __init__(self, seconds: float) -> None:
        now = super().now()
        self._ahead = _next_minute(now) - timedelta(seconds=seconds) - now

    def now(self) -> datetime:
        return super().now() + self._ahead


class Herd:
    """The tasks, and when each of them started."""

    def __init__(self, tasks: int, clock: SystemClock) -> None:
        self.tasks = tasks
        self.starts: list[float] = []
        self.all_started = asyncio.Event()
        self._clock = clock

    async def callback(self) -> None:
        """What each task does: almost nothing."""
        self.starts.append(self._clock.now().timestamp())
        if len(self.starts) == self.tasks:
            self.all_started.set()


async def measure(tasks: int, folder: Path, *, is_hasty: bool) -> dict[str, float | int]:
    """Declare them, wait for their minute, and see when they start."""
    room = 10 + tasks / _RATE
    clock = HastyClock(room + 1) if is_hasty else SystemClock()
    herd = Herd(tasks, clock)
    boundary = _next_minute(clock.now() + timedelta(seconds=room)).astimezone()
    rule = f"{boundary.minute} {boundary.hour} {boundary.day} {boundary.month} *"
    scheduler = Scheduler(f"sqlite:///{folder}/tasks.db", clock=clock if is_hasty else None)
    began = clock.monotonic()
    await scheduler.initialize([(f"task-{n}", rule, herd.callback, _MINUTE) for n in range(tasks)])
    declared = clock.monotonic() - began
    _say(f"{tasks:,} tasks declared in {declared:.1f} s; they are due at {boundary:%H:%M}")
    if clock.now() >= boundary:
        sys.exit("the minute came before all tasks were declared: the machine is too busy")
    await clock.wait(boundary - clock.now() + _PATIENCE, herd.all_started)
    await scheduler.stop()
    return {"tasks": tasks, "declared_s": round(declared, 2), **_judge(herd, boundary.timestamp())}


def _next_minute(instant: datetime) -> datetime:
    return instant.replace(second=0, microsecond=0) + _MINUTE


def _judge(herd: Herd, boundary: float) -> dict[str, float | int]:
    late = sorted(start - boundary for start in herd.starts)
    if not late:
        sys.exit("no task started")
    return {
        "started": len(late),
        "within_a_minute": sum(second < _MINUTE.total_seconds() for second in late),
        "first_s": round(late[0], 3),
        "median_s": round(late[len(late) // 2], 2),
        "p99_s": round(late[len(late) * 99 // 100], 2),
        "last_s": round(late[-1], 2),
        "starts_a_second": round(len(late) / max(late[-1], 0.001)),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Measure once, and print JSON."""
    parser = ArgumentParser(prog="python -m benchmarks.declarative", description=__doc__)
    parser.add_argument("--tasks", type=int, default=100_000, help="how many tasks share the minute")
    parser.add_argument("--hasty", action="store_true", help="do not wait for the real minute to end")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="foliot-") as folder:
        print(json.dumps(asyncio.run(measure(options.tasks, Path(folder), is_hasty=options.hasty))))


if __name__ == "__main__":
    main()
