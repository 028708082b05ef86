"""The work of goal P3: jobs that are all due at once, and a run of each, claimed and finished in batches.

Through a store, that is its verbs `claim` and `finish` with the planner, one after the other. A bare loop on
the driver of the store does the same work on the same tables: read and lock what is due, with its definition;
insert the attempts and write the states, in the columns that a run changes; commit; write the ends;
commit. It decides nothing and builds no objects: it is what driver, database and disk cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from statistics import median
from time import perf_counter

from benchmarks.fire.child import OnProgress
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import Changes, Store
from foliot.schedules import Once

GOAL = 0.5
LEASE = timedelta(hours=1)
STORE, BARE = "store", "bare"
_DUE = datetime(2026, 3, 2, 9, tzinfo=UTC)
_NOW = _DUE + timedelta(milliseconds=20)
_PAGE = 10_000

DUE, NOW = (round(at.timestamp() * 1_000_000) for at in (_DUE, _NOW))
REASON = "its occurrence has come"


@dataclass(frozen=True, slots=True)
class StoreSpeed:
    """Runs per second, through the store and bare: the median of the rounds."""

    runs: int
    batch: int
    store: float
    bare: float

    @property
    def ratio(self) -> float:
        """How much of the bare speed is left."""
        return self.store / self.bare

    @property
    def meets_goal(self) -> bool:
        return self.ratio >= GOAL


def in_turns(
    works: Mapping[str, Callable[[], float]], runs: int, batch: int, rounds: int, on_progress: OnProgress
) -> StoreSpeed:
    """The store and the bare loop, each once per round; who begins changes. A work tells its seconds."""
    seen: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds):
        for name in sorted(works, reverse=bool(turn % 2)):
            seen[name].append(runs / works[name]())
        on_progress((turn + 1) / rounds)
    return StoreSpeed(runs, batch, median(seen[STORE]), median(seen[BARE]))


def run_key(key: str) -> str:
    """What a state remembers of its last run."""
    return f"{key}@2026-03-02T09:00:00Z"


async def declare_all(store: Store, runs: int) -> None:
    """Declare so many jobs, each with a payload of its own."""
    declared_at = _DUE - timedelta(hours=1)
    base = None
    for start in range(0, runs, _PAGE):
        jobs = tuple(_job(number) for number in range(start, min(start + _PAGE, runs)))
        revision = f"r{start}"
        await store.reconcile(
            "bench",
            base,
            revision,
            Changes(declared=jobs),
            declared=lambda job, record: plan_declared(job, record, declared_at),
            removed=lambda record: plan_removed(record, declared_at),
        )
        base = revision


def _job(number: int) -> Job:
    action = Action(kind="bench", data={"user": number})
    return Job(source="bench", name=f"user-{number}", schedule=Once(_DUE), action=action)


async def claim_and_finish(store: Store, runs: int, batch: int) -> float:
    """Seconds that it takes to claim and finish all of them through the store."""
    ids = count()
    await store.join(Node("node"))
    begin, done = perf_counter(), 0
    while done < runs:
        claimed = await store.claim("node", _NOW, {"default": batch}, plan_due, str(next(ids)))
        endings = [run.ending(Outcome.SUCCEEDED, _NOW, _NOW) for run in claimed.runs]  # as the engine does
        finished = await store.finish("node", endings, _NOW, plan_ended)
        if not claimed.runs or finished.refused:
            raise ValueError(f"{done} of {runs} runs, and no more: {finished.refused[:1]}")
        done += len(claimed.runs)
    return perf_counter() - begin
