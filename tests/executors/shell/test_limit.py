"""When something runs out, attempts fail; nothing crashes, and nothing is forgotten."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from executors.shell.stage import Stage, a_run, alive, files_of, id_of, play, until
from foliot.executors.shell import link
from foliot.model.attempt import Outcome

FEW_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0}))\n"
BLUNT = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from foliot.executors.shell.warden import process_tree, worker\n"
    "worker._KILLS = 3\n"
    "process_tree._send = lambda *_: None\n"
)


@pytest.mark.parametrize("files", [64, 65])
def test_a_warden_without_descriptors_refuses_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    monkeypatch.setattr(link, "_CODE", FEW_FILES.format(files) + link._CODE)
    runs = [a_run("setsid sleep 100") for _ in range(40)]

    async def scene(stage: Stage) -> None:
        await stage.see("true")
        before = files_of(stage.worker)
        asks = [stage.start(run) for run in runs]
        refused = await stage.see("true")
        assert refused.error == "cannot be started: [Errno 24] Too many open files"
        assert 10 < len(runs) - len(stage.ended) < 30
        for ask in asks:
            ask()
        outcomes = {(await stage.result(run)).outcome for run in runs}
        assert outcomes == {Outcome.FAILED, Outcome.CANCELLED}
        assert files_of(stage.worker) == before
        assert (await stage.see("true")).outcome is Outcome.SUCCEEDED
        assert not alive(map(id_of, runs))

    play(tmp_path, scene)


def test_a_warden_takes_all_the_descriptors_it_may_have_and_gives_its_jobs_the_usual_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_CODE", FEW_FILES.format(77).replace("77)", "200)") + link._CODE)

    async def scene(stage: Stage) -> None:
        assert (await stage.see("ulimit -Sn; ulimit -Hn")).output == "77\n200\n"
        assert resource.prlimit(stage.worker, resource.RLIMIT_NOFILE) == (200, 200)
        assert (await stage.see("ulimit -Sn")).output == "77\n"

    play(tmp_path, scene)


def test_what_cannot_be_ended_is_told_and_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it belonged to another user, or hung in the kernel: no signal reaches anybody."""
    monkeypatch.setattr(link, "_CODE", BLUNT + link._CODE)
    run = a_run("sleep 2; echo late")

    async def scene(stage: Stage) -> None:
        ask = stage.start(run)
        await until(lambda: len(alive([id_of(run)])) == 2)
        ask()
        told = await stage.result(run)
        assert told.outcome is Outcome.FAILED
        assert told.error is not None
        assert told.error.startswith("could not be ended: process ")
        assert (await stage.see("echo on we go")).output == "on we go\n"
        await until(lambda: not alive([id_of(run)]))

    play(tmp_path, scene, grace=timedelta(seconds=0.1))


def test_two_hundred_at_once_all_run(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        began = asyncio.get_running_loop().time()
        results = await asyncio.gather(*(stage.see("echo $FOLIOT_JOB") for _ in range(200)))
        assert len({result.output for result in results}) == 200
        assert asyncio.get_running_loop().time() - began < 20  # far less, but not on a busy host

    play(tmp_path, scene)


@pytest.fixture
def cramped() -> Iterator[Path]:
    """A control group with little memory; hosts that give none are skipped."""
    group = Path(f"/sys/fs/cgroup/memory/foliot-{uuid4().hex}")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(32 << 20))
    except OSError as error:
        pytest.skip(f"no memory control group to use: {error}")
    yield group
    group.rmdir()


def test_who_dies_for_want_of_memory_is_told_so(tmp_path: Path, cramped: Path) -> None:
    hog = f"echo $$ > {cramped}/cgroup.procs; exec {sys.executable} -c 'x = bytearray(1 << 30)'"

    async def scene(stage: Stage) -> None:
        told = await stage.see("kill -9 $$")
        assert told.error == "killed by SIGKILL"
        told = await stage.see(hog)
        assert told.exit_code == -9
        assert told.error == "killed by SIGKILL (perhaps out of memory: the kernel has killed for want of it)"
        assert (await stage.see("true")).outcome is Outcome.SUCCEEDED

    play(tmp_path, scene)
