"""Whoever is killed, by whatever signal: nothing that was started outlives it, and what can go on does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from executors.shell.stage import Stage, a_run, alive, id_of, memory_of, play, until
from executors.shell.test_tree import HOSTILE, a_hostile_run
from foliot.executors.shell.executor import ShellExecutor
from foliot.executors.shell.warden import process_tree
from foliot.model.attempt import Outcome

TESTS = Path(__file__).parents[2]
PATIENCE = 10  # half a second is enough, but not on a host that is busy with other tests


class Daemon:
    """A process with an executor, and all the hostile commands running."""

    def __init__(self, folder: Path) -> None:
        pairs = [a_hostile_run(command) for command in HOSTILE.values()]
        self.tokens = [token for _, token in pairs]
        commands = [str(run.job.action.data["run"]) for run, _ in pairs]
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "executors.shell.daemon", str(folder), *commands],
            cwd=TESTS,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.marks = [*told["ids"], *self.tokens]
        self.warden: int = told["warden"]
        assert len(alive(self.marks)) > len(HOSTILE) / 2

    def survivors(self) -> list[str]:
        own = str(self.process.pid)
        return [line for line in alive(self.marks) if not line.startswith(own + ":")]

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_nothing_outlives_a_daemon_that_is_killed(tmp_path: Path, number: int) -> None:
    daemon = Daemon(tmp_path)
    daemon.process.send_signal(number)
    daemon.process.wait()
    asyncio.run(until(lambda: not daemon.survivors(), PATIENCE))
    asyncio.run(until(lambda: not Path(f"/proc/{daemon.warden}").exists(), PATIENCE))
    daemon.end()


def test_nothing_outlives_a_daemon_whose_fork_goes_on(tmp_path: Path) -> None:
    """A child of the daemon holds its end of the socket: nobody would ever read the end of it."""
    code = (
        "import asyncio, os, signal, sys; from executors.shell import daemon, stage\n"
        "class Forks(stage.Stage):\n"
        "    async def see(self, command):\n"
        "        result = await super().see(command)\n"
        "        if os.fork() == 0:\n"
        "            os.dup2(2, 1); os.execv is None or __import__('signal').pause()\n"
        "        return result\n"
        "daemon.Stage = Forks\n"
        "asyncio.run(daemon.main(*sys.argv[1:]))\n"
    )
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", code, str(tmp_path), "sleep 1000"], cwd=TESTS, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    (fork,) = [pid for pid in process_tree.children_by_file(process.pid) if pid != told["warden"]]
    assert alive(told["ids"])
    try:
        process.kill()
        process.wait()
        asyncio.run(until(lambda: not alive(told["ids"]), PATIENCE))
    finally:
        with suppress(ProcessLookupError):  # else it would hide what went wrong before
            os.kill(fork, signal.SIGKILL)
        process.communicate()


def kill_worker(stage: Stage) -> None:
    os.kill(stage.worker, signal.SIGKILL)


def kill_guard(stage: Stage) -> None:
    os.kill(stage.warden, signal.SIGKILL)


def kill_both(stage: Stage) -> None:
    worker, guard = stage.worker, stage.warden
    for pid in (guard, worker):
        os.kill(pid, signal.SIGSTOP)  # so that neither sees the other die
    for pid in (guard, worker):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_worker, kill_guard])
def test_nothing_outlives_its_warden_and_the_next_run_has_another(
    tmp_path: Path, kill: Callable[[Stage], None]
) -> None:
    pairs = [a_hostile_run(command) for command in HOSTILE.values()]
    marks = [mark for run, token in pairs for mark in (id_of(run), token)]

    async def scene(stage: Stage) -> None:
        for run, _ in pairs:
            stage.start(run)
        await stage.see("true")
        before = stage.warden
        kill(stage)
        for run, _ in pairs:
            told = await stage.result(run)
            assert told.outcome is not Outcome.SUCCEEDED or told.exit_code == 0
        assert not alive(marks)
        assert (await stage.see("echo on we go")).output == "on we go\n"
        assert stage.warden != before

    play(tmp_path, scene)


def test_what_has_an_environment_does_not_outlive_a_warden_that_is_killed_with_its_guard(
    tmp_path: Path,
) -> None:
    runs = [a_run("echo text; sleep 1000 & setsid sleep 1000; :") for _ in range(5)]

    async def scene(stage: Stage) -> None:
        for run in runs:
            stage.start(run)
        await until(lambda: len(stage.followed) == len(runs))
        kill_both(stage)
        for run in runs:
            told = await stage.result(run)
            assert told.outcome is Outcome.FAILED
            assert told.error is not None
            assert told.error.startswith("its warden, ")
            assert told.output == "text\n"  # as far as it was known
        assert not alive(map(id_of, runs))
        assert (await stage.see("echo on we go")).output == "on we go\n"

    play(tmp_path, scene, is_followed=True)


def test_a_job_that_kills_its_parent_fails_and_takes_no_later_one_along(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        told = await stage.see("sleep 1000 & kill -9 $PPID; sleep 1000")
        assert told.outcome is Outcome.FAILED
        assert (await stage.see("echo on we go")).output == "on we go\n"

    play(tmp_path, scene)


def test_a_job_that_stops_its_parent_stops_nobody(tmp_path: Path) -> None:
    run = a_run("kill -STOP $PPID; echo stopped; sleep 1000")

    async def scene(stage: Stage) -> None:
        ask = stage.start(run)
        assert (await stage.see("echo on we go")).output == "on we go\n"
        await until(lambda: len(alive([id_of(run)])) == 2)
        ask()
        assert (await stage.result(run))[:3] == (Outcome.CANCELLED, None, "stopped\n")

    play(tmp_path, scene)


def test_a_warden_does_not_mind_what_a_terminal_or_an_init_sends(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.see("true")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            for pid in (stage.worker, stage.warden):
                os.kill(pid, number)
        before = stage.warden
        assert (await stage.see("echo unmoved")).output == "unmoved\n"
        assert stage.warden == before
        assert os.getsid(before) != os.getsid(0)

    play(tmp_path, scene)


def test_an_executor_that_cannot_start_a_warden_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(stage: Stage) -> None:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
        told = await stage.see("true")
        assert told.error is not None
        assert told.error.startswith("cannot be started: FileNotFoundError")
        monkeypatch.undo()
        assert (await stage.see("echo fine")).output == "fine\n"

    play(tmp_path, scene)


def test_a_warden_that_dies_at_once_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(stage: Stage) -> None:
        monkeypatch.setattr(sys, "executable", "/bin/false")
        assert (await stage.see("true")).outcome is Outcome.FAILED
        monkeypatch.undo()
        assert (await stage.see("echo fine")).output == "fine\n"

    play(tmp_path, scene)


def test_a_daemon_that_is_silent_for_longer_than_its_leash_loses_what_it_runs(tmp_path: Path) -> None:
    """What SIGSTOP does to a daemon, done to its loop: nothing is said for a while."""
    runs = [a_run("sleep 1000"), a_run("trap '' TERM; setsid sleep 1000; :")]

    async def scene(stage: Stage) -> None:
        for run in runs:
            stage.start(run)
        await stage.see("true")
        subprocess.run(["/bin/sleep", "1.8"], check=True)  # noqa: ASYNC221 - the loop is to stand still
        assert not alive(map(id_of, runs))
        for run in runs:
            told = await stage.result(run)
            assert told[:2] == (Outcome.INTERRUPTED, "was ended: the daemon was silent for 0.6 s")
        quiet = a_run("sleep 1.5")  # as long as the loop goes round, nothing is ended
        stage.start(quiet)
        assert (await stage.result(quiet)).outcome is Outcome.SUCCEEDED

    play(tmp_path, scene, leash=timedelta(seconds=0.6), grace=timedelta(seconds=20))


def test_an_executor_that_was_never_used_closes_at_once(tmp_path: Path) -> None:
    asyncio.run(ShellExecutor(Stage(tmp_path).folder).close())


def test_a_warden_imports_next_to_nothing(tmp_path: Path) -> None:
    """Whatever it imports, it holds twice; asyncio alone would double it."""
    code = "import foliot.executors.shell.warden.guard, sys; print(*sys.modules)"
    source = Path(process_tree.__file__).parents[4]
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(source)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = done.stdout.split()
    assert not {"asyncio", "datetime", "pathlib", "subprocess", "logging"} & set(names)
    ours = [name for name in names if name.startswith("foliot.") and "executors.shell" not in name]
    assert sorted(ours) == [
            "foliot.executors", "foliot.executors.run_log", "foliot.model", "foliot.model.output",
        ]  # fmt: skip

    async def scene(stage: Stage) -> None:
        await stage.see("true")
        assert memory_of(stage.worker) < 12_000

    play(tmp_path, scene)
