"""Parts: other sources that are attached to an application."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from app.scene import PATIENCE, play
from foliot import Every, Foliot
from foliot.app.part import Workplace
from foliot.clock import SystemClock
from foliot.engine.reconciler import reconcile
from foliot.errors import AppStateError, InvalidStoreError
from foliot.executors.task import TaskExecutor
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.protocols import Executor, Result, Run, Snapshot


class Bells(TaskExecutor):
    """A part with one job, and the executor for it."""

    def __init__(self, *, is_slow: bool = False, is_broken: bool = False) -> None:
        super().__init__()
        self.told: list[str] = []
        self.rung = asyncio.Event()
        self._is_slow = is_slow
        self._is_broken = is_broken

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        self.told.append("begin")
        if self._is_broken:
            raise RuntimeError("no bells here")
        if self._is_slow:
            await asyncio.Event().wait()
        job = Job(source="tower", name="ring", schedule=Every("1s"), action=Action(kind="bell"))
        host.handle_events(await reconcile(host.store, "tower", Snapshot("r1", (job,)), host.clock.now()))
        return {"bell": self}

    async def execute(self, run: Run) -> Result:
        self.told.append(run.job.key)
        self.rung.set()
        return Result(Outcome.SUCCEEDED)

    async def live(self) -> None:
        self.told.append("live")
        try:
            await asyncio.Event().wait()
        finally:
            self.told.append("no longer")

    async def close(self) -> None:
        self.told.append("close")

    def title(self, job: str) -> str | None:
        return "The bell" if job == "tower/ring" else None


def application(tmp_path: Path, part: Bells) -> Foliot:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db")
    app.attach(part)
    return app


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await SystemClock().wait(timedelta(milliseconds=10))


def test_the_jobs_of_a_part_run_on_the_same_engine(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        caplog.set_level("INFO", "foliot")
        bells = Bells()
        async with application(tmp_path, bells):
            await until(bells.rung.is_set)
            await until(lambda: "run_succeeded" in caplog.text)
        assert bells.told[0] == "begin"
        assert "tower/ring" in bells.told
        assert bells.told[-2:] == ["no longer", "close"]
        assert 'run_succeeded name="The bell" run=tower/ring@' in caplog.text

    play(scene)


def test_a_part_that_cannot_begin_is_closed_and_nothing_runs(tmp_path: Path) -> None:
    async def scene() -> None:
        bells = Bells(is_broken=True)
        app = application(tmp_path, bells)
        with pytest.raises(RuntimeError, match="no bells"):
            await app.run()
        assert bells.told == ["begin", "close"]
        app.close()

    play(scene)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_beginning_that_takes_long(tmp_path: Path, number: signal.Signals) -> None:
    async def scene() -> None:
        bells = Bells(is_slow=True)
        app = application(tmp_path, bells)
        running = asyncio.ensure_future(app.run())
        await until(lambda: "begin" in bells.told)
        os.kill(os.getpid(), number)
        await asyncio.wait_for(running, PATIENCE)
        assert bells.told == ["begin", "close"]
        app.close()

    play(scene)


def test_who_runs_an_application_may_keep_its_jobs_elsewhere(tmp_path: Path) -> None:
    async def scene() -> None:
        app = Foliot("memory://")
        app.use_store(f"sqlite:///{tmp_path}/elsewhere.db")
        with pytest.raises(InvalidStoreError):
            app.use_store("nowhere")
        async with app:
            assert (tmp_path / "elsewhere.db").exists()
            with pytest.raises(AppStateError, match="its store is open"):
                app.use_store("memory://")
            with pytest.raises(AppStateError, match="it is running"):
                app.attach(Bells())

    play(scene)


class Clumsy(Bells):
    """A part whose work beside the engine fails at first."""

    def __init__(self) -> None:
        super().__init__()
        self.lives = 0
        self.lived_again = asyncio.Event()

    async def live(self) -> None:
        self.lives += 1
        if self.lives == 1:
            raise RuntimeError("stumbled")
        self.lived_again.set()
        await super().live()


def test_a_part_that_fails_is_told_of_once_and_lives_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        part = Clumsy()
        async with application(tmp_path, part):
            await until(part.lived_again.is_set)
        assert part.told[-2:] == ["no longer", "close"]
        lines = [record for record in caplog.records if "task_failed" in record.getMessage()]
        assert [line.levelname for line in lines] == ["ERROR"]
        assert 'task=Clumsy error="RuntimeError: stumbled" again_in=1.0' in lines[0].getMessage()

    play(scene)
