"""An application begins and ends: in a program with a loop, or without one."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from app.scene import NEVER, PATIENCE, ended, play
from foliot import Foliot
from foliot.clock import SystemClock
from foliot.errors import (
    AppStateError,
)
from foliot.executors.python import JobRun
from foliot.model.attempt import Outcome, Trigger

# -- life ------------------------------------------------------------------------------------------


def test_it_runs_from_plain_code_too(app: Foliot) -> None:
    ran = threading.Event()
    homes: list[str] = []

    @app.job(NEVER)
    async def work() -> None:
        homes.append(threading.current_thread().name)
        ran.set()

    app.start()
    try:
        with pytest.raises(AppStateError, match="running already"):
            app.start()
        with pytest.raises(AppStateError, match="stop it first"):
            app.close()
        app.wait(app.trigger("work"))
        assert ran.wait(PATIENCE)
    finally:
        app.stop()
    app.stop()  # stopped already: nothing to do
    assert homes == ["foliot-test-jobs"]


def test_stopping_lets_what_runs_end(url: str) -> None:
    app = Foliot(url)

    async def scene() -> None:
        began, ends = asyncio.Event(), asyncio.Event()

        @app.job(NEVER)
        async def work() -> None:
            began.set()
            await ends.wait()

        async with app:
            await app.trigger("work")
            await began.wait()
            asyncio.get_running_loop().call_later(0.05, ends.set)
        if url.startswith("sqlite"):
            [attempt] = await app.history()
            assert attempt.outcome is Outcome.SUCCEEDED

    play(scene)
    app.close()


def test_what_does_not_end_in_time_is_interrupted_and_starts_again_next_time(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db", drain="50ms")
    runs: list[tuple[int, Trigger]] = []

    async def scene() -> None:
        began = asyncio.Event()

        @app.job(NEVER)
        async def work(run: JobRun) -> None:
            runs.append((run.attempt, run.trigger))
            began.set()
            if run.attempt == 1:
                await SystemClock().wait(timedelta(seconds=PATIENCE))

        async with app:
            await app.trigger("work")
            await began.wait()
        async with app:
            attempts = await ended(app, count=2)
        assert [a.outcome for a in attempts] == [Outcome.INTERRUPTED, Outcome.SUCCEEDED]
        assert runs == [(1, Trigger.MANUAL), (2, Trigger.LOST)]

    play(scene)
    app.close()
