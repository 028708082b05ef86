"""Those who start commands: each gives the seconds that it takes for so many."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from foliot.clock import SystemClock
from foliot.executors.shell.executor import ShellExecutor
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.job import Action, Job
from foliot.protocols import Result, Run
from foliot.schedules import Cron

AT_ONCE = 32
COMMAND = "true"
BALLAST = 1 << 30
_PATH = "/usr/local/bin:/usr/bin:/bin"
_CLOCK = SystemClock()


class Contender(NamedTuple):
    """A way to start commands."""

    name: str
    words: str
    race: Callable[[int], float]


def race_bare(count: int) -> float:
    """A loop that only starts and reaps."""
    live: dict[int, int] = {}
    begun = done = 0
    environment = {"PATH": _PATH}
    began = _CLOCK.monotonic()
    with select.epoll() as poll:
        while done < count:
            while begun < count and len(live) < AT_ONCE:
                pid = os.posix_spawn("/bin/sh", ["sh", "-c", COMMAND], environment, setsid=True)
                pidfd = os.pidfd_open(pid)
                poll.register(pidfd, select.EPOLLIN)
                live[pidfd] = pid
                begun += 1
            for pidfd, _ in poll.poll():
                os.waitpid(live.pop(pidfd), 0)
                poll.unregister(pidfd)  # a child that has not finished its exec may hold it open
                os.close(pidfd)
                done += 1
    return _CLOCK.monotonic() - began


def race_bare_with_pipes(count: int) -> float:
    """The same, with two pipes that are read to their end."""
    live: dict[int, tuple[int, int, int]] = {}
    begun = done = 0
    environment = {"PATH": _PATH}
    began = _CLOCK.monotonic()
    with select.epoll() as poll:
        while done < count:
            while begun < count and len(live) < AT_ONCE:
                (out, their_out), (err, their_err) = os.pipe(), os.pipe()
                actions = [(os.POSIX_SPAWN_DUP2, their_out, 1), (os.POSIX_SPAWN_DUP2, their_err, 2)]
                pid = os.posix_spawn(
                    "/bin/sh", ["sh", "-c", COMMAND], environment, file_actions=actions, setsid=True
                )
                os.close(their_out)
                os.close(their_err)
                pidfd = os.pidfd_open(pid)
                poll.register(pidfd, select.EPOLLIN)
                live[pidfd] = pid, out, err
                begun += 1
            for pidfd, _ in poll.poll():
                pid, *pipes = live.pop(pidfd)
                os.waitpid(pid, 0)
                for pipe in pipes:
                    while os.read(pipe, 1 << 16):
                        pass
                    os.close(pipe)
                poll.unregister(pidfd)
                os.close(pidfd)
                done += 1
    return _CLOCK.monotonic() - began


def race_asyncio(count: int) -> float:
    """What most programs would do: a task for each of `AT_ONCE`, and `create_subprocess_exec`."""

    async def some(number: int) -> None:
        for _ in range(number):
            process = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                COMMAND,
                env={"PATH": _PATH},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            await process.communicate()

    async def race() -> float:
        began = _CLOCK.monotonic()
        await asyncio.gather(*(some(count // AT_ONCE) for _ in range(AT_ONCE)))
        return _CLOCK.monotonic() - began

    return asyncio.run(race())


class _Spot(NamedTuple):
    path: Path
    revision: str = "0" * 40


class _Folder:
    def __init__(self, path: Path) -> None:
        self._spot = _Spot(path)

    def enter(self, _: Run) -> _Spot:
        return self._spot

    def leave(self, _: Run) -> None:
        pass


def _runs(count: int, command: str) -> list[Run]:
    action = Action(kind="shell:bench", data={"run": command, "name": "A job"})
    jobs = [Job(source="bench", name=f"n{n}", schedule=Cron("@daily"), action=action) for n in range(count)]
    now = _CLOCK.now()
    return [
        Run(job, Attempt(job.key, 1, Trigger.SCHEDULE, AttemptState.RUNNING, now, token=1)) for job in jobs
    ]


class _Race:
    """Keeps some runs going until all have ended."""

    def __init__(self, executor: ShellExecutor, runs: list[Run], at_once: int) -> None:
        self._executor = executor
        self._waiting = iter(runs)
        self._left = len(runs)
        self._at_once = at_once
        self.results: list[Result] = []
        self.done = asyncio.Event()

    def begin(self) -> None:
        for _ in range(self._at_once):
            self._next()

    def _next(self) -> None:
        if run := next(self._waiting, None):
            self._executor.start(run, self._end)

    def _end(self, _: Run, result: Result) -> None:
        self.results.append(result)
        self._next()
        if len(self.results) == self._left:
            self.done.set()


async def _race_ours(count: int) -> float:
    executor = ShellExecutor(_Folder(Path("/")))
    try:
        warm = _Race(executor, _runs(AT_ONCE, COMMAND), AT_ONCE)
        warm.begin()
        await warm.done.wait()
        race = _Race(executor, _runs(count, COMMAND), AT_ONCE)
        began = _CLOCK.monotonic()
        race.begin()
        await race.done.wait()
        took = _CLOCK.monotonic() - began
    finally:
        await executor.close()
    if any(result.outcome is not Outcome.SUCCEEDED for result in race.results):
        raise AssertionError("not every command succeeded")
    return took


def race_ours(count: int) -> float:
    """Our executor, with all that it watches over."""
    return asyncio.run(_race_ours(count))


def race_ours_in_a_large_daemon(count: int) -> float:
    """The same, in a process that holds a gigabyte."""
    ballast = bytearray(BALLAST)
    ballast[:: os.sysconf("SC_PAGESIZE")] = b"x" * (BALLAST // os.sysconf("SC_PAGESIZE"))
    return race_ours(count)


async def _burst(count: int) -> list[float]:
    executor = ShellExecutor(_Folder(Path("/")))
    try:
        race = _Race(executor, _runs(count, "date +%s.%N"), count)
        began = _CLOCK.now().timestamp()
        race.begin()
        await _CLOCK.wait(timedelta(minutes=2), race.done)
    finally:
        await executor.close()
    return sorted(float(result.output) - began for result in race.results)


def burst(count: int) -> list[float]:
    """How many seconds after the order each of so many commands had started, in a daemon without a warden."""
    return asyncio.run(_burst(count))


BARE = Contender("bare loop", "posix_spawn + pidfd in one process; reads nothing", race_bare)
OURS = Contender("Foliot", "ShellExecutor, as the daemon has it", race_ours)
CONTENDERS = (
    Contender("bare loop, two pipes", "as below, and output is read", race_bare_with_pipes),
    BARE,
    OURS,
    Contender("Foliot, 1 GB daemon", "the same, in a process that holds 1 GB", race_ours_in_a_large_daemon),
    Contender("asyncio", "create_subprocess_exec, pipes, communicate", race_asyncio),
)
