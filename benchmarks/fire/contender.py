"""Who races, with how many jobs, and what is to be known about it; and the race itself, in turns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.fire.child import REPOSITORY, TOO_LATE, MissingError, OnProgress, run_child
from benchmarks.fire.effort import Effort

GOAL = 30.0
MILLION_GOAL = 30.0  # seconds until the last of a million has started
_FIRST_LEAD = 1.0
_MOST_TRIES = 5
# The fourth APScheduler has the name of the third: it lives in an environment inside of the environment.
_APSCHEDULER4 = str(REPOSITORY / ".venv-bench/apscheduler4/bin/python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A program that races. `pace`: jobs per second that it schedules, guessed low."""

    name: str
    module: str
    jobs: Callable[[Effort], int]
    pace: float
    use: str
    records: str
    interpreter: str = sys.executable


OURS = Contender(
    name="Foliot",
    module="with_foliot",
    jobs=lambda effort: effort.jobs,
    pace=8_000,
    use="schedule_many, default policies, coroutines; a listener counts events",
    records="state of the job, claim with lease and token, start, end, outcome and reason of each run",
)
OURS_FEWER = Contender(
    name="Foliot, fewer jobs",
    module="with_foliot",
    jobs=lambda effort: effort.fewer,
    pace=4_000,
    use="the same, with as many jobs as APScheduler 3",
    records=OURS.records,
)
RIVAL = Contender(
    name="APScheduler 3",
    module="with_apscheduler3",
    jobs=lambda effort: effort.fewer,
    pace=600,
    use="SQLAlchemyJobStore, WAL, synchronous=FULL; AsyncIOExecutor; misfire_grace_time=None, "
    "or it drops what it comes to more than a second late",
    records="deletes the job once it is handed over; no run, no outcome: what runs during a crash is gone",
)
PEERS = (
    RIVAL,
    Contender(
        name="huey",
        module="with_huey",
        jobs=lambda effort: effort.fewer,
        pace=600,
        use="SqliteHuey, WAL, fsync=True; two worker threads; its scheduler looks once a second",
        records="moves the task to a queue, deletes it there before it runs; a result only if there is one",
    ),
    Contender(
        name="APScheduler 4",
        module="with_apscheduler4",
        jobs=lambda effort: effort.fewest,
        pace=60,
        use="an alpha; SQLAlchemyDataStore on aiosqlite, WAL, synchronous=FULL; max_concurrent_jobs=1000",
        records="a job row while it runs; a result only for as long as it is asked to keep it",
        interpreter=_APSCHEDULER4,
    ),
)
CONTENDERS = (OURS, OURS_FEWER, *PEERS)


@dataclass(slots=True)
class Standing:
    """What was seen of a contender: the answers of its races, or why there are none."""

    contender: Contender
    races: list[dict[str, Any]] = field(default_factory=list)
    missing: str | None = None

    def median(self, name: str) -> float:
        """The median over the rounds, in seconds."""
        return float(median(race[name] for race in self.races))

    @property
    def jobs(self) -> int:
        return int(self.races[0]["jobs"])

    @property
    def starts_per_second(self) -> float:
        """From the moment when all are due to the last start."""
        return self.jobs / self.median("last_start")

    @property
    def runs_per_second(self) -> float:
        """From the moment when all are due to the last end that is recorded."""
        return self.jobs / self.median("recorded")

    @property
    def middle(self) -> dict[str, Any]:
        """The race of the median round, or the one just after."""
        return sorted(self.races, key=lambda race: float(race["last_start"]))[len(self.races) // 2]


def race_in_turns(
    effort: Effort, on_step: Callable[[str], OnProgress], contenders: tuple[Contender, ...] = CONTENDERS
) -> dict[str, Standing]:
    """Let each contender race once per round, in an order that rotates."""
    standings = {contender.name: Standing(contender) for contender in contenders}
    for contender, turn in _turns(contenders, effort.rounds):
        standing = standings[contender.name]
        if standing.missing is None:
            on_progress = on_step(f"race {turn + 1}: {contender.name}, {contender.jobs(effort):,} jobs")
            try:
                standing.races.append(_race(contender, contender.jobs(effort), on_progress))
            except (MissingError, FileNotFoundError) as error:
                standing.missing = str(error)
    return standings


def _turns(contenders: tuple[Contender, ...], rounds: int) -> Iterator[tuple[Contender, int]]:
    for turn in range(rounds):
        first = turn % len(contenders)
        for contender in contenders[first:] + contenders[:first]:
            yield contender, turn


def _race(contender: Contender, jobs: int, on_progress: OnProgress) -> dict[str, Any]:
    """One race; with more time to schedule if it was too little."""
    lead = _FIRST_LEAD + jobs / contender.pace
    for _ in range(_MOST_TRIES):
        with TemporaryDirectory(prefix="foliot-bench-") as folder:
            found = run_child(
                f"benchmarks.fire.contenders.{contender.module}",
                Path(folder),
                jobs,
                lead,
                on_progress=on_progress,
                interpreter=contender.interpreter,
            )
        if found.get("error") != TOO_LATE:
            return found
        lead *= 2
    raise TimeoutError(f"{contender.name} does not get {jobs} jobs scheduled within {lead / 2} s")
