"""What a run found, and the JSON that is kept of it.

The JSON (`schema` 1) has these parts:

    environment   python, system, machine, cores
    settings      rounds, commands, at_once, is_quick
    race          name -> words, per_second (the median round), fastest, slowest, and ratio: to the bare loop
                  of the same round, the median over the rounds
    burst         commands, first_ms, median_ms, last_ms: from the order to the start
    goals         P5 and ROLL-19: goal (a sentence), met, seen
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.shell.contender import AT_ONCE, BARE, CONTENDERS, OURS

LEAST = 0.8
LATEST = 1.0
P5 = f"at least {LEAST:.0%} of the commands a second of a bare posix_spawn + pidfd loop in one process"
ROLL_19 = f"of 200 commands that are due at once the last has started within {LATEST:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one run of the benchmark found. `seconds`: by contender, one for each round."""

    is_quick: bool
    commands: int
    seconds: dict[str, list[float]]
    starts: list[float]

    def rate(self, name: str) -> float:
        """Commands a second, in the median round."""
        return self.commands / median(self.seconds[name])

    def ratio(self, name: str) -> float:
        """How fast it is beside the bare loop of the same round."""
        pairs = zip(self.seconds[BARE.name], self.seconds[name], strict=True)
        return median(bare / own for bare, own in pairs)

    @property
    def meets_p5(self) -> bool:
        return self.ratio(OURS.name) >= LEAST

    @property
    def meets_roll_19(self) -> bool:
        return self.starts[-1] <= LATEST


def to_json(report: Report) -> dict[str, Any]:
    """The report as the JSON described above."""
    return {
        "schema": 1,
        "environment": {
            "python": platform.python_version(),
            "system": platform.system(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        },
        "settings": {
            "rounds": len(report.seconds[BARE.name]),
            "commands": report.commands,
            "at_once": AT_ONCE,
            "is_quick": report.is_quick,
        },
        "race": {
            contender.name: {
                "words": contender.words,
                "per_second": round(report.rate(contender.name)),
                "fastest": round(report.commands / min(report.seconds[contender.name])),
                "slowest": round(report.commands / max(report.seconds[contender.name])),
                "ratio": round(report.ratio(contender.name), 3),
            }
            for contender in CONTENDERS
        },
        "burst": {
            "commands": len(report.starts),
            "first_ms": round(report.starts[0] * 1e3),
            "median_ms": round(median(report.starts) * 1e3),
            "last_ms": round(report.starts[-1] * 1e3),
        },
        "goals": {
            "P5": {"goal": P5, "met": report.meets_p5, "seen": f"{report.ratio(OURS.name):.0%}"},
            "ROLL-19": {
                "goal": ROLL_19,
                "met": report.meets_roll_19,
                "seen": f"{report.starts[-1] * 1e3:.0f} ms for {len(report.starts)}",
            },
        },
    }
