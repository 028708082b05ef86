"""Goals P7 to P9: what a program costs that has more and more jobs which are not due.

Where the store is a server, what the server spends on it counts, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.fire.child import OnProgress, run_child
from benchmarks.fire.effort import Effort
from foliot.clock import SystemClock

MEMORY_GOAL = 200  # bytes
RESTART_GOAL = 1.0  # seconds
GROWTH_GOAL = 1.5
_FLAT = 0.05  # CPU seconds a minute that are noise, not growth


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One size of the store: seconds, and bytes. `server_…`: CPU seconds of the server, if there is one."""

    stored: int
    first_start: float
    resident: int
    idle_cpu_per_minute: float
    cpu_per_run: float
    server_idle_per_minute: float = 0.0
    server_per_run: float = 0.0

    @property
    def idle_cost(self) -> float:
        """CPU seconds that a minute costs in which nothing happens."""
        return self.idle_cpu_per_minute + self.server_idle_per_minute

    @property
    def cost(self) -> float:
        """CPU seconds that a run costs."""
        return self.cpu_per_run + self.server_per_run


@dataclass(frozen=True, slots=True)
class Growth:
    """The sizes, smallest first."""

    sizes: tuple[Size, ...]

    @property
    def bytes_per_job(self) -> float:
        """What each further job adds to the memory of the process."""
        least, most = self.sizes[0], self.sizes[-1]
        return (most.resident - least.resident) / (most.stored - least.stored)

    @property
    def cost_growth(self) -> float:
        """The dearest run, by the cheapest."""
        costs = [size.cost for size in self.sizes]
        return max(costs) / min(costs)

    @property
    def is_idle_cost_flat(self) -> bool:
        return all(b.idle_cost <= a.idle_cost * GROWTH_GOAL + _FLAT for a, b in self.steps)

    @property
    def steps(self) -> list[tuple[Size, Size]]:
        """Each size with the next."""
        return list(pairwise(self.sizes))

    @property
    def slowest_restart(self) -> float:
        return max(size.first_start for size in self.sizes)


def measure_growth(effort: Effort, on_step: Callable[[str], OnProgress]) -> Growth:
    """Each size in a file and in processes of its own."""
    sizes = []
    for stored in effort.stored:
        with TemporaryDirectory(prefix="foliot-bench-") as folder:
            url = f"sqlite:///{folder}/stored.db"
            sizes.append(measure_size(url, stored, Living(effort.fired, effort.idle), on_step))
    return Growth(tuple(sizes))


class Living(NamedTuple):
    """What a program does that is measured: fires jobs, and rests for so many seconds.

    `server` is the process of its store's server, if it has one; `tidy` is done once all jobs are stored.
    """

    fired: int
    idle: float
    server: int = 0
    tidy: Callable[[], None] = lambda: None


def measure_size(url: str, stored: int, living: Living, on_step: Callable[[str], OnProgress]) -> Size:
    """Store so many jobs that are not due, and live with them."""
    clock, module = SystemClock(), "benchmarks.fire.resident"
    filled = run_child(module, "fill", url, stored, on_progress=on_step(f"growth: store {stored:,} jobs"))
    living.tidy()
    on_progress = on_step(f"growth: live with {stored:,} jobs")
    clock.sleep(max(0.0, filled["due"] - clock.now().timestamp()))
    born, numbers = clock.now().timestamp(), living[:3]
    return Size(stored=stored, **run_child(module, "live", url, born, *numbers, on_progress=on_progress))
