"""A program that runs an application: signals, kills, and two copies started by mistake. Real processes."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest

from foliot.clock import SystemClock

PATIENCE = 30
PROGRAM = textwrap.dedent(
    """
    import asyncio, logging, sys
    from foliot import Cron, Every, Foliot

    logging.basicConfig(level="INFO", stream=sys.stdout, format="%(message)s")
    app = Foliot("sqlite:///jobs.db", name="p", drain=sys.argv[1])

    def say(*words):
        sys.stdout.write(" ".join(map(str, words)) + chr(10))  # in one piece: the log writes, too
        sys.stdout.flush()

    @app.job(Cron("0 0 1 1 *"))
    async def long(run):
        say("long", run.attempt, run.trigger)
        if run.attempt == 1:
            await asyncio.sleep(float(sys.argv[2]))
        say("ended", run.attempt)

    @app.job(Every("1s"))
    def tick(run):
        say("tick", run.key)

    async def main():
        if len(sys.argv) > 3:
            await app.trigger("long", request=sys.argv[3])
        await app.run()
        say("over")

    asyncio.run(main())
    """
)


class Program:
    """A program that was started, and what it says."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def until(self, word: str) -> str:
        """Read on until a line begins with a word."""
        for line in self.said():
            if line.startswith(word):
                return line
        pytest.fail(f"it never said {word!r}, but: {self.lines}")

    def said(self) -> Iterator[str]:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            yield self.lines[-1]

    def rest(self) -> list[str]:
        """What it says until its end."""
        return list(self.said())

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


def check_integrity(folder: Path) -> None:
    connection = sqlite3.connect(folder / "jobs.db")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        connection.close()


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """A folder with a database that knows the jobs."""
    with Program(tmp_path, "1s", "0") as program:
        program.until("tick")
        program.send(signal.SIGTERM)
        assert program.rest()[-1] == "over"
        assert program.process.wait(PATIENCE) == 0
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_what_runs_end(declared: Path, number: signal.Signals) -> None:
    with Program(declared, "20s", "0.7", "once") as program:
        program.until("long")
        program.send(number)
        said = program.rest()
        assert "ended 1" in said
        assert said[-1] == "over"
        assert program.process.wait(PATIENCE) == 0


def test_a_second_signal_ends_what_runs_at_once_and_it_starts_again_next_time(declared: Path) -> None:
    with Program(declared, "20s", "20", "twice") as program:
        program.until("long")
        program.send(signal.SIGTERM)
        program.until("stop_asked")
        program.send(signal.SIGTERM)
        said = program.rest()
        assert "ended 1" not in said
        assert said[-1] == "over"
    with Program(declared, "1s", "0") as program:
        assert program.until("long") == "long 2 lost"


def test_a_killed_program_picks_its_own_run_up_at_once(declared: Path) -> None:
    """Not after the lease of 30 seconds: its lock file proves that it is dead."""
    with Program(declared, "20s", "20", "killed") as program:
        program.until("long")
        program.send(signal.SIGKILL)
    with Program(declared, "1s", "0") as program:
        assert program.until("long") == "long 2 lost"
        assert program.until("ended") == "ended 2"
    check_integrity(declared)


def test_two_copies_started_by_mistake_run_each_occurrence_once(declared: Path) -> None:
    with ExitStack() as stack:
        programs = [stack.enter_context(Program(declared, "1s", "0")) for _ in range(2)]
        SystemClock().sleep(4)  # real processes, real time
        for program in programs:
            program.send(signal.SIGTERM)
        assert [program.rest()[-1] for program in programs] == ["over", "over"]
        ticks = [line for program in programs for line in program.lines if line.startswith("tick")]
        assert len(ticks) == len(set(ticks)) >= 3
