"""Schedulers that are killed: real processes on one SQLite file."""

from __future__ import annotations

import signal
import sqlite3
import sys
import textwrap
from pathlib import Path

import pytest

from foliot.clock import SystemClock
from programs import PATIENCE, Program

PROGRAM = textwrap.dedent(
    """
    import asyncio, sys
    from datetime import timedelta
    from foliot.doors.declarative import Scheduler

    def tell(event):
        print(event.name, getattr(event, "task", ""), flush=True)

    async def long():
        print("called long", flush=True)
        if sys.argv[1] == "hang":
            await asyncio.sleep(600)

    async def main():
        scheduler = Scheduler("sqlite:///tasks.db", listeners=[tell])
        every = "* * * * *" if sys.argv[2] == "now" else "0 0 1 1 *"
        await scheduler.initialize([("long", every, long, timedelta(minutes=5))])
        print("running", flush=True)
        await asyncio.sleep(float(sys.argv[3]))
        await scheduler.stop()
        print("over", flush=True)

    asyncio.run(main())
    """
)


def program(folder: Path, *arguments: str) -> Program:
    return Program(folder, sys.executable, "-c", PROGRAM, *arguments)


def check(folder: Path) -> None:
    connection = sqlite3.connect(folder / "tasks.db")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        connection.close()


@pytest.mark.req("DECL-31", "DECL-33")
def test_a_callback_that_was_killed_is_restarted_at_once(tmp_path: Path) -> None:
    """A minute is promised; its lock file proves the process dead, so it takes no more than a start does."""
    with program(tmp_path, "hang", "now", "600") as first:
        first.read_until("called long")
        first.end(signal.SIGKILL)
    check(tmp_path)
    started_at = SystemClock().monotonic()
    with program(tmp_path, "end", "later", "1") as second:
        second.read_until("TaskRunStarted long")
        second.read_until("called long")
        assert SystemClock().monotonic() - started_at < 15
        second.read_until("TaskRunCompleted long")
        second.read_until("over")
        assert second.process.wait(PATIENCE) == 0
    check(tmp_path)
    with program(tmp_path, "end", "later", "0.5") as third:
        third.read_until("over")
        assert not any("called" in line for line in third.lines)


@pytest.mark.req("DECL-33")
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.25, 0.4, 0.5, 0.6])
def test_a_kill_at_any_moment_of_a_start_leaves_a_state_that_the_next_start_takes(
    tmp_path: Path, delay: float
) -> None:
    with program(tmp_path, "end", "later", "600") as first:
        SystemClock().sleep(delay)  # real processes, real time
        first.end(signal.SIGKILL)
    with program(tmp_path, "end", "now", "1") as second:
        second.read_until("running")
        second.read_until("over")
        assert second.process.wait(PATIENCE) == 0
    check(tmp_path)


@pytest.mark.req("OWN-22")
def test_two_processes_share_a_task_and_each_minute_runs_once(tmp_path: Path) -> None:
    with program(tmp_path, "end", "now", "2") as one, program(tmp_path, "end", "now", "2") as other:
        lines = one.read_to_end() + other.read_to_end()
    assert "over" in one.lines
    assert "over" in other.lines
    assert 1 <= lines.count("called long") <= 2  # two if a minute began meanwhile
