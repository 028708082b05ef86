"""A warden that says nothing, because somebody has stopped it or it hangs: it is woken, or replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest

from executors.shell.stage import Stage, a_run, alive, id_of, play, until
from executors.shell.test_death import PATIENCE, Daemon
from foliot.executors.shell import link
from foliot.executors.shell.warden import process_tree
from foliot.model.attempt import Outcome

HANGS = (
    "import signal, sys; sys.path.insert(0, sys.argv[1])\n"
    "from foliot.executors.shell.warden import worker\n"
    "def hang(*_):\n"
    "    while True: signal.pause()\n"
    "worker.Worker._end_if_there = hang\n"
)
STOPS = (
    "G=$(sed 's/.*) . //' /proc/$PPID/stat | cut -d' ' -f1); kill -STOP $G $PPID; echo stopped; "
    ": > ready; sleep 1000"
)


@pytest.fixture
def beats(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Questions that come faster than usual."""
    monkeypatch.setattr(link, "_BEAT", 0.1)
    monkeypatch.setattr(link, "_SILENT", 0.3)
    return monkeypatch


def stop(stage: Stage) -> None:
    for pid in (stage.warden, stage.worker):
        os.kill(pid, signal.SIGSTOP)


@pytest.mark.usefixtures("beats")
def test_a_job_that_stops_its_warden_and_the_guard_stops_nobody(tmp_path: Path) -> None:
    run = a_run(STOPS)

    async def scene(stage: Stage) -> None:
        ask = stage.start(run)
        await until((tmp_path / "ready").exists)
        before = stage.warden
        assert (await stage.see("echo on we go")).output == "on we go\n"
        ask()
        assert (await stage.result(run))[:3] == (Outcome.CANCELLED, None, "stopped\n")
        assert stage.warden == before

    play(tmp_path, scene)


def test_a_warden_that_hangs_is_killed_with_all_it_runs_and_the_next_run_has_another(
    tmp_path: Path, beats: pytest.MonkeyPatch
) -> None:
    length = "86399.125"
    runs = [a_run(f"setsid env -i sleep {length} & sleep 1000"), a_run("sleep 1000")]

    async def scene(stage: Stage) -> None:
        asks = [stage.start(run) for run in runs]
        await stage.see("true")
        await until(lambda: alive([f"sleep\0{length}"]))
        before, worker = stage.warden, stage.worker
        beats.setattr(link, "_DEAF", 1.0)
        asks[0]()
        for run in runs:
            told = await stage.result(run)
            assert told.outcome is Outcome.FAILED
            assert told.error is not None
            assert told.error.startswith("its warden, ")
        assert not alive([length, *map(id_of, runs)])
        assert (await stage.see("echo on we go")).output == "on we go\n"
        assert stage.warden != before
        await until(lambda: process_tree.is_dead(before) and process_tree.is_dead(worker))

    beats.setattr(link, "_CODE", HANGS + link._CODE)
    play(tmp_path, scene)


def test_closing_wakes_a_warden_that_is_stopped(tmp_path: Path, beats: pytest.MonkeyPatch) -> None:
    beats.setattr(link, "_SILENT", 1000.0)
    run = a_run("sleep 1000")

    async def scene(stage: Stage) -> None:
        stage.start(run)
        await stage.see("true")
        stop(stage)
        await asyncio.wait_for(stage.executor.close(), PATIENCE)
        assert (await stage.result(run)).outcome is Outcome.INTERRUPTED
        assert not alive([id_of(run)])

    play(tmp_path, scene)


def test_closing_does_not_wait_for_ever_for_a_warden_that_hangs(
    tmp_path: Path, beats: pytest.MonkeyPatch
) -> None:
    run = a_run("sleep 1000")

    async def scene(stage: Stage) -> None:
        ask = stage.start(run)
        await stage.see("true")
        ask()
        beats.setattr(link, "_DEAF", 1.0)
        worker = stage.worker
        await asyncio.wait_for(stage.executor.close(), PATIENCE)
        assert (await stage.result(run)).outcome is Outcome.FAILED
        assert not alive([id_of(run)])
        await until(lambda: process_tree.is_dead(worker))

    beats.setattr(link, "_CODE", HANGS + link._CODE)
    play(tmp_path, scene)


def test_nothing_outlives_a_daemon_that_is_killed_while_its_warden_is_stopped(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    (worker,) = process_tree.children_by_file(daemon.warden)
    for pid in (daemon.warden, worker):
        os.kill(pid, signal.SIGSTOP)
    daemon.process.kill()
    daemon.process.wait()
    asyncio.run(until(lambda: not daemon.survivors(), PATIENCE))
    asyncio.run(until(lambda: not Path(f"/proc/{daemon.warden}").exists(), PATIENCE))
    daemon.end()


def test_a_worker_that_is_stopped_goes_on_when_its_guard_is_killed(tmp_path: Path) -> None:
    run = a_run("sleep 1000")

    async def scene(stage: Stage) -> None:
        stage.start(run)
        await stage.see("true")
        stop(stage)
        os.kill(stage.warden, signal.SIGKILL)
        told = await stage.result(run)
        assert told[:2] == (Outcome.FAILED, "was ended: the guard of its warden was killed")

    play(tmp_path, scene)


def test_a_daemon_that_was_asleep_itself_accuses_nobody(tmp_path: Path, beats: pytest.MonkeyPatch) -> None:
    beats.setattr(link, "_DEAF", 1.5)

    async def scene(stage: Stage) -> None:
        await stage.see("true")
        before = stage.warden
        subprocess.run(["/bin/sleep", "2"], check=True)  # noqa: ASYNC221 - the loop is to stand still
        assert (await stage.see("sleep 2; echo still here")).output == "still here\n"
        assert stage.warden == before

    play(tmp_path, scene)


def test_what_a_warden_is_told_is_not_to_be_read_in_its_arguments(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        assert (await stage.see("echo $LC_ALL")).output == "between us\n"
        assert not alive(["between us"])

    play(tmp_path, scene, environment={"LC_ALL": "between us"})
