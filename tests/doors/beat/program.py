"""A scheduler as a process: python program.py URL PREFIX OPTIONS. Its queue is a list in Redis.

Options, as JSON: `schedules` and `added`, fields of each; `dies`: the process ends, as by `kill -9`, when its
queue has taken a job. Its log goes to stdout, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

import redis

from foliot.doors.beat import CronScheduler, DuplicateScheduleError, Job, Registry, Schedule
from foliot.observability import configure_logging

url, prefix, text = sys.argv[1:]
options: dict[str, Any] = json.loads(text)


class ListQueue:
    """Jobs in a list of the server's."""

    def __init__(self) -> None:
        self._client = redis.Redis.from_url(url)

    def enqueue(self, job: Job) -> None:
        self._client.rpush(
            f"{prefix}:out", json.dumps({"id": job.id, "pid": str(os.getpid()), **job.metadata})
        )
        if options.get("dies"):
            os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    registry = Registry()
    for fields in options["schedules"]:
        registry.must_register(Schedule(**fields))
    scheduler = CronScheduler(registry, ListQueue(), url, prefix=prefix, lease="2s")
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(scheduler.start())
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    for fields in options.get("added", ()):
        try:
            await scheduler.add(Schedule(**fields))
        except DuplicateScheduleError:
            continue
    try:
        await task
    except asyncio.CancelledError:
        print("stopped", flush=True)  # noqa: T201 - for the test


configure_logging("json", stream=sys.stdout)
asyncio.run(main())
