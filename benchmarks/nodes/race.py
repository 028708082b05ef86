"""Goal P9, and the headline: jobs that are all due at the same second, and nodes that share them."""

from __future__ import annotations

import asyncio
import math
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.fire.child import OnProgress
from benchmarks.fire.usage import Usage, usage_now
from benchmarks.nodes.effort import Effort
from benchmarks.nodes.node import ACTION, SOURCE
from benchmarks.nodes.process import NodeProcess, node_process
from benchmarks.nodes.server import Server
from foliot import Foliot, Once
from foliot.app.options import Scheduled
from foliot.clock import SystemClock
from foliot.wiring import open_store

_LEAD = 2.0  # seconds, and those that it takes to declare the jobs
_SPARE = 0.7
_PACE = 6_000  # jobs that are declared in a second, guessed low
_MOST_TRIES = 4
_LEASE = timedelta(seconds=30)
_LOOK = timedelta(milliseconds=100)
_PATIENCE = 600.0
_POINTS = 200
_SHARE = 0.1  # of the progress that is for declaring
clock = SystemClock()


class TooLateError(Exception):
    """The jobs were due before all of them were declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """One race: seconds after the jobs were due, busy cores, and how often which wait was seen."""

    nodes: int
    jobs: int
    first: float
    median: float
    last: float
    recorded: float
    declaring: float
    shares: tuple[int, ...]
    cores: Usage
    waits: dict[str, int]
    curve: tuple[tuple[float, int], ...]

    @property
    def starts_per_second(self) -> float:
        """From the moment when all are due to the last start."""
        return self.jobs / self.last

    @property
    def pace(self) -> float:
        """Jobs that were declared in a second, and some time to spare."""
        return self.jobs / self.declaring * _SPARE

    @property
    def busy(self) -> float:
        """Which part of all cores was busy, with this race or with other things."""
        return sum(self.cores) / (os.cpu_count() or 1)


def measure_races(effort: Effort, server: Server, on_step: Callable[[str], OnProgress]) -> dict[int, Race]:
    """For each number of nodes the race of the median round, or the one just after; in turns."""
    seen: dict[int, list[Race]] = {count: [] for count in effort.nodes}
    for turn in range(effort.rounds):
        for count in effort.nodes[:: -1 if turn % 2 else 1]:
            on_progress = on_step(f"race {turn + 1}: {counted(count)}, {effort.jobs:,} jobs")
            seen[count].append(run_race(server, count, effort.jobs, on_progress))
    return {count: sorted(races, key=_last)[len(races) // 2] for count, races in seen.items()}


def counted(nodes: int) -> str:
    """So many nodes, in words."""
    return "1 node" if nodes == 1 else f"{nodes} nodes"


def _last(race: Race) -> float:
    return race.last


def run_race(server: Server, nodes: int, jobs: int, on_progress: OnProgress, *, pace: float = _PACE) -> Race:
    """One race; with more time to declare the jobs if it was too little. `pace`: how many in a second."""
    lead = _LEAD + jobs / pace
    for number in range(_MOST_TRIES):
        schema = f"race_{nodes}_{jobs}_{number}"
        try:
            with server.schema(schema) as url, TemporaryDirectory(prefix="foliot-bench-") as folder:
                race = _Race(server, url, nodes, jobs, on_progress)
                found = asyncio.run(race.run(Path(folder), lead))
                if server.successes(schema) != jobs:
                    raise ValueError(f"{server.successes(schema)} of {jobs} runs have succeeded")
                return found
        except TooLateError:
            lead *= 2
    raise TimeoutError(f"{jobs} jobs are not declared within {lead / 2} s")


class _Race:
    """A race under way."""

    def __init__(self, server: Server, url: str, nodes: int, jobs: int, on_progress: OnProgress) -> None:
        self._server = server
        self._url = url
        self._nodes = nodes
        self._jobs = jobs
        self._on_progress = on_progress
        self._waits: Counter[str] = Counter()

    async def run(self, folder: Path, lead: float) -> Race:
        async with open_store(self._url, clock, lease=_LEASE):
            pass  # so that the nodes find the tables there
        due = datetime.fromtimestamp(math.ceil(clock.now().timestamp() + lead + self._nodes), UTC)
        paths = [folder / str(number) for number in range(self._nodes)]
        async with AsyncExitStack() as stack:
            nodes = [
                await stack.enter_async_context(node_process(self._url, due.timestamp(), path))
                for path in paths
            ]
            await asyncio.gather(*(node.until_ready() for node in nodes))
            declaring = await self._declare(due)
            cores = await self._watch(nodes, due)
            answers = [await node.stop() for node in nodes]
        starts = array("d", sorted(start for path in paths for start in _read(path)))
        return self._found(starts, declaring, cores, answers)

    async def _declare(self, due: datetime) -> float:
        """Declare the jobs, each with a payload of its own; how long that took."""
        began = clock.monotonic()
        app = Foliot(self._url, name=SOURCE, clock=clock)
        app.action(_never_run_here, name=ACTION)
        await app.schedule_many(self._each(Once(due)))
        app.close()
        if clock.now() + _LOOK * 2 >= due:
            raise TooLateError
        return clock.monotonic() - began

    def _each(self, at: Once) -> Iterator[Scheduled]:
        for number in range(self._jobs):
            yield f"user-{number}", at, ACTION, {"user": number}
            if number % 1_000 == 0:
                self._on_progress(number / self._jobs * _SHARE)

    async def _watch(self, nodes: list[NodeProcess], due: datetime) -> Usage:
        """Look on until all have ended; how many cores were busy meanwhile, and for whom."""
        await clock.wait(due - clock.now())
        before, began = self._usage(nodes), clock.monotonic()
        while (ended := sum(node.ended for node in nodes)) < self._jobs:
            await clock.wait(_LOOK)
            self._waits += self._server.waits()
            self._on_progress(_SHARE + ended / self._jobs * (1 - _SHARE))
            if clock.monotonic() > began + _PATIENCE:
                raise TimeoutError(f"{ended} of {self._jobs} jobs have ended")
            for node in nodes:
                node.check()
        return self._usage(nodes).per_second(before, clock.monotonic() - began)

    def _usage(self, nodes: list[NodeProcess]) -> Usage:
        return usage_now([node.number for node in nodes], self._server.process)

    def _found(
        self, starts: array[float], declaring: float, cores: Usage, answers: list[dict[str, float]]
    ) -> Race:
        if len(starts) != self._jobs:
            raise ValueError(f"{len(starts)} starts of {self._jobs} jobs")
        points = [*range(0, self._jobs, max(1, self._jobs // _POINTS)), self._jobs - 1]
        return Race(
            nodes=self._nodes,
            jobs=self._jobs,
            first=starts[0],
            median=starts[len(starts) // 2],
            last=starts[-1],
            recorded=max(answer["recorded"] for answer in answers if answer["ended"]),
            declaring=declaring,
            shares=tuple(int(answer["ended"]) for answer in answers),
            cores=cores,
            waits=dict(self._waits.most_common()),
            curve=tuple((round(starts[point], 4), point + 1) for point in points),
        )


async def _never_run_here(user: int) -> None:
    raise AssertionError(user)


def _read(path: Path) -> array[float]:
    starts = array("d")
    with path.open("rb") as file:
        starts.frombytes(file.read())
    return starts
