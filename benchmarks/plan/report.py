"""What a run found, and the JSON that is kept of it.

The JSON (`schema` 1) has these parts; times are medians over the rounds:

    environment   python, implementation, system, machine, cores
    settings      rounds, jobs, seed, is_quick
    herd          jobs, rules; shared and equal, each a timing in nanoseconds per job
    decisions     name -> words (what it is), per_second, and a timing in microseconds per decision
    codec         name -> a timing in microseconds per job
    happy_path_us due and ended together, microseconds per run
    goals         P2 and happy_path: goal (a sentence), met

A timing has median, fastest and slowest round, and answers: how many were timed in each round.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Any

from benchmarks.cron.herd import GOAL_NS, Herd
from benchmarks.cron.measure import Timing
from benchmarks.cron.sample import SEED
from benchmarks.plan.decisions import GOAL_US, HAPPY

P2 = f"at most {GOAL_NS} ns a job when jobs share rule objects"
HAPPY_PATH = f"due and ended of a run that goes well take less than {GOAL_US} µs of planner time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one run of the benchmark found."""

    is_quick: bool
    rounds: int
    jobs: int
    herd: Herd
    decisions: dict[str, tuple[str, Timing]]
    codec: dict[str, Timing]

    @property
    def happy_path(self) -> float:
        """Seconds of planner time for a run that goes well."""
        return sum(self.decisions[name][1].median for name in HAPPY)

    @property
    def meets_happy_path(self) -> bool:
        """Whether that is quick enough."""
        return self.happy_path * 1e6 < GOAL_US


def to_json(report: Report) -> dict[str, Any]:
    """The report as the JSON described above."""
    herd = report.herd
    return {
        "schema": 1,
        "environment": {
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
            "system": platform.system(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        },
        "settings": {
            "rounds": report.rounds,
            "jobs": report.jobs,
            "seed": SEED,
            "is_quick": report.is_quick,
        },
        "herd": {
            "jobs": herd.jobs,
            "rules": herd.rules,
            "shared": _timing(herd.shared, "ns", 1e9),
            "equal": _timing(herd.equal, "ns", 1e9),
        },
        "decisions": {
            name: {"words": words, "per_second": round(1 / timing.median)} | _timing(timing, "us", 1e6)
            for name, (words, timing) in report.decisions.items()
        },
        "codec": {name: _timing(timing, "us", 1e6) for name, timing in report.codec.items()},
        "happy_path_us": round(report.happy_path * 1e6, 3),
        "goals": {
            "P2": {"goal": P2, "met": herd.meets_goal},
            "happy_path": {"goal": HAPPY_PATH, "met": report.meets_happy_path},
        },
    }


def _timing(timing: Timing, unit: str, per_second: float) -> dict[str, Any]:
    return {
        f"median_{unit}": round(timing.median * per_second, 3),
        f"fastest_{unit}": round(timing.fastest * per_second, 3),
        f"slowest_{unit}": round(timing.slowest * per_second, 3),
        "answers": timing.answers,
    }
