"""A shell executor without an engine, and ways to find out who is still there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from foliot.errors import FoliotError
from foliot.executors.run_log import RunLog
from foliot.executors.shell.executor import ShellExecutor
from foliot.executors.shell.warden import process_tree
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.job import Action, Job
from foliot.protocols import AskToEnd, Result, Run
from foliot.schedules import Cron
from foliot.testing.clock import ManualClock

PATIENCE = 30
REVISION = "0123abc"
GRACE = timedelta(seconds=0.4)
LINGER = timedelta(seconds=0.2)
_numbers = count()


class Spot(NamedTuple):
    path: Path
    revision: str = REVISION


class Folder:
    """One directory for all runs; keeps who is in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inside: list[str] = []
        self.left: list[str] = []
        self.is_open = True

    def enter(self, run: Run) -> Spot:
        if not self.is_open:
            raise FoliotError("there is no snapshot")
        self.inside.append(run.attempt.run_key)
        return Spot(self.path)

    def leave(self, run: Run) -> None:
        self.inside.remove(run.attempt.run_key)
        self.left.append(run.attempt.run_key)


def a_run(command: object, **data: Any) -> Run:
    """A run of a job that no other test has."""
    name = f"n{next(_numbers)}-{uuid4().hex[:12]}"
    action = Action(kind="shell:s", data={"run": command, "name": "A job", **data})
    job = Job(source="s", name=name, schedule=Cron("@daily"), action=action)
    attempt = Attempt(job.key, 1, Trigger.SCHEDULE, AttemptState.RUNNING, ManualClock().now(), token=7)
    return Run(job, attempt)


def id_of(run: Run) -> str:
    return f"{run.attempt.run_key}#{run.attempt.number}"


class Stage:
    """An executor, and the results of what it was given."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.folder = Folder(path)
        self.followed: list[tuple[Run, RunLog]] = []
        if options.pop("is_followed", False):
            options["follow_log"] = lambda *told: self.followed.append(told)
        self.executor = ShellExecutor(self.folder, **{"grace": GRACE, "linger": LINGER, **options})
        self._results: dict[str, asyncio.Future[Result]] = {}
        self.ended: list[str] = []

    def start(self, run: Run) -> AskToEnd:
        self._results[id_of(run)] = asyncio.get_running_loop().create_future()
        return self.executor.start(run, self._end)

    def _end(self, run: Run, result: Result) -> None:
        self.ended.append(id_of(run))
        self._results[id_of(run)].set_result(result)

    async def result(self, run: Run) -> Result:
        return await asyncio.wait_for(self._results[id_of(run)], PATIENCE)

    async def see(self, command: object, **data: Any) -> Result:
        """Start it, and wait for its end."""
        run = a_run(command, **data)
        self.start(run)
        return await self.result(run)

    @property
    def warden(self) -> int:
        """The guard's pid."""
        pid = self.executor.warden
        assert pid is not None
        return pid

    @property
    def worker(self) -> int:
        (pid,) = process_tree.children_by_file(self.warden)
        return pid


def play(path: Path, scene: Callable[[Stage], Coroutine[Any, Any, None]], **options: Any) -> Stage:
    """Let a scene happen; then everything is closed, and nobody is left."""
    stages: list[Stage] = []

    async def act() -> None:
        stage = Stage(path, **options)
        stages.append(stage)
        try:
            await scene(stage)
        finally:
            await asyncio.wait_for(stage.executor.close(), PATIENCE)

    asyncio.run(act())
    (stage,) = stages
    assert not stage.folder.inside
    assert len(stage.ended) == len(set(stage.ended))
    return stage


def see(path: Path, command: object, **data: Any) -> Result:
    """The result of one command."""
    results: list[Result] = []

    async def scene(stage: Stage) -> None:
        results.append(await stage.see(command, **data))

    play(path, scene)
    return results[0]


def alive(words: Iterable[str]) -> list[str]:
    """The command lines of living processes that have one of these words there, or in their environment."""
    wanted = [word.encode() for word in words]
    found = []
    for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
        told = _content(pid, "cmdline") + b"\0" + _content(pid, "environ")
        if pid != os.getpid() and any(word in told for word in wanted) and not process_tree.is_dead(pid):
            found.append(f"{pid}: {_content(pid, 'cmdline')[:200]!r}")
    return found


def _content(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def files_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def threads_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def memory_of(pid: int) -> int:
    """Anonymous memory, in kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


async def until(is_so: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait for something outside that sends no word."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while not is_so():
        assert loop.time() < deadline, "it did not happen"
        await asyncio.to_thread(os.sched_yield)
        await asyncio.wait([loop.create_future()], timeout=0.005)
