"""The program of a worker process: open the store, say `ready`, wait for a line, lock jobs, and say which."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import signal
import sys
from datetime import UTC, datetime
from typing import Any

from foliot.doors.documents.job import JobStore


async def drain(store: JobStore, until: datetime) -> list[Any]:
    """Lock jobs until none is left; their ids."""
    took: list[Any] = []
    while (job := await store.lock_next(until)) is not None:
        took.append(job.id)
    return took


async def _work(told: dict[str, Any]) -> None:
    spec = importlib.util.spec_from_file_location(told["module"], told["file"])
    assert spec is not None  # noqa: S101 - part of a test suite
    assert spec.loader is not None  # noqa: S101 - the same
    module = importlib.util.module_from_spec(spec)
    sys.modules[told["module"]] = module
    spec.loader.exec_module(module)
    until = datetime.fromtimestamp(told["until"], UTC)
    async with getattr(module, told["name"])(told["where"]) as store:
        _say("ready")
        await asyncio.to_thread(sys.stdin.readline)
        if told["mode"] == "hold":
            await store.lock_next(until)
            _say("held")
            signal.pause()
        else:
            _say(json.dumps(list(map(str, await drain(store, until)))))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    first = json.loads(sys.stdin.readline())
    sys.path[:] = first["path"]
    asyncio.run(_work(first))
