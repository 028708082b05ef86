"""Races and crashes of workers that are processes of the operating system."""

# ruff: noqa: S101 - cases of a test suite: their names are their sentences

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from typing import Any

from foliot.testing.documents.crowd import JOBS, WORKERS, each_once
from foliot.testing.documents.stage import HOUR, MINUTE, Contract, Stage, scenario


class SharedStoreContract(Contract):
    """What a store must do that several processes open."""

    @scenario
    async def test_no_two_processes_get_the_same_job(self, stage: Stage) -> None:
        ids = [await stage.add(MINUTE) for _ in range(JOBS)]
        workers = await asyncio.gather(*(self._worker(stage, HOUR.total_seconds()) for _ in range(WORKERS)))
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write(b"go\n")
        answers = [(await worker.communicate())[0] for worker in workers]
        each_once([str(id_) for id_ in ids], [json.loads(answer) for answer in answers])

    @scenario
    async def test_the_job_of_a_killed_process_comes_back_when_its_lock_has_ended(self, stage: Stage) -> None:
        id_ = await stage.add(HOUR)
        worker = await self._worker(stage, -MINUTE.total_seconds(), "hold")
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(b"go\n")
        assert await worker.stdout.readline() == b"held\n"
        worker.kill()
        await worker.communicate()
        again = await stage.locked()
        assert (again.id, again.sleep_until) == (id_, stage.now - MINUTE)

    async def _worker(self, stage: Stage, seconds: float, mode: str = "drain") -> Process:
        """A process that has opened the same store, and waits for a line."""
        factory: Any = type(self).open_store
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "foliot.testing.documents.worker", stdin=PIPE, stdout=PIPE
        )
        assert worker.stdin is not None
        assert worker.stdout is not None
        file = sys.modules[factory.__module__].__file__
        told = {
            "module": factory.__module__, "file": file, "name": factory.__name__, "where": stage.where,
            "until": (stage.now.timestamp() + seconds), "mode": mode, "path": sys.path,
        }  # fmt: skip
        worker.stdin.write(json.dumps(told).encode() + b"\n")
        assert await worker.stdout.readline() == b"ready\n"
        return worker
