"""A process that follows a repository until it is killed: arguments are the repository and the cache."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from foliot.clock import SystemClock
from foliot.errors import FoliotError
from foliot.model.job import Action, Job
from foliot.schedules import Cron
from foliot.sources.git.follow import GitSource


def parse(config: bytes, _revision: str, _files: object) -> list[Job]:
    action = Action(kind="shell:s", data={"run": "true"})
    return [
        Job(source="s", name=word, schedule=Cron("@daily"), action=action) for word in config.decode().split()
    ]


async def follow(repository: str, cache: str) -> None:
    source = GitSource(repository, Path(cache), parse, clock=SystemClock())
    await source.start()
    sys.stdout.write("following\n")
    sys.stdout.flush()
    while True:
        with suppress(FoliotError):
            await source.refresh()


asyncio.run(follow(*sys.argv[1:]))
