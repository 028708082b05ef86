"""Goal P6: how late jobs start, 10,000 at once and one at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.fire.child import OnProgress, run_child
from benchmarks.fire.contender import OURS, race_in_turns
from benchmarks.fire.effort import Effort

FIRST_GOAL = 0.050
LAST_GOAL = 0.300
SINGLE_GOAL = 0.010


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Seconds: of the first of a herd, of the last after the first, and of single jobs."""

    herd: int
    first: float
    last_after_first: float
    singles: int
    p50: float
    p99: float
    worst: float

    @property
    def meets_goal(self) -> bool:
        """Whether all three are quick enough."""
        return self.first <= FIRST_GOAL and self.last_after_first <= LAST_GOAL and self.p99 <= SINGLE_GOAL


def measure_lateness(effort: Effort, on_step: Callable[[str], OnProgress]) -> Lateness:
    """A herd, as often as there are rounds; then one job every second."""
    standing = race_in_turns(replace(effort, jobs=effort.herd), on_step, (OURS,))[OURS.name]
    on_progress = on_step(f"lateness of a job every second, {effort.singles} s")
    with TemporaryDirectory(prefix="foliot-bench-") as folder:
        found = run_child("benchmarks.fire.single", folder, effort.singles, on_progress=on_progress)
    singles = sorted(found["lateness"])
    return Lateness(
        herd=standing.jobs,
        first=standing.median("first_start"),
        last_after_first=median(race["last_start"] - race["first_start"] for race in standing.races),
        singles=len(singles),
        p50=median(singles),
        p99=singles[math.ceil(0.99 * len(singles)) - 1],
        worst=singles[-1],
    )
