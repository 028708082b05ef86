"""Goal P10: a run with a full history costs at most 1.3 times one with an empty history, pruning included.

A store that has just been made never forgets anything. In equilibrium each run makes another one superfluous.
Here jobs run each minute of a simulated time, through the store's verbs, in batches: some with nothing behind
them, and as many others that have as many runs behind them as they keep. All forgetting meanwhile counts.
Jobs that were declared at the same time would also be full at the same time, and cost a lot at once and then
nothing: so each begins with a past of another length.

    python -m benchmarks.fire.equilibrium --store memory|sqlite|postgres [--jobs N]

prints the figures of one store as JSON; for PostgreSQL it brings a server.
"""

from __future__ import annotations

import asyncio
import json
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.fire.child import OnProgress
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.engine.settings import Settings
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.decision import Decision
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, Policy
from foliot.model.state import Node, Record
from foliot.protocols import Changes, Store
from foliot.schedules import Cron
from foliot.stores.memory import MemoryStore
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock

GOAL = 1.3
LEASE = timedelta(days=400)
KEEP = 100
_BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
_BATCH = 500

OpenStore = Callable[[ManualClock, str], AbstractAsyncContextManager[Store]]


@dataclass(frozen=True, slots=True)
class Equilibrium:
    """Microseconds a run, with an empty and with a full history, and how much of the latter is forgetting."""

    jobs: int
    empty: float
    full: float
    forgetting: float

    @property
    def ratio(self) -> float:
        """How much more a run costs."""
        return self.full / self.empty

    @property
    def meets_goal(self) -> bool:
        """Whether that is little enough."""
        return self.ratio <= GOAL


def measure_equilibrium(
    open_store: OpenStore, jobs: int, rounds: int, on_progress: OnProgress = lambda _: None
) -> Equilibrium:
    """Run so many jobs with nothing behind them, and as many in equilibrium, until all were cut so often."""
    return asyncio.run(_measure(open_store, jobs, rounds, on_progress))


async def _measure(open_store: OpenStore, jobs: int, rounds: int, on_progress: OnProgress) -> Equilibrium:
    """Round by round, one after the other: what else the machine does concerns both."""
    clock = ManualClock(_BEGIN)
    async with open_store(clock, "empty") as one, open_store(clock, "full") as other:
        young, old = _Field(one, clock, jobs), _Field(other, clock, jobs)
        await young.declare()
        await old.declare()
        await old.age()
        await old.measure(KEEP)  # until what was written at once is forgotten as it will be
        on_progress(0.4)
        await young.catch_up()
        empty = running = forgetting = 0.0
        for turn in range(KEEP * rounds):
            await clock.advance(_MINUTE)
            if turn < KEEP:  # then it has as much behind it as is kept
                empty += sum(await young.turn())
            ran, forgot = await old.turn()
            running, forgetting = running + ran, forgetting + forgot
            on_progress(0.4 + 0.6 * (turn + 1) / (KEEP * rounds))
    micros = 1e6 / (jobs * KEEP)
    full = (running + forgetting) * micros / rounds
    return Equilibrium(jobs, empty * micros, full, forgetting * micros / rounds)


class _Field:
    """Jobs that all run each minute."""

    def __init__(self, store: Store, clock: ManualClock, jobs: int) -> None:
        self._store = store
        self._clock = clock
        self._jobs = jobs
        self._ids = count()

    async def declare(self) -> None:
        policy = Policy(keep=Keep(last=KEEP))
        rule = Cron("* * * * *")
        jobs = tuple(
            Job(source="bench", name=f"job-{n:06}", schedule=rule, action=Action(kind="b"), policy=policy)
            for n in range(self._jobs)
        )
        now = self._clock.now()
        await self._store.reconcile(
            "bench",
            None,
            "r1",
            Changes(declared=jobs),
            declared=lambda job, record: plan_declared(job, record, now),
            removed=lambda record: plan_removed(record, now),
        )
        await self._store.join(Node("node"))

    async def measure(self, rounds: int) -> tuple[float, float]:
        """Microseconds a run, of running and of forgetting."""
        running = forgetting = 0.0
        for _ in range(rounds):
            await self._clock.advance(_MINUTE)
            ran, forgot = await self.turn()
            running, forgetting = running + ran, forgetting + forgot
        micros = 1e6 / (rounds * self._jobs)
        return running * micros, forgetting * micros

    async def turn(self) -> tuple[float, float]:
        """Seconds of running all jobs once, and of forgetting what is superfluous then."""
        return await _timed(self._run_all), await _timed(self._forget)

    async def catch_up(self) -> None:
        """Begin at the present minute."""
        await self._run_all()

    async def _run_all(self) -> None:
        done, now = 0, self._clock.now()
        while done < self._jobs:
            claimed = await self._store.claim(
                "node", now, {"default": _BATCH}, plan_due, str(next(self._ids))
            )
            if not claimed.runs:
                raise ValueError(f"{done} of {self._jobs} runs, and no more")
            done += len(claimed.runs)
            endings = [run.ending(Outcome.SUCCEEDED, now, now) for run in claimed.runs]
            await self._store.finish("node", endings, now, plan_ended)

    async def _forget(self) -> None:
        while (await self._store.prune(self._clock.now(), Settings(slots={}).forget_at_once)).more:
            pass

    async def age(self) -> None:
        """Give each job a past: of as many runs as it keeps, and up to twice as many."""
        for number in range(self._jobs):
            size = KEEP + number * 7919 % KEEP
            await self._store.update(f"bench/job-{number:06}", _with_past(size))


def _with_past(size: int) -> Callable[[Record], Decision]:
    def write(record: Record) -> Decision:
        key, first = record.job.key, _BEGIN - timedelta(days=1)
        past = tuple(
            Attempt(
                key, 1, Trigger.SCHEDULE, AttemptState.ENDED, first + n * _MINUTE,
                token=1, finished_at=first, outcome=Outcome.SUCCEEDED, reason="its occurrence has come",
            )
            for n in range(size)
        )  # fmt: skip
        return Decision(record.state._replace(token=record.state.token + 1), past)

    return write


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    begin = perf_counter()
    await work()
    return perf_counter() - begin


@contextmanager
def store_of(kind: str) -> Iterator[OpenStore]:
    """How a store of that kind is opened, empty."""
    if kind == "memory":
        yield _in_memory
    elif kind == "sqlite":
        with TemporaryDirectory() as folder:
            yield lambda clock, name: SqliteStore(Path(folder, f"{name}.db"), clock, lease=LEASE)
    else:
        from foliot.stores.postgres import PostgresStore  # noqa: PLC0415 - its driver may not be there
        from foliot.testing.servers import postgres_server  # noqa: PLC0415 - as above

        with postgres_server() as server:
            url = server.url
            yield lambda clock, name: PostgresStore(f"{url}?schema={name}", time=clock, lease=LEASE)


@asynccontextmanager
async def _in_memory(clock: ManualClock, _: str) -> AsyncIterator[Store]:
    yield MemoryStore(clock, lease=LEASE)


def main() -> None:
    """Measure one store."""
    parser = ArgumentParser(prog="python -m benchmarks.fire.equilibrium", description=__doc__.split("\n")[0])
    parser.add_argument("--store", choices=("memory", "sqlite", "postgres"), default="sqlite")
    parser.add_argument("--jobs", type=int, default=2000)
    options = parser.parse_args()
    with store_of(options.store) as open_store:
        seen = measure_equilibrium(open_store, options.jobs, 2)
    print(json.dumps({"store": options.store, **asdict(seen), "ratio": round(seen.ratio, 3)}))


if __name__ == "__main__":
    main()
