"""Goals P7 to P9: what a program costs that has more and more jobs which are not due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from tempfile import TemporaryDirectory

from benchmarks.fire.child import OnProgress, run_child
from benchmarks.fire.effort import Effort
from foliot.clock import SystemClock

MEMORY_GOAL = 200  # bytes
RESTART_GOAL = 1.0  # seconds
GROWTH_GOAL = 1.5
_FLAT = 0.05  # CPU seconds a minute that are noise, not growth


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One size of the store: seconds, and bytes."""

    stored: int
    first_start: float
    resident: int
    idle_cpu_per_minute: float
    cpu_per_run: float


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
        costs = [size.cpu_per_run for size in self.sizes]
        return max(costs) / min(costs)

    @property
    def is_idle_cost_flat(self) -> bool:
        return all(
            b.idle_cpu_per_minute <= a.idle_cpu_per_minute * GROWTH_GOAL + _FLAT for a, b in self.steps
        )

    @property
    def steps(self) -> list[tuple[Size, Size]]:
        """Each size with the next."""
        return list(pairwise(self.sizes))

    @property
    def slowest_restart(self) -> float:
        return max(size.first_start for size in self.sizes)


def measure_growth(effort: Effort, on_step: Callable[[str], OnProgress]) -> Growth:
    """Each size in a file and in processes of its own."""
    return Growth(tuple(_measure(stored, effort, on_step) for stored in effort.stored))


def _measure(stored: int, effort: Effort, on_step: Callable[[str], OnProgress]) -> Size:
    clock, module = SystemClock(), "benchmarks.fire.resident"
    with TemporaryDirectory(prefix="foliot-bench-") as folder:
        filled = run_child(
            module, "fill", folder, stored, on_progress=on_step(f"growth: store {stored:,} jobs")
        )
        on_progress = on_step(f"growth: live with {stored:,} jobs")
        clock.sleep(max(0.0, filled["due"] - clock.now().timestamp()))
        born = clock.now().timestamp()
        found = run_child(module, "live", folder, born, effort.fired, effort.idle, on_progress=on_progress)
    return Size(stored=stored, **found)
