"""What all contenders share: the job that does nothing, when it is due, and what is told of its starts."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

from benchmarks.fire.child import TOO_LATE, answer, tell_progress
from foliot.clock import SystemClock

_POINTS = 200
_NEWS = 0.25  # seconds from one look at the progress to the next
_PATIENCE = 300.0

starts = array("d")  # not a list: the garbage collector would walk through a million entries, in our time
clock = SystemClock()


def do_nothing(user: int) -> None:  # noqa: ARG001 - each job has a payload of its own
    """The job, as a plain function."""
    starts.append(perf_counter())


async def do_nothing_async(user: int) -> None:  # noqa: ARG001 - as above
    """The job, as a coroutine."""
    starts.append(perf_counter())


class Race:
    """One race of one contender: JOBS jobs, due at a whole second that is LEAD seconds away."""

    def __init__(self) -> None:
        folder, jobs, lead = sys.argv[1:4]
        self.path = Path(folder) / "race.db"
        self.jobs = int(jobs)
        self.began = perf_counter()
        self._epoch = clock.now().timestamp() - self.began
        self.due = datetime.fromtimestamp(math.ceil(clock.now().timestamp() + float(lead)), UTC)
        self._scheduled = 0.0
        self.ended = 0
        self.recorded = 0.0

    def check_in(self) -> None:
        """All are scheduled; a race that was due before that is not one."""
        if clock.now() >= self.due:
            answer({"error": TOO_LATE})
            sys.exit()
        self._scheduled = perf_counter() - self.began

    def note_end(self, *_: object) -> None:
        """One more job has ended, and whatever is recorded of it is recorded."""
        self.ended += 1
        self.recorded = perf_counter()

    def is_over(self) -> bool:
        """Whether all have ended; an error if that takes too long."""
        tell_progress(self.ended, self.jobs)
        if perf_counter() - self._due_at > _PATIENCE:
            raise TimeoutError(f"{len(starts)} of {self.jobs} started, {self.ended} ended")
        return self.ended >= self.jobs

    def wait(self, wait: Callable[[float], None] = clock.sleep) -> None:
        """Wait, in a program without an event loop, until all have ended."""
        while not self.is_over():
            wait(_NEWS)

    def tell(self, version: str) -> None:
        """The answer of this race: seconds after the jobs were due, and the curve of their starts."""
        seen = sorted(stamp - self._due_at for stamp in starts)
        if len(seen) != self.jobs:
            raise ValueError(f"{len(seen)} starts of {self.jobs} jobs")
        step = max(1, len(seen) // _POINTS)
        points = [*range(0, len(seen), step), len(seen) - 1]
        answer(
            {
                "version": version,
                "jobs": self.jobs,
                "scheduling": round(self._scheduled, 3),
                "first_start": round(seen[0], 5),
                "last_start": round(seen[-1], 5),
                "recorded": round(self.recorded - self._due_at, 5),
                "curve": [[round(seen[point], 4), point + 1] for point in points],
            }
        )

    @property
    def _due_at(self) -> float:
        return self.due.timestamp() - self._epoch


async def until_over(race: Race) -> None:
    """Wait, on an event loop, until all have ended."""
    while not race.is_over():
        await clock.wait(timedelta(seconds=_NEWS))
