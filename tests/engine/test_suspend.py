"""A host that was suspended, or a virtual machine that was paused: its nodes notice that their lease is over.

Real processes on a real file. That a host slept is what CLOCK_BOOTTIME tells them (see `suspend`).
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import pytest

from engine.stage import job
from engine.suspended import LEASE
from foliot.clock import SystemClock
from foliot.engine.plan_command import RunNow, plan_command
from foliot.engine.reconciler import reconcile
from foliot.protocols import Snapshot
from foliot.stores.sqlite import SqliteStore
from suspend import Sleeper

PATIENCE = 60
CLOCK = SystemClock()
NIGHT = 8 * 3600

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has CLOCK_BOOTTIME")


class Node:
    """A node's process, and the lines it has told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.told: list[str] = []
        self._lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def until(self, beginning: str, times: int = 1) -> str:
        """Wait for a line; the last of that many."""
        line, give_up_at = "", CLOCK.monotonic() + PATIENCE
        while times:
            try:
                line = self._lines.get(timeout=max(0.0, give_up_at - CLOCK.monotonic()))
            except Empty:
                pytest.fail(f"no {beginning!r} came after {self.told[-100:]}")
            self.told.append(line)
            times -= line.startswith(beginning)
        return line


@pytest.fixture
def sleeper(tmp_path: Path) -> Sleeper:
    return Sleeper(tmp_path)


@contextmanager
def node(folder: Path, name: str, *options: str, sleeper: Sleeper | None = None) -> Iterator[Node]:
    environment = None if sleeper is None else sleeper.environment
    tests = Path(__file__).parents[1]
    command = [sys.executable, "-m", "engine.suspended", str(folder), name, *options]
    process = subprocess.Popen(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tests
    )
    try:
        yield Node(process)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def ask_for(folder: Path, *names: str) -> None:
    """Declare jobs, and ask for a run of each."""

    async def act() -> None:
        async with SqliteStore(folder / "jobs.db", SystemClock(), lease=LEASE) as store:
            now = await store.now()
            await reconcile(store, "code", Snapshot("1", tuple(job(n, "0 0 1 1 *") for n in names)), now)
            for name in names:
                await store.update(f"code/{name}", lambda r: plan_command(r, RunNow("please"), now))

    asyncio.run(act())


def bury(folder: Path, name: str) -> None:
    """What others do when its lease is over; here it is done at once, so that nobody waits for an hour."""

    async def act() -> None:
        async with SqliteStore(folder / "jobs.db", SystemClock(), lease=LEASE) as store:
            await store.leave(name)

    asyncio.run(act())


def test_a_host_that_slept_in_the_middle_of_the_starts_starts_nothing_twice(
    tmp_path: Path, sleeper: Sleeper
) -> None:
    names = [f"job-{number}" for number in range(5)]
    ask_for(tmp_path, *names)
    with node(tmp_path, "a", "5", "wait", sleeper=sleeper) as first:
        bury(tmp_path, first.until("claimed").split()[1])
        with node(tmp_path, "b", "5") as second:
            second.until("start", times=5)
        sleeper.sleep(NIGHT)
        (tmp_path / "go").touch()
        first.until("turn claim", times=2)  # the one in which it woke, and one in which all has begun

        assert not [line for line in first.told if line.startswith("start")]


def test_what_runs_on_a_host_that_slept_ends_when_it_wakes_and_not_a_third_of_a_lease_later(
    tmp_path: Path, sleeper: Sleeper
) -> None:
    ask_for(tmp_path, "long")
    with node(tmp_path, "a", "1", sleeper=sleeper) as sleeping:
        sleeping.until("start long")
        bury(tmp_path, "a-0")
        sleeper.sleep(NIGHT)

        assert sleeping.until("end long")
