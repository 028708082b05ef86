"""A node as a program: `python suspended.py FOLDER NAME SLOTS [wait]`. It tells what it does, in lines.

`wait`: before its first start it waits until somebody makes the file `go`: there its host is suspended.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from engine.stage import Watch
from foliot.clock import SystemClock
from foliot.engine.engine import Engine
from foliot.engine.settings import Settings
from foliot.executors.task import TaskExecutor
from foliot.model.attempt import Outcome
from foliot.protocols import Result, Run
from foliot.stores.sqlite import SqliteStore

LEASE = timedelta(hours=1)


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Tellers(Watch):
    def on_turn(self, what: str, *_: object) -> None:
        say("turn", what)


class Loud(TaskExecutor):
    """Says when it starts; a job whose name is `long` goes on until it is ended."""

    async def execute(self, run: Run) -> Result:
        say("start", run.job.name)
        if run.job.name == "long":
            try:
                await asyncio.Event().wait()
            finally:
                say("end", run.job.name)
        return Result(Outcome.SUCCEEDED)


async def main(folder: Path, name: str, slots: int, *, waits: bool) -> None:
    clock, ids, stood = SystemClock(), count(), list[str]()

    def failpoint(step: str) -> None:
        if step == "before_start" and waits and not stood:
            stood.append(step)
            say("claimed", engine.node)
            while not (folder / "go").exists():
                clock.sleep(0.01)

    watch: Any = Tellers()
    async with SqliteStore(folder / "jobs.db", clock, lease=LEASE) as store:
        engine = Engine(
            store,
            {"x": Loud()},
            clock=clock,
            settings=Settings(slots={"default": slots}, beat=LEASE / 3, poll=timedelta(seconds=0.1)),
            new_id=lambda: f"{name}-{next(ids)}",
            monitors=(watch,),
            failpoint=failpoint,
        )
        await engine.run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), waits="wait" in sys.argv[4:]))
