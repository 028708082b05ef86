"""Goal P3 on a server: a store and a bare loop take turns, and both tell what they cost.

Rates are noise on a busy machine; the processor time of both sides is not. `python_us` is that of this
process, `server_us` that of the server, each for a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from statistics import median
from time import process_time
from typing import Any

from benchmarks.fire.batches import BARE, STORE, claim_and_finish, declare_all
from foliot.protocols import Store

Work = Callable[[str, int, int], float]  # a place, runs and a batch; the seconds that it takes
OpenStore = Callable[[str], AbstractAsyncContextManager[Store]]


def through(open_store: OpenStore) -> Work:
    """The work through a store, which is opened at a place."""

    async def work(place: str, runs: int, batch: int) -> float:
        async with open_store(place) as store:
            return await claim_and_finish(store, runs, batch)

    return lambda *facts: asyncio.run(work(*facts))


async def prepare(open_store: OpenStore, place: str, runs: int) -> None:
    """Jobs that are due, at a place."""
    async with open_store(place) as store:
        await declare_all(store, runs)


def in_pairs(  # noqa: PLR0913 - two works, and what they need
    open_store: OpenStore,
    bare: Work,
    new_place: Callable[[], str],
    server_seconds: Callable[[], float],
    *,
    runs: int,
    batch: int,
    rounds: int,
) -> dict[str, Any]:
    """Both in turns, each on jobs of its own; who begins changes."""
    works = {STORE: through(open_store), BARE: bare}
    seen: dict[str, list[tuple[float, float, float]]] = {name: [] for name in works}
    for turn in range(rounds):
        for name in sorted(works, reverse=bool(turn % 2)):
            place = new_place()
            asyncio.run(prepare(open_store, place, runs))
            ours, servers = process_time(), server_seconds()
            seconds = works[name](place, runs, batch)
            ours, servers = process_time() - ours, server_seconds() - servers
            seen[name].append((runs / seconds, 1e6 * ours / runs, 1e6 * servers / runs))
    found: dict[str, Any] = {}
    for name, rows in seen.items():
        rate, python, server = (median(column) for column in zip(*rows, strict=True))
        found[name] = {
            "runs_per_second": round(rate), "python_us": round(python, 1), "server_us": round(server, 1),
        }  # fmt: skip
    through_it, beside = found[STORE], found[BARE]
    found["ratio"] = round(through_it["runs_per_second"] / beside["runs_per_second"], 3)
    found["cpu_ratio"] = round(_cpu(beside) / _cpu(through_it), 3)
    return found


def _cpu(row: Mapping[str, float]) -> float:
    return row["python_us"] + row["server_us"]
