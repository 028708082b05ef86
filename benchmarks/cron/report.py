"""What a run found, and the JSON that is kept of it.

The JSON (`schema` 1) has these parts; times are medians over the rounds:

    environment   python, implementation, system, machine, cores
    libraries     name -> version, use (how it was asked)
    settings      rounds, instants, sample_seconds, seed, is_quick
    next_times    list of cells (goal P1)
    runs          list of cells: occurrences in a row
    herd          jobs, rules; shared and equal, each a timing in nanoseconds per job;
                  first_call_ms (tables of all rules are built), build_equal_s
    goals         P1 and P2: goal (a sentence), met; for P1 also cells_met and cells

A cell has expression, zone, libraries; a cell of `next_times` also goal_met. Its libraries map a name to

    median_us, fastest_us, slowest_us   per answer: the median round, the best and the worst
    ratio                               median_us divided by ours
    answers                             how many were timed in each round
    disagreements, compared             answers that name another instant than ours, of how many
    change_day_disagreements, change_day_compared
                                        the same on the days on which the zone's clocks are moved

or, if the library cannot say what the rule means, to not_comparable (the reason).
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Any

from benchmarks.cron.compare import GOAL, Cell
from benchmarks.cron.herd import GOAL_NS, Herd
from benchmarks.cron.measure import QUICK, Effort, Timing
from benchmarks.cron.peers import LIBRARIES, OURS, RIVAL
from benchmarks.cron.sample import SEED

P1 = f"at least {GOAL:g}× as fast as {RIVAL.name} on each expression, in each zone"
P2 = f"at most {GOAL_NS} ns a job when jobs share rule objects"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one run of the benchmark found."""

    effort: Effort
    next_times: list[Cell]
    runs: list[Cell]
    herd: Herd

    @property
    def cells_met(self) -> int:
        """In how many cells goal P1 is met."""
        return sum(cell.meets_goal for cell in self.next_times)

    @property
    def meets_p1(self) -> bool:
        """Whether goal P1 is met everywhere."""
        return self.cells_met == len(self.next_times)


def to_json(report: Report) -> dict[str, Any]:
    """The report as the JSON described above."""
    effort = report.effort
    return {
        "schema": 1,
        "environment": _environment(),
        "libraries": {
            library.name: {"version": library.version, "use": library.use} for library in LIBRARIES
        },
        "settings": {
            "rounds": effort.rounds,
            "instants": effort.instants,
            "sample_seconds": effort.sample_seconds,
            "seed": SEED,
            "is_quick": effort == QUICK,
        },
        "next_times": [_cell(cell) | {"goal_met": cell.meets_goal} for cell in report.next_times],
        "runs": [_cell(cell) for cell in report.runs],
        "herd": _herd(report.herd),
        "goals": {
            "P1": {
                "goal": P1,
                "met": report.meets_p1,
                "cells_met": report.cells_met,
                "cells": len(report.next_times),
            },
            "P2": {"goal": P2, "met": report.herd.meets_goal},
        },
    }


def _environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    seen: dict[str, Any] = {name: _seen(cell, name) for name in cell.timings}
    refused = {name: {"not_comparable": reason} for name, reason in cell.not_comparable.items()}
    return {"expression": cell.expression, "zone": cell.zone, "libraries": seen | refused}


def _seen(cell: Cell, name: str) -> dict[str, Any]:
    wrong = cell.wrong[name]
    seen = _timing(cell.timings[name], "us", 1e6) | {"ratio": round(cell.ratio(name), 3)}
    if name == OURS.name:
        return seen
    seen |= {"disagreements": wrong.sample, "compared": wrong.sample_size}
    if wrong.change_days_size:
        seen |= {
            "change_day_disagreements": wrong.change_days,
            "change_day_compared": wrong.change_days_size,
        }
    return seen


def _herd(herd: Herd) -> dict[str, Any]:
    return {
        "jobs": herd.jobs,
        "rules": herd.rules,
        "shared": _timing(herd.shared, "ns", 1e9),
        "equal": _timing(herd.equal, "ns", 1e9),
        "first_call_ms": round(herd.first_call * 1e3, 1),
        "build_equal_s": round(herd.build_equal, 2),
    }


def _timing(timing: Timing, unit: str, per_second: float) -> dict[str, Any]:
    return {
        f"median_{unit}": round(timing.median * per_second, 4),
        f"fastest_{unit}": round(timing.fastest * per_second, 4),
        f"slowest_{unit}": round(timing.slowest * per_second, 4),
        "answers": timing.answers,
    }
