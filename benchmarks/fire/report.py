"""What a run found, and the JSON that is kept of it.

The JSON (`schema` 1) has these parts; times are seconds, medians over the rounds:

    environment   python, sqlite, system, machine, cores
    settings      the effort: numbers of jobs, rounds, seconds
    race          contender -> version, use, records, jobs; first_start, last_start, recorded (after the jobs
                  were due), scheduling; starts_per_second, runs_per_second; ratio (our runs per second
                  divided by theirs); curve (pairs: seconds after due, how many have started); rounds
                  or, if it could not be measured, missing (the reason)
    store         runs, batch; store and bare, runs per second; ratio
    lateness      herd, first, last_after_first; singles, p50, p99, worst
    growth        sizes: stored, first_start, resident (bytes), idle_cpu_per_minute, cpu_per_run, and of
                  the server, which SQLite has not, server_idle_per_minute and server_per_run;
                  bytes_per_job, cost_growth
    equilibrium   jobs; empty and full, microseconds a run with an empty and with a full history, and
                  forgetting, which is part of the latter
    goals         P3, P4, P6, P7, P8, P9, P10: goal (a sentence), met, seen (a sentence)
"""

from __future__ import annotations

import os
import platform
import sqlite3
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from benchmarks.fire import contender, equilibrium, growth, lateness
from benchmarks.fire.batches import GOAL as STORE_GOAL
from benchmarks.fire.batches import StoreSpeed
from benchmarks.fire.contender import OURS, OURS_FEWER, RIVAL, Standing
from benchmarks.fire.effort import Effort
from benchmarks.fire.equilibrium import Equilibrium
from benchmarks.fire.growth import Growth
from benchmarks.fire.lateness import Lateness

_MILLION = 1_000_000


class Goal(NamedTuple):
    """A goal, whether it is met, and what was seen. None: it was not measured."""

    words: str
    is_met: bool | None
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one run of the benchmark found."""

    effort: Effort
    race: dict[str, Standing]
    store: StoreSpeed
    lateness: Lateness
    growth: Growth
    equilibrium: Equilibrium

    def ratio(self, name: str) -> float | None:
        """How many times as many runs as a contender we do in a second; None if it did not race."""
        standing = self.race.get(name)
        if standing is None or not standing.races:
            return None
        return self.race[OURS.name].runs_per_second / standing.runs_per_second

    @property
    def goals(self) -> dict[str, Goal]:
        """All goals, by their number."""
        return {"P3": self._p3, "P4": self._p4, "P6": self._p6} | self._of_growth | {"P10": self._p10}

    @property
    def _p3(self) -> Goal:
        words = f"claim and finish at {STORE_GOAL:.0%} of the speed of a bare sqlite3 loop, or more"
        return Goal(words, self.store.meets_goal, f"{self.store.ratio:.0%}")

    @property
    def _p4(self) -> Goal:
        ours, ratio = self.race[OURS.name], self.ratio(RIVAL.name)
        words = f"{contender.GOAL:.0f}× {RIVAL.name}; a million started within {contender.MILLION_GOAL:.0f} s"
        last = ours.median("last_start")
        # A million at the pace of this race: only a race of a million shows whether the pace holds.
        a_million = last * _MILLION / ours.jobs
        seen = f"{ours.jobs:,} started in {last:.1f} s, a million at this pace in {a_million:.0f} s"
        if ratio is None:
            return Goal(words, None, seen)
        is_met = ratio >= contender.GOAL and a_million <= contender.MILLION_GOAL
        as_few = ratio / (self.ratio(OURS_FEWER.name) or ratio)
        return Goal(words, is_met, f"{ratio:.1f}×, with as few jobs {as_few:.1f}×; {seen}")

    @property
    def _p10(self) -> Goal:
        return goal_of_equilibrium(self.equilibrium)

    @property
    def _p6(self) -> Goal:
        late = self.lateness
        words = (
            f"of {late.herd:,} at once the first within {lateness.FIRST_GOAL * 1e3:.0f} ms and the last"
            f" within {lateness.LAST_GOAL * 1e3:.0f} ms after it; a single job within"
            f" {lateness.SINGLE_GOAL * 1e3:.0f} ms (p99)"
        )
        seen = f"{late.first * 1e3:.0f} ms, {late.last_after_first * 1e3:.0f} ms, {late.p99 * 1e3:.1f} ms"
        return Goal(words, late.meets_goal, seen)

    @property
    def _of_growth(self) -> dict[str, Goal]:
        grown, most = self.growth, self.growth.sizes[-1].stored
        idle = [f"{size.idle_cpu_per_minute:.2f}" for size in grown.sizes]
        return {
            "P7": Goal(
                f"at most {growth.MEMORY_GOAL} bytes of memory for each stored job that is not due",
                grown.bytes_per_job <= growth.MEMORY_GOAL,
                f"{grown.bytes_per_job:.0f} bytes" if grown.bytes_per_job >= 1 else "too few to be measured",
            ),
            "P8": Goal(
                f"first due job starts within {growth.RESTART_GOAL:g} s of a start with {most:,} stored jobs",
                grown.slowest_restart <= growth.RESTART_GOAL,
                f"{grown.sizes[-1].first_start:.2f} s",
            ),
            "P9": Goal(
                f"idle cost flat, cost per run within {growth.GROWTH_GOAL:g}×, up to {most:,} stored jobs",
                grown.is_idle_cost_flat and grown.cost_growth <= growth.GROWTH_GOAL,
                f"{', '.join(idle)} CPU seconds a minute; {grown.cost_growth:.2f}×",
            ),
        }


def goal_of_equilibrium(seen: Equilibrium) -> Goal:
    """P10, on any store."""
    words = f"a run costs at most {equilibrium.GOAL:g}× with a full history, pruning included"
    costs = f"{seen.empty:.0f} µs, then {seen.full:.0f}, of which forgetting {seen.forgetting:.0f}"
    return Goal(words, seen.meets_goal, f"{seen.ratio:.2f}× ({costs})")


def to_json(report: Report) -> dict[str, Any]:
    """The report as the JSON described above."""
    grown = report.growth
    return {
        "schema": 1,
        "environment": {
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "system": platform.system(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        },
        "settings": asdict(report.effort),
        "race": {name: _standing(report, name) for name in report.race},
        "store": _rounded(asdict(report.store)) | {"ratio": round(report.store.ratio, 3)},
        "lateness": _rounded(asdict(report.lateness)),
        "growth": {
            "sizes": [_rounded(asdict(size)) for size in grown.sizes],
            "bytes_per_job": round(grown.bytes_per_job, 1),
            "cost_growth": round(grown.cost_growth, 3),
        },
        "equilibrium": _rounded(asdict(report.equilibrium)) | {"ratio": round(report.equilibrium.ratio, 3)},
        "goals": {
            name: {"goal": goal.words, "met": goal.is_met, "seen": goal.seen}
            for name, goal in report.goals.items()
        },
    }


def _standing(report: Report, name: str) -> dict[str, Any]:
    standing, ratio = report.race[name], report.ratio(name)
    told = {"use": standing.contender.use, "records": standing.contender.records}
    if ratio is None:
        return told | {"missing": standing.missing}
    times = {
        field: round(standing.median(field), 4)
        for field in ("first_start", "last_start", "recorded", "scheduling")
    }
    return {
        "version": standing.middle["version"],
        **told,
        "jobs": standing.jobs,
        **times,
        "starts_per_second": round(standing.starts_per_second),
        "runs_per_second": round(standing.runs_per_second),
        "ratio": round(ratio, 2),
        "rounds": len(standing.races),
        "curve": standing.middle["curve"],
    }


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 7) if isinstance(value, float) else value for name, value in found.items()}
