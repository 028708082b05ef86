"""How many jobs a second `schedule_many` takes: `python -m benchmarks.loading --jobs 100000` (goal P12).

Three herds, each in a store of its own: one rule for all; a time for each of a thousand; a cron text for each
minute of the day. The generator that makes the jobs is part of the time. `--store` names a server in the
place of a file; each herd gets a schema of its own there.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from uuid import uuid4

from foliot import Foliot, Once
from foliot.clock import SystemClock
from foliot.schedules import Schedule

GOAL = 30_000  # jobs a second, on SQLite
_WARM = 100
_CLOCK = SystemClock()
_AT = _CLOCK.now().replace(microsecond=0) + timedelta(days=30)
_ONCE = Once(_AT)
HERDS: dict[str, Callable[[int], Schedule | str]] = {
    "one rule": lambda _: _ONCE,
    "a thousand times": lambda number: Once(_AT + timedelta(seconds=number % 1000)),
    "each minute of a day": lambda number: f"{number % 60} {number // 60 % 24} * * *",
}


async def load(store: str, jobs: int, rule: Callable[[int], Schedule | str]) -> dict[str, float]:
    """Schedule so many jobs; jobs a second, and microseconds of this process' CPU for each."""
    app = Foliot(store, name="loading")

    @app.action
    async def remind(user: int) -> None: ...

    def herd(name: str, count: int) -> Iterator[tuple[str, Schedule | str, str, dict[str, int]]]:
        return ((f"{name}-{number}", rule(number), "remind", {"user": number}) for number in range(count))

    await app.schedule_many(herd("warm", _WARM))
    began, busy = _CLOCK.monotonic(), process_time()
    await app.schedule_many(herd("user", jobs))
    took, busy = _CLOCK.monotonic() - began, process_time() - busy
    app.close()
    return {"jobs_per_second": round(jobs / took), "cpu_us_per_job": round(busy / jobs * 1e6, 1)}


async def measure(jobs: int, server: str | None, rounds: int) -> dict[str, list[dict[str, float]]]:
    """All herds, in turns: a machine that is busy for a while is so for each of them."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in HERDS}
    for _ in range(rounds):
        for name, rule in HERDS.items():
            with TemporaryDirectory(prefix="foliot-loading-") as folder:
                path = f"sqlite:///{Path(folder) / 'jobs.db'}"
                store = path if server is None else f"{server}?schema=loading_{uuid4().hex}"
                found[name].append(await load(store, jobs, rule))
    return found


def main() -> None:
    """Measure, and tell as JSON."""
    parser = ArgumentParser(prog="python -m benchmarks.loading", description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", help="postgresql://… in the place of a file")
    given = parser.parse_args()
    found = asyncio.run(measure(given.jobs, given.store, given.rounds))
    best = {name: max(one["jobs_per_second"] for one in rounds) for name, rounds in found.items()}
    goal = {"goal": f"{GOAL:,} jobs a second on SQLite", "met": min(best.values()) >= GOAL, "best": best}
    json.dump({"jobs": given.jobs, "herds": found, "P12": goal}, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
