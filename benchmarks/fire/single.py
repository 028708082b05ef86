"""Goal P6, one job at a time: `python -m benchmarks.fire.single FOLDER COUNT` tells how late each starts."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from benchmarks.fire.child import answer, tell_progress
from foliot import Every, Foliot
from foliot.clock import SystemClock
from foliot.executors.python import JobRun

_SECOND = timedelta(seconds=1)


def main() -> None:
    """Run a job every second, so often."""
    folder, wanted = sys.argv[1], int(sys.argv[2])
    clock, lateness = SystemClock(), list[float]()
    app = Foliot(f"sqlite:///{Path(folder) / 'single.db'}", name="bench", clock=clock)

    @app.job(Every(_SECOND))
    async def tick(run: JobRun) -> None:
        lateness.append((clock.now() - run.scheduled_for).total_seconds())

    async def run_app() -> None:
        async with app:
            while len(lateness) < wanted:
                tell_progress(len(lateness), wanted)
                await clock.wait(_SECOND / 4)
        app.close()

    asyncio.run(run_app())
    answer({"lateness": [round(seconds, 5) for seconds in lateness[:wanted]]})


if __name__ == "__main__":
    main()
