"""An application begins and ends: in a program with a loop, or without one."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from app.scene import NEVER, PATIENCE, ended, play
from foliot import Every, Foliot
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


def test_a_start_that_is_cancelled_leaves_no_engine_behind(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db")
    runs: list[int] = []

    async def scene() -> None:
        app.job(Every("1s"))(lambda: runs.append(1))
        start = asyncio.ensure_future(app.__aenter__())
        await asyncio.sleep(0)  # noqa: TID251 - a turn: it has begun
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        async with app:  # it can be started again, so it does not run
            await app.jobs()

    play(scene)
    app.close()


def test_a_drain_that_nobody_waits_for_ends_what_runs_and_then_lets_go_of_the_store(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db", drain="1h")

    async def scene() -> None:
        began = asyncio.Event()

        @app.job(NEVER)
        async def work() -> None:
            began.set()
            await SystemClock().wait(timedelta(hours=1))

        async def live_too_long() -> None:
            async with asyncio.timeout(None) as limit, app:
                await app.trigger("work")
                await began.wait()
                limit.reschedule(asyncio.get_running_loop().time() + 0.05)

        with pytest.raises(TimeoutError):
            await live_too_long()
        [attempt] = [a for a in await app.history() if a.number == 1]
        assert attempt.outcome is Outcome.INTERRUPTED

    play(scene)
    app.close()


def test_a_declaration_that_finds_the_store_busy_is_made_again(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db", lease="2s")

    async def scene() -> None:
        async with app:
            with closing(sqlite3.connect(tmp_path / "jobs.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                app.job(NEVER, name="late")(lambda: None)
                await SystemClock().wait(timedelta(seconds=1))  # real time: a real lock is held
                other.execute("ROLLBACK")
            while not await app.jobs():
                await SystemClock().wait(timedelta(milliseconds=20))

    play(scene)
    app.close()
