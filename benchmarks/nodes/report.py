"""What a run found, and the JSON that is kept of it.

The JSON (`schema` 1) has these parts; times are seconds:

    environment   python, postgresql, psycopg, sqlite, system, machine, cores
    settings      the effort: numbers of jobs, nodes, rounds, seconds
    store         PostgreSQL and SQLite -> for each size of batches: runs, batch; store and bare, runs per
                  second; ratio
    race          for each number of nodes, the median round: nodes, jobs; first, median and last start, and
                  recorded (after the jobs were due); declaring; starts_per_second; shares (runs of each
                  node); cores: how many were busy for nodes, server and others; waits (what connections
                  in a transaction did, how often it was seen); limit; curve (pairs: seconds after due,
                  how many have started)
    million       the same, of one race; null if there was none
    growth        sizes: see `benchmarks.fire.report`; cost_growth
    goals         P3, P9 nodes, P9 growth, million: goal (a sentence), met, seen (a sentence)
"""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from benchmarks.fire import growth
from benchmarks.fire.batches import GOAL as STORE_GOAL
from benchmarks.fire.batches import StoreSpeed
from benchmarks.fire.growth import Growth
from benchmarks.fire.report import Goal
from benchmarks.nodes.effort import Effort
from benchmarks.nodes.race import Race, counted
from benchmarks.nodes.server import THINKING, WORKING

_MILLION = 1_000_000
_MINUTE = 60.0
_FULL = 0.85  # of all cores: the rest is what nobody can use
_DISTURBED = 0.2  # of what is busy, for others
_ONE_CORE = 0.85  # of a core, that a node keeps busy: Python runs on one at a time
_GAIN = 1.5  # twice as many nodes
_NO_LOSS = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one run of the benchmark found."""

    effort: Effort
    postgresql: str
    store: dict[str, list[StoreSpeed]]
    race: dict[int, Race]
    growth: Growth
    million: Race | None

    @property
    def goals(self) -> dict[str, Goal]:
        """All goals, by their names."""
        return {
            "P3": self._p3,
            "P9 nodes": self._nodes,
            "P9 growth": self._growth,
            "million": self._million,
        }

    @property
    def _p3(self) -> Goal:
        words = f"claim and finish at {STORE_GOAL:.0%} of the speed of a bare loop on the driver, or more"
        seen = "; ".join(
            f"{name} {', '.join(f'{speed.ratio:.0%}' for speed in speeds)}"
            for name, speeds in self.store.items()
        )
        is_met = all(speed.meets_goal for speeds in self.store.values() for speed in speeds)
        return Goal(words, is_met, f"{seen} (batches of {', '.join(f'{b:,}' for b in self.effort.batches)})")

    @property
    def _nodes(self) -> Goal:
        words = "more nodes start more jobs a second, until the cores or the database are the limit"
        races = list(self.race.values())
        seen = ", ".join(
            f"{race.nodes}: {race.starts_per_second:,.0f}/s ({limit_of(race)})" for race in races
        )
        return Goal(words, gain_until_a_limit(races), seen)

    @property
    def _growth(self) -> Goal:
        grown, most = self.growth, self.growth.sizes[-1].stored
        idle = ", ".join(f"{size.idle_cost:.2f}" for size in grown.sizes)
        return Goal(
            f"idle cost flat, cost per run within {growth.GROWTH_GOAL:g}×, up to {most:,} stored jobs",
            grown.is_idle_cost_flat and grown.cost_growth <= growth.GROWTH_GOAL,
            f"{idle} CPU seconds a minute; {grown.cost_growth:.2f}×",
        )

    @property
    def _million(self) -> Goal:
        words = "a million jobs that are due at the same second all start within a minute"
        if self.million is None or self.million.jobs < _MILLION:
            return Goal(words, None, "run it with --million")
        race = self.million
        starts = f"first {race.first:.2f} s, median {race.median:.1f} s, last {race.last:.1f} s"
        return Goal(words, race.last <= _MINUTE, f"{counted(race.nodes)}: {starts}")


def gain_until_a_limit(races: Sequence[Race]) -> bool:
    """Whether each doubling of the nodes brought more, or had all cores busy and lost nothing."""
    best = 0.0
    for before, after in pairwise(races):
        best = max(best, before.starts_per_second)
        gain = after.starts_per_second / before.starts_per_second
        is_at_limit = after.busy >= _FULL and after.starts_per_second >= _NO_LOSS * best
        if gain < _GAIN and not is_at_limit:
            return False
    return True


def limit_of(race: Race) -> str:
    """What kept a race from being quicker."""
    if race.busy >= _FULL:
        is_disturbed = race.cores.others >= _DISTURBED * sum(race.cores)
        return "all cores are busy, also with other things" if is_disturbed else "all cores are busy"
    if race.cores.nodes / race.nodes >= _ONE_CORE:
        return "each node keeps one core busy"
    waits = {name: count for name, count in race.waits.items() if name not in (WORKING, THINKING)}
    if waits:
        return f"the server waits, most often for {max(waits, key=waits.__getitem__)}"
    return "no limit was seen"


def to_json(report: Report) -> dict[str, Any]:
    """The report as the JSON described above."""
    return {
        "schema": 1,
        "environment": {
            "python": platform.python_version(),
            "postgresql": report.postgresql,
            "psycopg": version("psycopg"),
            "sqlite": sqlite3.sqlite_version,
            "system": platform.system(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        },
        "settings": asdict(report.effort),
        "store": {
            name: [_rounded(asdict(speed)) | {"ratio": round(speed.ratio, 3)} for speed in speeds]
            for name, speeds in report.store.items()
        },
        "race": [_race(race) for race in report.race.values()],
        "million": None if report.million is None else _race(report.million),
        "growth": {
            "sizes": [_rounded(asdict(size)) for size in report.growth.sizes],
            "cost_growth": round(report.growth.cost_growth, 3),
        },
        "goals": {
            name: {"goal": goal.words, "met": goal.is_met, "seen": goal.seen}
            for name, goal in report.goals.items()
        },
    }


def _race(race: Race) -> dict[str, Any]:
    return _rounded(asdict(race)) | {
        "starts_per_second": round(race.starts_per_second),
        "cores": {name: round(count, 3) for name, count in race.cores._asdict().items()},
        "limit": limit_of(race),
    }


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 7) if isinstance(value, float) else value for name, value in found.items()}
