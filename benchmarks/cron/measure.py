"""Timing in turns: every library once per round, the order rotated, the median of the rounds."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from time import perf_counter

_FEWEST_INSTANTS = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured."""

    rounds: int
    instants: int
    run_length: int
    sample_seconds: float
    jobs: int


FULL = Effort(rounds=11, instants=2_000, run_length=200, sample_seconds=0.02, jobs=1_000_000)
QUICK = Effort(rounds=3, instants=250, run_length=20, sample_seconds=0.001, jobs=200_000)


@dataclass(frozen=True, slots=True)
class Work:
    """Something to time, and how many answers it gives."""

    do: Callable[[], object]
    answers: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per answer, in the rounds of one measurement."""

    median: float
    fastest: float
    slowest: float
    answers: int


def take_turns(works: Mapping[str, Work], rounds: int) -> dict[str, Timing]:
    """Time each work once per round."""
    names = list(works)
    samples: dict[str, list[float]] = {name: [] for name in names}
    with quiet_collector():
        for turn in range(rounds):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                samples[name].append(stopwatch(works[name].do) / works[name].answers)
                gc.collect()
    return {
        name: Timing(median(seen), min(seen), max(seen), works[name].answers)
        for name, seen in samples.items()
    }


def size_up(
    answer: Callable[[Sequence[datetime]], object], instants: Sequence[datetime], seconds: float
) -> Work:
    """Work that takes about that long: fewer instants for a slow library, many passes for a fast one."""
    trial = instants[:_FEWEST_INSTANTS]
    pace = stopwatch(lambda: answer(trial)) / len(trial)
    part = instants[: max(_FEWEST_INSTANTS, int(seconds / pace))]
    passes = max(1, round(seconds / pace / len(part)))
    return Work(_repeat(lambda: answer(part), passes), passes * len(part))


def size_up_run(run: Callable[[], object], length: int, seconds: float) -> Work:
    """Runs of one length, as many as take about that long."""
    passes = max(1, round(seconds / stopwatch(run)))
    return Work(_repeat(run, passes), passes * length)


def stopwatch(do: Callable[[], object]) -> float:
    """How many seconds something takes."""
    start = perf_counter()
    do()
    return perf_counter() - start


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Keep the garbage collector from running in anybody's time.

    What is there already is set aside, so that collecting between two samples does not walk through
    all modules of all libraries.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _repeat(do: Callable[[], object], passes: int) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(passes):
            do()

    return repeated
