"""Other processes of the operating system that work in the same store, and may be killed in the middle."""

# ruff: noqa: S101 - part of a test suite: it asserts, and pytest shows what was wrong

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from foliot.clock import SystemClock
from foliot.testing.contract.stage import Sharing

# What a process had sent to a server before it was killed may take effect a little later.
_ARRIVAL = timedelta(milliseconds=200)


class Worker:
    """One process that opens the store, and then waits for its sign."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, sharing: Sharing, now: datetime, work: Mapping[str, Any]) -> Worker:
        """A process that will do some work, with a clock that stands at `now`."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "foliot.testing.contract.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )  # fmt: skip
        factory = inspect.unwrap(sharing.factory)
        told = {
            "module": factory.__module__,
            "file": inspect.getfile(factory),
            "name": factory.__name__,
            "where": sharing.where,
            "now": now.isoformat(),
        }
        worker = cls(process)
        worker._say(json.dumps(told | dict(work)))
        return worker

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")

    def go(self) -> None:
        """Give the sign."""
        self._say("go")

    async def is_ready(self) -> bool:
        """Wait until it has opened the store; whether it could."""
        assert self._process.stdout is not None
        return await self._process.stdout.readline() == b"ready\n"

    async def answer(self) -> Any:
        """What it has to say, when it has ended."""
        out, errors = await self._process.communicate()
        assert self._process.returncode == 0, errors.decode(errors="replace")
        return json.loads(out)

    async def die(self) -> None:
        """Kill it, as a power cut would."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()


async def kill_at_work(sharing: Sharing, now: datetime, work: Mapping[str, Any], after: timedelta) -> None:
    """Let a process work for so long, and kill it in the middle."""
    clock = SystemClock()
    worker = await Worker.start(sharing, now, work)
    try:
        if not await worker.is_ready():
            await worker.answer()
        worker.go()
        await clock.wait(after)
    finally:
        await worker.die()
    await clock.wait(_ARRIVAL)


async def work_together(sharing: Sharing, now: datetime, works: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Let as many processes as there are works do them, all at once; what each had to say."""
    workers = [await Worker.start(sharing, now, work) for work in works]
    try:
        for worker in workers:
            if not await worker.is_ready():
                await worker.answer()
        for worker in workers:
            worker.go()
        return [await worker.answer() for worker in workers]
    finally:
        for worker in workers:
            await worker.die()
