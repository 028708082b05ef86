"""Races: several workers, as tasks and as threads."""

# ruff: noqa: S101 - cases of a test suite: their names are their sentences

from __future__ import annotations

import asyncio
import threading
from typing import Any

from foliot.testing.documents.stage import HOUR, MINUTE, PATIENCE, Contract, Stage, scenario
from foliot.testing.documents.worker import drain

JOBS, WORKERS = 40, 4


class CrowdContract(Contract):
    """What holds for one worker must hold for any number of any kind."""

    @scenario
    async def test_no_two_tasks_get_the_same_job(self, stage: Stage) -> None:
        ids = [await stage.add(MINUTE) for _ in range(JOBS)]
        took = await asyncio.gather(*(drain(stage.store, stage.now + HOUR) for _ in range(WORKERS)))
        each_once(ids, took)

    @scenario
    async def test_no_two_threads_get_the_same_job(self, stage: Stage) -> None:
        ids = [await stage.add(MINUTE) for _ in range(JOBS)]
        barrier = threading.Barrier(WORKERS, timeout=PATIENCE)

        async def opened() -> list[Any]:
            async with stage.open_again() as store:
                barrier.wait()
                return await drain(store, stage.now + HOUR)

        took = await asyncio.gather(
            *(asyncio.to_thread(lambda: asyncio.run(opened())) for _ in range(WORKERS))
        )
        each_once(ids, took)


def each_once(ids: list[Any], took: list[list[Any]]) -> None:
    """Assert that the workers together took each job, and none twice."""
    together = sorted(str(id_) for one in took for id_ in one)
    assert together == sorted(map(str, ids)), "each job, once"
